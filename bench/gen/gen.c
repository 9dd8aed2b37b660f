/*
 * gen: traffic for the benchmark, by DPDK's own drivers.
 *
 * One loop on one core drives one or two ports, most often vhost-user sockets by
 * net_virtio_user: it sends prepared frames into each side as fast as the switch takes
 * them, or paced, takes what comes out of the other, and says how much of it there was
 * and how old. All queues of a port are received from, and the first is sent to.
 *
 *   gen EAL-ARGUMENTS -- OPTIONS FRAMES0 [FRAMES1]
 *
 *   secs=S    how long to measure
 *   warm=S    how long to send before that, from the first frame that arrives (1); SIGUSR1
 *             ends it earlier
 *   rate=N    frames/s of each sending side, 0 for no limit (0)
 *   window=N  how many frames of a side may be under way, 0 for any number (0). With
 *             fewer than a ring holds, no frame is lost because this program did not run
 *             for a while: what is missing is the switch's loss.
 *   moves=N   N times a second, an address is sent from that was last seen on the other side
 *   learns=N  N times a second, an address is sent from that was never seen
 *   queues=N  queue pairs of each port (1)
 *   burst=N   how many frames are received at a time (32)
 *   fill=N    writes only the first N bytes of a frame into its buffer and leaves the rest as it
 *             was, so that long frames cost this program no more than short ones (all)
 *   noroom=1  leaves the driver no room for its header in front of a frame, so that it takes
 *             a descriptor more for it, or an indirect table
 *   offload=1 asks the ports for checksums, segmentation and large receive, so that these
 *             features are negotiated; no frame needs them
 *   blind=1   nothing will arrive: measuring begins warm seconds after the start
 *   search=N  looks for the highest rate at which no more than N of a million frames are
 *             lost (-1: does not), see search()
 *
 * FRAMESn is a file of frames, each a 32-bit length (host order) and that many bytes;
 * "@FILE" sends the first burst of it once, so that a learning switch knows the side, and
 * then only receives. "~" sends back what it receives, "~FILE" does so after it has sent
 * KICKOFF frames, which then go round and round. "-" only receives. "%FILE" is one such frame, IPv4 with ports, and then any number of
 * struct tuple: each is sent as that frame with its addresses and ports in place, so that a
 * million flows cost 16 bytes each and not a frame.
 *
 * When measuring begins, a line "measuring" is printed. Before that and at the end nothing is
 * sent for a moment, so that what was sent and what was received belong together.
 * The age is measured by cycle counts that every 64th frame carries in its last 16
 * bytes. The result is one line of JSON.
 */
#include <signal.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

enum { BATCH = 32, DESCRIPTORS = 1024, STAMP_EVERY = 64, AGES = 1 << 20, KICKOFF = 512 };

struct stamp {
	uint64_t mark, at;
};
static const uint64_t mark = 0x706d617473766700ull;

struct frame {
	uint32_t len;
	const uint8_t *bytes;
};

/* Network order but for the padding. */
struct tuple {
	uint8_t addrs[8];
	uint8_t ports[4];
	uint8_t sum[2]; /* of the IPv4 header */
	uint8_t proto, pad;
};

struct side {
	struct frame *frames;
	const struct tuple *tuples; /* in frames[0]; NULL: the frames as they are */
	uint32_t count, next;
	int once;    /* send one batch, then listen */
	int reflect; /* send back what comes */
	uint64_t due;
	uint64_t sent, refused, received, bytes;
	uint64_t under_way, got_at; /* of window: frames not yet seen, and when one was last */
};

static struct rte_mempool *pool;
static uint64_t ages[AGES];
static uint32_t nages;
static uint32_t window, queues, burst, fill, noroom, offload, blind;
static volatile sig_atomic_t warm_enough;

