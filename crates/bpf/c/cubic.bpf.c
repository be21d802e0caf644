// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// CUBIC: grows the window as a cubic function of the time since the last loss, flat near the window of that loss. As the law `cubic`.
//
// Source: RFC 9438 section 4; Ha, Rhee, Xu (2008); HyStart of Ha, Rhee (2008). Time of the function is in 1024ths of a second, clocks are
// the kernel's ticks and microseconds.

#include "tcp.h"

#define BETA 717   /* of 1024ths: 0.7 */
#define C 410      /* of 1024ths of a packet per cubic second: 0.4 */
#define RENO 15    /* eighths of a window per packet of a Reno-like flow that keeps BETA: 8 (1 + beta) / 3 (1 - beta) */
#define NO_LOSS 20 /* without a loss, a packet more for so many at least */
#define FASTEST 2  /* and never for fewer */

/* HyStart */
#define LOW_WINDOW 16
#define TRAIN_GAP 2000 /* us between ACKs of one train */
#define SAMPLES 8      /* round-trip times before a rise counts */
#define LEAST_RISE 4000
#define MOST_RISE 16000
#define BURST (4 * 65536ull) /* bytes of four packets of the largest size */

extern unsigned long CONFIG_HZ CONFIG;

struct cubic {
	u32 each;     /* packets to deliver for one more in the window */
	u32 last_max; /* window of the last loss; 0: none */
	u32 last_cwnd;
	u32 last_time; /* when `each` was worked out, ticks */
	u32 epoch;     /* first growth since the loss, ticks; 0: none */
	u32 origin;    /* window where the function is flat */
	u32 k;         /* until it gets there, 1024ths of a second */
	u32 acked;     /* packets that the Reno-like flow has not used */
	u32 reno_cwnd;
	u32 least_rtt; /* us; 0: none */
	u32 round;     /* start of the round trip, us */
	u32 train;     /* last ACK of its train, us */
	u32 round_end; /* sequence number */
	u32 round_rtt; /* least of the round trip, us */
	u8 samples;
	u8 found;
};

_Static_assert(sizeof(struct cubic) <= 13 * 8, "what the kernel keeps for a module");

INLINE struct cubic *state(struct tcp_sock *tp)
{
	return (struct cubic *)tp->inet_conn.icsk_ca_priv;
}

INLINE void begin_round(struct tcp_sock *tp, struct cubic *c)
{
	c->round = c->train = (u32)tp->tcp_mstamp;
	c->round_end = tp->snd_nxt;
	c->round_rtt = ~0u;
	c->samples = 0;
}

INLINE void forget(struct tcp_sock *tp, struct cubic *c)
{
	c->each = c->last_max = c->last_cwnd = c->last_time = 0;
	c->epoch = c->origin = c->k = c->acked = c->reno_cwnd = 0;
	c->least_rtt = 0;
	c->found = 0;
	begin_round(tp, c);
}

SEC("struct_ops") int cubic_open(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	forget(tp, state(tp));
	return 0;
}

SEC("struct_ops") int cubic_set_state(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	if ((u8)call[1] == LOSS)
		forget(tp, state(tp));
	return 0;
}

/* Idle time does not count. */
SEC("struct_ops") int cubic_event(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	if ((u32)call[1] != TX_START)
		return 0;
	struct cubic *c = state(tp);
	u32 now = (u32)jiffies64();
	s32 idle = (s32)(now - tp->lsndtime);
	if (!c->epoch || idle <= 0)
		return 0;
	c->epoch += (u32)idle;
	if (after(c->epoch, now))
		c->epoch = now;
	return 0;
}

SEC("struct_ops") u32 cubic_cut(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	struct cubic *c = state(tp);
	u32 cwnd = tp->snd_cwnd;
	c->epoch = 0;
	/* A loss below the last one leaves room for newcomers. */
	c->last_max = cwnd < c->last_max ? (u64)cwnd * (1024 + BETA) / 2048 : cwnd;
	return most((u64)cwnd * BETA / 1024, 2);
}

SEC("struct_ops") u32 cubic_undo(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	return most(tp->snd_cwnd, tp->prior_cwnd);
}

/* Cube root, rounded down, of a number below 2^63: a bit at a time. */
INLINE u32 cube_root(u64 x)
{
	u64 root = 0;
	for (u64 bit = 1 << 20; bit; bit >>= 1) {
		u64 wider = root | bit;
		if (wider * wider * wider <= x)
			root = wider;
	}
	return (u32)root;
}

INLINE void begin_epoch(struct cubic *c, u32 now, u32 cwnd, u32 acked)
{
	c->epoch = now;
	c->acked = acked;
	c->reno_cwnd = cwnd;
	c->origin = most(c->last_max, cwnd);
	u64 below = c->origin - cwnd;
	c->k = cube_root((1ull << 40) / C * least(below, 1 << 23));
}

