/*
 * spin: how long a thread that does nothing but spin is kept from running.
 *
 *   spin CPU SECONDS
 *
 * What the poll thread of a switch is measured against: the machine itself stalls
 * any thread now and then. Prints one line of JSON: how often more than 200 us
 * passed between two looks at the cycle counter, and the longest such time.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	cpu_set_t set;
	uint64_t hz, limit, last, t, end, stalls = 0, longest = 0;
	double from;

	if (argc != 3) {
		fprintf(stderr, "usage: spin CPU SECONDS\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof set, &set) < 0) {
		perror("spin: sched_setaffinity");
		return 1;
	}
	from = now();
	t = __rdtsc();
	while (now() - from < 0.1)
		;
	hz = (__rdtsc() - t) / (now() - from);
	limit = hz / 5000;
	last = __rdtsc();
	end = last + atof(argv[2]) * hz;
	while ((t = __rdtsc()) < end) {
		if (t - last > limit) {
			stalls++;
			if (t - last > longest)
				longest = t - last;
		}
		last = t;
	}
	printf("{\"stalls\": %" PRIu64 ", \"max_us\": %.0f}\n", stalls, longest * 1e6 / hz);
	return 0;
}