static void on_signal(int sig)
{
	(void)sig;
	warm_enough = 1;
}

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

	int tuples = 0;

	if (!strcmp(path, "-") || path[0] == '~') {
		s->reflect = path[0] == '~';
		s->once = 1;
		path++;
		if (!*path)
			return;
	}
	if (path[0] == '@') {
		s->once = 1;
		path++;
	}
	if (path[0] == '%') {
		tuples = 1;
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
	if (tuples) {
		s->frames = calloc(1, sizeof *s->frames);
		s->frames[0] = (struct frame){*(uint32_t *)all, all + 4};
		p = all + 4 + s->frames[0].len;
		s->count = (all + size - p) / sizeof *s->tuples;
		s->tuples = (const struct tuple *)p;
		if (!s->count)
			fail("holds no tuples", path);
		return;
	}
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
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port, &info) < 0)
		fail("tells nothing of itself", "port");
	if (offload) {
		conf.txmode.offloads = info.tx_offload_capa & (RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
			RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
		conf.rxmode.offloads = info.rx_offload_capa & (RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM);
	}
	info.default_txconf.offloads = conf.txmode.offloads;
	info.default_rxconf.offloads = conf.rxmode.offloads;
	if (rte_eth_dev_configure(port, queues, queues, &conf) < 0)
		fail("cannot be configured", "port");
	for (uint32_t q = 0; q < queues; q++)
		if (rte_eth_rx_queue_setup(port, q, DESCRIPTORS, rte_socket_id(), &info.default_rxconf, pool) < 0 ||
		    rte_eth_tx_queue_setup(port, q, DESCRIPTORS, rte_socket_id(), &info.default_txconf) < 0)
			fail("cannot be set up", "queue");
	if (rte_eth_dev_start(port) < 0)
		fail("cannot be started", "port");
}

/* Writes a tuple into an IPv4 frame. */
static void put_tuple(uint8_t *d, const struct tuple *t)
{
	d[23] = t->proto;
	memcpy(d + 24, t->sum, sizeof t->sum);
	memcpy(d + 26, t->addrs, sizeof t->addrs);
	memcpy(d + 34, t->ports, sizeof t->ports);
}

static void transmit(uint16_t port, struct side *s, uint64_t now)
{
	struct rte_mbuf *m[BATCH];
	uint32_t at = s->next;
	uint16_t n;

	if (rte_pktmbuf_alloc_bulk(pool, m, BATCH) < 0)
		return;
	for (int i = 0; i < BATCH; i++) {
		const struct frame *f = &s->frames[s->tuples ? 0 : at];
		uint8_t *d;

		if (noroom)
			m[i]->data_off = 0;
		d = rte_pktmbuf_mtod(m[i], uint8_t *);
		memcpy(d, f->bytes, f->len < fill ? f->len : fill);
		if (s->tuples)
			put_tuple(d, &s->tuples[at]);
		m[i]->data_len = m[i]->pkt_len = f->len;
		if (i == 0 && s->sent % STAMP_EVERY < BATCH && f->len >= 60) {
			struct stamp st = {mark, now};
			memcpy(d + f->len - sizeof st, &st, sizeof st);
		}
		at = at + 1 == s->count ? 0 : at + 1;
	}
	n = rte_eth_tx_burst(port, 0, m, BATCH);
	s->sent += n;
	s->under_way += n;
	s->refused += BATCH - n;
	s->next = (s->next + n) % s->count;
	if (n < BATCH)
		rte_pktmbuf_free_bulk(m + n, BATCH - n);
}

/* Sends one frame of a side from the locally administered address of that number. */
static void send_from(uint16_t port, struct side *s, uint8_t kind, uint32_t number)
{
	const struct frame *f = &s->frames[0];
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *d;

	if (!m)
		return;
	d = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(d, f->bytes, f->len);
	d[6] = 2;
	d[7] = kind;
	for (int i = 0; i < 4; i++)
		d[8 + i] = number >> (24 - 8 * i);
	m->data_len = m->pkt_len = f->len;
	if (rte_eth_tx_burst(port, 0, &m, 1)) {
		s->sent++;
		s->under_way++;
	} else {
		rte_pktmbuf_free(m);
	}
}

/* Whether another burst may be sent. What does not come for half a second is lost: on a busy
 * machine the switch may not run for a tenth. */
static int may_send(struct side *s, uint64_t now, uint64_t hz)
{
	if (!window || s->under_way + BATCH <= window)
		return 1;
	if (now - s->got_at > hz / 2) {
		s->under_way = 0;
		s->got_at = now;
		return 1;
	}
	return 0;
}

static void receive(uint16_t port, uint16_t queue, struct side *s, struct side *sender, int measuring)
{
	struct rte_mbuf *m[BATCH];
	uint16_t n = rte_eth_rx_burst(port, queue, m, burst), sent;
	uint64_t now;

	if (!n)
		return;
	if (s->reflect) {
		s->received += n;
		sent = rte_eth_tx_burst(port, queue, m, n);
		s->sent += sent;
		s->refused += n - sent;
		if (sent < n)
			rte_pktmbuf_free_bulk(m + sent, n - sent);
		return;
	}
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
	sender->under_way -= n < sender->under_way ? n : sender->under_way;
	sender->got_at = now;
	rte_pktmbuf_free_bulk(m, n);
}