/* Packets to deliver for one more, so that the window follows the function one round trip ahead. */
INLINE u32 follow(const struct cubic *c, u32 now, u32 cwnd, u64 hz)
{
	u64 ahead = ((u64)c->least_rtt * hz + 999999) / 1000000;
	s32 since = (s32)(now - c->epoch);
	u64 t = (((since > 0 ? (u64)since : 0) + ahead) << 10) / hz;
	u64 off = t < c->k ? c->k - t : t - c->k;
	if (off > 1 << 21)
		off = 1 << 21;
	u64 cube = off * off * off;
	u64 change = (C * (cube >> 32) + (C * (cube & 0xffffffffu) >> 32)) >> 8; /* C cube / 2^40 */
	u64 target = c->origin + change;
	if (t < c->k)
		target = c->origin > change ? c->origin - change : 0;
	u64 each = target > cwnd ? cwnd / (target - cwnd) : 100ull * cwnd;
	return c->last_max || each < NO_LOSS ? (u32)each : NO_LOSS;
}

INLINE void update(struct cubic *c, u32 cwnd, u32 acked)
{
	u64 hz = CONFIG_HZ;
	u32 now = (u32)jiffies64();
	c->acked += acked;
	s32 since = (s32)(now - c->last_time);
	if (c->last_cwnd == cwnd && since <= (s32)(hz / 32))
		return;
	if (!c->epoch || since) {
		c->last_cwnd = cwnd;
		c->last_time = now;
		if (!c->epoch)
			begin_epoch(c, now, cwnd, acked);
		c->each = follow(c, now, cwnd, hz);
	}
	u32 window = most((u64)cwnd * RENO / 8, 1);
	if (c->acked > window) {
		u32 more = (c->acked - 1) / window;
		c->acked -= more * window;
		c->reno_cwnd += more;
	}
	if (c->reno_cwnd > cwnd)
		c->each = least(c->each, cwnd / (c->reno_cwnd - cwnd));
	c->each = most(c->each, FASTEST);
}

SEC("struct_ops") int cubic_grow(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	u32 acked = call[2];
	if (!limited(tp))
		return 0;
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return 0;
	}
	struct cubic *c = state(tp);
	update(c, tp->snd_cwnd, acked);
	tcp_cong_avoid_ai(tp, c->each, acked);
	return 0;
}

/* Ends slow start when the ACKs of a round trip last too long, or when the round-trip time rises. */
INLINE void hystart(struct tcp_sock *tp, struct cubic *c, u32 rtt)
{
	u32 now = (u32)tp->tcp_mstamp;
	if (after(tp->snd_una, c->round_end))
		begin_round(tp, c);
	if (tp->snd_cwnd < LOW_WINDOW)
		return;
	if ((s32)(now - c->train) <= TRAIN_GAP) {
		c->train = now;
		u64 rate = tp->inet_conn.icsk_inet.sk.sk_pacing_rate;
		u64 burst = rate ? BURST * 1000000 / rate : 0; /* us at the pacing rate */
		u32 longest = c->least_rtt + (burst < 1000 ? (u32)burst : 1000);
		if (!tp->inet_conn.icsk_inet.sk.sk_pacing_status)
			longest /= 2;
		c->found |= (s32)(now - c->round) > (s32)longest;
	}
	c->round_rtt = least(c->round_rtt, rtt);
	if (c->samples < SAMPLES)
		c->samples++;
	else if (c->round_rtt > c->least_rtt + least(most(c->least_rtt / 8, LEAST_RISE), MOST_RISE))
		c->found = 1;
	if (c->found)
		tp->snd_ssthresh = tp->snd_cwnd;
}

SEC("struct_ops") int cubic_sample(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	const struct ack_sample *sample = (const struct ack_sample *)call[1];
	s32 rtt = sample->rtt_us;
	if (rtt < 0)
		return 0;
	struct cubic *c = state(tp);
	/* Round-trip times just after a loss do not count. */
	if (c->epoch && (s32)((u32)jiffies64() - c->epoch) < (s32)CONFIG_HZ)
		return 0;
	if (!rtt)
		rtt = 1;
	if (!c->least_rtt || (u32)rtt < c->least_rtt)
		c->least_rtt = (u32)rtt;
	if (!c->found && tp->snd_cwnd < tp->snd_ssthresh)
		hystart(tp, c, (u32)rtt);
	return 0;
}

LICENSE;

SEC(".struct_ops.link") struct tcp_congestion_ops cubic = {
	.init = (void *)cubic_open,
	.ssthresh = (void *)cubic_cut,
	.cong_avoid = (void *)cubic_grow,
	.set_state = (void *)cubic_set_state,
	.cwnd_event = (void *)cubic_event,
	.pkts_acked = (void *)cubic_sample,
	.undo_cwnd = (void *)cubic_undo,
	.name = "forebay_cubic",
};
