/*
 * gen: traffic for the benchmark, by DPDK's own virtio driver.
 *
 * One loop on one core drives one or two vhost-user sockets (net_virtio_user): it
 * sends prepared frames into each side as fast as the switch takes them, or paced,
 * takes what comes out of the other, and says how much of it there was and how old.
 *
 *   gen EAL-ARGUMENTS -- SECONDS RATE FRAMES0 FRAMES1
 *
 * RATE is frames/s for each sending side, 0 for no limit. FRAMESn is a file of frames, each a
 * 32-bit length (host order) and that many bytes; "@FILE" sends the first burst of
 * it once, so that a learning switch knows the side, and then only receives.
 *
 * The age is measured by cycle counts that every 64th frame carries in its last 16
 * bytes. The result is one line of JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

enum { BATCH = 32, DESCRIPTORS = 1024, STAMP_EVERY = 64, AGES = 1 << 20 };

struct stamp {
	uint64_t mark, at;
};
static const uint64_t mark = 0x706d617473766700ull;

struct frame {
	uint32_t len;
	const uint8_t *bytes;
};

struct side {
	struct frame *frames;
	uint32_t count, next;
	int once; /* send one batch, then listen */
	uint64_t due;
	uint64_t sent, refused, received, bytes;
};

static struct rte_mempool *pool;
static uint64_t ages[AGES];
static uint32_t nages;

static void fail(const char *what, const char *name)
{
	fprintf(stderr, "gen: %s: %s\n", name, what);
	exit(1);
}

static void read_frames(struct side *s, const char *path)
{
	FILE *f;
	long size;
	uint8_t *all, *p;

	if (path[0] == '@') {
		s->once = 1;
		path++;
	}
	if (!(f = fopen(path, "rb")))
		fail("cannot be opened", path);
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	all = malloc(size);
	if (!all || fread(all, 1, size, f) != (size_t)size)
		fail("cannot be read", path);
	fclose(f);
	for (p = all; p + 4 <= all + size; s->count++)
		p += 4 + *(uint32_t *)p;
	s->frames = calloc(s->count, sizeof *s->frames);
	p = all;
	for (uint32_t i = 0; i < s->count; i++) {
		s->frames[i] = (struct frame){*(uint32_t *)p, p + 4};
		p += 4 + s->frames[i].len;
	}
	if (!s->count)
		fail("holds no frames", path);
}

static void start(uint16_t port)
{
	static const struct rte_eth_conf plain;

	if (rte_eth_dev_configure(port, 1, 1, &plain) < 0 ||
	    rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, rte_socket_id(), NULL, pool) < 0 ||
	    rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, rte_socket_id(), NULL) < 0 ||
	    rte_eth_dev_start(port) < 0)
		fail("cannot be started", "port");
}

static void transmit(uint16_t port, struct side *s, uint64_t now)
{
	struct rte_mbuf *m[BATCH];
	uint32_t at = s->next;
	uint16_t n;

	if (rte_pktmbuf_alloc_bulk(pool, m, BATCH) < 0)
		return;
	for (int i = 0; i < BATCH; i++) {
		const struct frame *f = &s->frames[at];
		uint8_t *d = rte_pktmbuf_mtod(m[i], uint8_t *);

		memcpy(d, f->bytes, f->len);
		m[i]->data_len = m[i]->pkt_len = f->len;
		if (i == 0 && s->sent % STAMP_EVERY < BATCH && f->len >= 60) {
			struct stamp st = {mark, now};
			memcpy(d + f->len - sizeof st, &st, sizeof st);
		}
		at = at + 1 == s->count ? 0 : at + 1;
	}
	n = rte_eth_tx_burst(port, 0, m, BATCH);
	s->sent += n;
	s->refused += BATCH - n;
	s->next = (s->next + n) % s->count;
	if (n < BATCH)
		rte_pktmbuf_free_bulk(m + n, BATCH - n);
}

static void receive(uint16_t port, struct side *s, int measuring)
{
	struct rte_mbuf *m[BATCH];
	uint16_t n = rte_eth_rx_burst(port, 0, m, BATCH);
	uint64_t now;

	if (!n)
		return;
	now = rte_rdtsc();
	for (int i = 0; i < n; i++) {
		struct stamp st;

		s->bytes += m[i]->pkt_len;
		if (i || !measuring || m[i]->data_len < 60)
			continue;
		memcpy(&st, rte_pktmbuf_mtod_offset(m[i], void *, m[i]->data_len - sizeof st), sizeof st);
		if (st.mark == mark && nages < AGES)
			ages[nages++] = now - st.at;
	}
	s->received += n;
	rte_pktmbuf_free_bulk(m, n);
}

static int older(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double age(double part)
{
	return nages ? ages[(size_t)((nages - 1) * part)] * 1e6 / rte_get_tsc_hz() : 0;
}

int main(int argc, char **argv)
{
	struct side side[2] = {0};
	int eal = rte_eal_init(argc, argv), sides, measuring = 0;
	double seconds, rate, hz;
	uint64_t now, begin, end, gap, sent = 0, received = 0, bytes = 0;

	if (eal < 0)
		fail("cannot be initialised", "EAL");
	argc -= eal;
	argv += eal;
	sides = rte_eth_dev_count_avail();
	if (argc < 3 + sides || sides < 1 || sides > 2)
		fail("gen EAL-ARGUMENTS -- SECONDS RATE FRAMES0 [FRAMES1]", "usage");
	seconds = atof(argv[1]);
	rate = atof(argv[2]);
	pool = rte_pktmbuf_pool_create("frames", 16383, 512, 0, RTE_MBUF_DEFAULT_BUF_SIZE, rte_socket_id());
	if (!pool)
		fail("no memory", "pool");
	for (int i = 0; i < sides; i++) {
		read_frames(&side[i], argv[3 + i]);
		start(i);
	}
	hz = rte_get_tsc_hz();
	gap = rate > 0 ? hz * BATCH / rate : 0;
	now = rte_rdtsc();
	begin = now + hz; /* the first second warms up */
	end = begin + seconds * hz;
	for (int i = 0; i < sides; i++) {
		side[i].due = now;
		if (side[i].once)
			transmit(i, &side[i], now);
	}
	while ((now = rte_rdtsc()) < end) {
		if (!measuring && now >= begin) {
			measuring = 1;
			begin = now;
			for (int i = 0; i < sides; i++)
				side[i].sent = side[i].received = side[i].bytes = side[i].refused = 0;
		}
		for (int i = 0; i < sides; i++) {
			struct side *s = &side[i];

			if (!s->once && now >= s->due) {
				transmit(i, s, now);
				if (gap) /* after a pause, do not make up for all of it */
					s->due = now - s->due > 8 * gap ? now + gap : s->due + gap;
			}
			receive(i, s, measuring);
		}
	}
	seconds = (now - begin) / hz;
	for (int i = 0; i < sides; i++) {
		sent += side[i].sent;
		received += side[i].received;
		bytes += side[i].bytes;
	}
	qsort(ages, nages, sizeof ages[0], older);
	printf("{\"seconds\": %.3f, \"sent\": %" PRIu64 ", \"received\": %" PRIu64 ", \"bytes\": %" PRIu64 ", "
	       "\"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f}\n",
	       seconds, sent, received, bytes, age(.5), age(.99), age(.999), age(1));
	for (int i = 0; i < sides; i++) {
		rte_eth_dev_stop(i);
		rte_eth_dev_close(i);
	}
	rte_eal_cleanup();
	return 0;
}