/* Whose frames a side receives: the other's, or its own when nobody else sends. */
static struct side *sender_of(struct side *side, int at, int sides)
{
	return sides == 1 || side[1 - at].reflect ? &side[at] : &side[1 - at];
}

static void receive_all(struct side *side, int at, int sides, int measuring)
{
	for (uint32_t q = 0; q < queues; q++)
		receive(at, q, &side[at], sender_of(side, at, sides), measuring);
}

/* Takes what comes until nothing is under way, or nothing has come for so many cycles. */
static void drain(struct side *side, int sides, int measuring, uint64_t patience)
{
	uint64_t last = rte_rdtsc(), under_way;

	do {
		under_way = 0;
		for (int i = 0; i < sides; i++) {
			uint64_t before = side[i].received;

			receive_all(side, i, sides, measuring);
			if (side[i].received != before)
				last = rte_rdtsc();
			if (side[i].reflect)
				side[i].under_way = 0;
		}
		for (int i = 0; i < sides; i++)
			under_way += side[i].under_way;
	} while (under_way && rte_rdtsc() - last < patience);
	for (int i = 0; i < sides; i++)
		side[i].under_way = 0;
}

/* One turn of all sides: each sends when it is time to, and receives. */
static void turn(struct side *side, int sides, uint64_t now, uint64_t gap, uint64_t lag, int measuring)
{
	uint64_t hz = rte_get_tsc_hz();

	for (int i = 0; i < sides; i++) {
		struct side *s = &side[i];

		if (!s->once && now >= s->due && may_send(s, now, hz)) {
			transmit(i, s, now);
			if (gap) /* after a pause, do not make up for all of it */
				s->due = now - s->due > lag ? now + gap : s->due + gap;
		}
		receive_all(side, i, sides, measuring);
	}
}

static void forget(struct side *side, int sides, uint64_t now)
{
	for (int i = 0; i < sides; i++) {
		side[i].sent = side[i].received = side[i].bytes = side[i].refused = 0;
		side[i].due = side[i].got_at = now;
	}
}

enum { TRIALS = 5, STEPS = 9 };

/* Sends for a tenth of a second, at the rate of a side or as fast as it can (0). Returns how many of a million frames were
 * lost, of those that were to be sent; received is a second's. */
static double trial(struct side *side, int sides, double rate, double *received)
{
	uint64_t now = rte_rdtsc(), begin = now, hz = rte_get_tsc_hz();
	uint64_t gap = rate > 0 ? hz * BATCH / rate : 0, offered = 0, got = 0;

	forget(side, sides, now);
	while ((now = rte_rdtsc()) < begin + hz / 10)
		turn(side, sides, now, gap, 8 * gap, 0);
	drain(side, sides, 0, hz / 50); /* there are many trials, and in most some are lost */
	for (int i = 0; i < sides; i++) {
		if (!side[i].once)
			offered += side[i].sent + (rate > 0 ? side[i].refused : 0);
		if (!side[i].reflect)
			got += side[i].received;
	}
	*received = got * (double)hz / (now - begin);
	return offered > got ? (offered - got) * 1e6 / offered : 0;
}

static int smaller(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Looks for the highest rate at which no more than limit of a million frames are lost, in most trials: by halving, from a little more than
 * goes through without a limit. Most of five trials decide, because this machine may stop any of us for a while. Returns
 * frames received a second. */
static double search(struct side *side, int sides, double limit)
{
	double low = 0, high = 0, best = 0, received[TRIALS], lost[TRIALS];
	int senders = 0;

	for (int i = 0; i < sides; i++)
		senders += !side[i].once;
	for (int i = 0; i < TRIALS; i++) {
		trial(side, sides, 0, &received[0]);
		high = received[0] > high ? received[0] : high;
	}
	high = high / senders * 1.25;
	for (int step = 0; step < STEPS; step++) {
		double rate = (low + high) / 2;

		for (int i = 0; i < TRIALS; i++)
			lost[i] = trial(side, sides, rate, &received[i]);
		qsort(lost, TRIALS, sizeof lost[0], smaller);
		qsort(received, TRIALS, sizeof received[0], smaller);
		if (lost[TRIALS / 2] <= limit) {
			low = rate;
			best = received[TRIALS / 2];
		} else {
			high = rate;
		}
	}
	return best;
}

static double option(int *argc, char ***argv, const char *name, double value)
{
	size_t n = strlen(name);

	for (int i = 1; i < *argc; i++)
		if (!strncmp((*argv)[i], name, n) && (*argv)[i][n] == '=') {
			value = atof((*argv)[i] + n + 1);
			memmove(*argv + i, *argv + i + 1, (*argc - i) * sizeof **argv);
			--*argc;
			break;
		}
	return value;
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
	double seconds, warm, rate, moves, learns, limit, found = 0, hz;
	uint64_t now, begin, end, deadline, gap, lag, move_gap, learn_gap, move_due, learn_due;
	uint64_t sent = 0, received = 0, bytes = 0;
	uint32_t moved = 0, learned = 0;

	if (eal < 0)
		fail("cannot be initialised", "EAL");
	argc -= eal;
	argv += eal;
	seconds = option(&argc, &argv, "secs", 3);
	warm = option(&argc, &argv, "warm", 1);
	rate = option(&argc, &argv, "rate", 0);
	window = option(&argc, &argv, "window", 0);
	moves = option(&argc, &argv, "moves", 0);
	learns = option(&argc, &argv, "learns", 0);
	queues = option(&argc, &argv, "queues", 1);
	burst = option(&argc, &argv, "burst", BATCH);
	fill = option(&argc, &argv, "fill", UINT16_MAX);
	noroom = option(&argc, &argv, "noroom", 0);
	offload = option(&argc, &argv, "offload", 0);
	blind = option(&argc, &argv, "blind", 0);
	limit = option(&argc, &argv, "search", -1);
	sides = rte_eth_dev_count_avail();
	if (argc != 1 + sides || sides < 1 || sides > 2 || burst < 1 || burst > BATCH)
		fail("gen EAL-ARGUMENTS -- OPTIONS FRAMES0 [FRAMES1]", "usage");
	signal(SIGUSR1, on_signal);
	pool = rte_pktmbuf_pool_create("frames", 16383, 512, 0, RTE_MBUF_DEFAULT_BUF_SIZE, rte_socket_id());
	if (!pool)
		fail("no memory", "pool");
	for (int i = 0; i < sides; i++) {
		read_frames(&side[i], argv[1 + i]);
		start(i);
	}
	hz = rte_get_tsc_hz();
	gap = rate > 0 ? hz * BATCH / rate : 0;
	lag = window ? hz / 20 : 8 * gap; /* a window keeps bursts small enough by itself */
	move_gap = moves > 0 ? hz / moves : 0;
	learn_gap = learns > 0 ? hz / learns : 0;
	now = rte_rdtsc();
	move_due = learn_due = now;
	begin = now + warm * hz;
	deadline = now + 10 * hz;
	end = UINT64_MAX;
	for (int i = 0; i < sides; i++) {
		struct side *s = &side[i];

		s->due = s->got_at = now;
		for (int n = 0; s->once && s->count && n < (s->reflect ? KICKOFF : 1); n += BATCH)
			transmit(i, s, now);
	}
	while ((now = rte_rdtsc()) < end) {
		if (!measuring && !blind && !(side[0].received + side[1].received) && now < deadline)
			begin = now + warm * hz; /* it counts from when frames arrive */
		if (!measuring && (now >= begin || warm_enough)) {
			drain(side, sides, 0, hz / 2);
			measuring = 1;
			printf("measuring\n");
			fflush(stdout);
			if (limit >= 0) {
				found = search(side, sides, limit);
				break;
			}
			begin = now = rte_rdtsc();
			end = begin + seconds * hz;
			forget(side, sides, now);
			move_due = learn_due = now;
		}
		turn(side, sides, now, gap, lag, measuring);
		if (move_gap && now >= move_due) { /* 64 addresses, each on one side and then on the other */
			uint32_t at = moved / 64 % sides;

			send_from(at, &side[at], 0xa0, moved++ % 64);
			move_due += move_gap;
		}
		if (learn_gap && now >= learn_due) {
			uint32_t at = learned % sides;

			send_from(at, &side[at], 0xa1, learned++);
			learn_due += learn_gap;
		}
	}
	seconds = (now - begin) / hz;
	drain(side, sides, 1, hz / 2);
	for (int i = 0; i < sides; i++) {
		if (side[i].reflect && sides == 2)
			continue; /* these are counted where they began */
		sent += side[i].sent;
		received += side[i].received;
		bytes += side[i].bytes;
	}
	qsort(ages, nages, sizeof ages[0], older);
	printf("{\"seconds\": %.3f, \"sent\": %" PRIu64 ", \"received\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"found\": %.0f, "
	       "\"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f}\n",
	       seconds, sent, received, bytes, found, age(.5), age(.99), age(.999), age(1));
	for (int i = 0; i < sides; i++) {
		rte_eth_dev_stop(i);
		rte_eth_dev_close(i);
	}
	rte_eal_cleanup();
	return 0;
}
