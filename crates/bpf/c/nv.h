/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * TCP-NV as the law `nv` (variant mainline) has it, for the kernel: whole numbers only, no division but of unsigned 64 bits, nothing of
 * the kernel's. The crate `laws` holds the law and its sources; a test compiles this text and steps it beside that law.
 *
 * Units: packets, microseconds, nanoseconds of a clock, rates of 100 bit/s. Sequence numbers wrap.
 */
#pragma once

#define NV_PAD 10
#define NV_PAD_BUFFER 2
#define NV_RESET_PERIOD 5000000000ull
#define NV_FIRST_RESET 2000000000ull
#define NV_MIN_CWND 2
#define NV_DECREASE 38       /* of 128ths of the excess */
#define NV_KEPT 819          /* of 1024ths of the window, after a loss or mark */
#define NV_CLEAN_DECISIONS 8 /* before growth that timeouts slowed doubles */
#define NV_DECREASE_CALLS 60
#define NV_GROWTH_CALLS 20
#define NV_FIRST_CALLS 30 /* before congestion ends the first slow start */
#define NV_STOP_RTTS 10
#define NV_DECREASE_RTTS 2
#define NV_FLOOR 4
#define NV_FLOOR_STEP 2
#define NV_FLOOR_END 81
#define NV_SLOWEST 8
#define NV_NO_RTT 0xffffffffu
#define NV_NO_SSTHRESH 0x7fffffffu
#define NV_RATE_UNIT 80000ull /* 100 bit/s for a byte in a microsecond */

/* What the kernel and this share of a connection. */
struct nv_window {
	u32 cwnd;
	u32 ssthresh;
	u32 count; /* packets that were delivered and are not yet turned into growth */
	u32 mss;
};

/* State of a connection; fits in what the kernel keeps for a module. */
struct nv {
	u64 reset_at; /* 0: no ACK came yet */
	u64 max_rate;
	u32 rtt_start_seq;
	u32 last_una;
	u32 min_rtt;
	u32 min_rtt_new;
	u32 last_rtt; /* 0: none since the last episode */
	u32 no_cong;
	u8 calls;
	u8 rtts;
	u8 floor;
	u8 slowed; /* growth is Reno's over 2 to this power */
	u8 allowed;
	u8 episode;
	u8 state; /* the kernel's, as it was last set */
};

/* What an ACK brought. */
struct nv_ack {
	u64 now;
	s32 rtt; /* negative: no sample */
	u32 in_flight;
	u32 una;
	u32 nxt;   /* of the end of a round trip */
	u32 calm;  /* whether there is no episode */
	u32 acked; /* bytes since the last one; nv_acked says how many */
};

INLINE u32 nv_least(u32 a, u32 b)
{
	return a < b ? a : b;
}

INLINE u32 nv_most(u32 a, u32 b)
{
	return a > b ? a : b;
}

INLINE void nv_init(struct nv *nv)
{
	nv->reset_at = 0;
	nv->max_rate = 0;
	nv->rtt_start_seq = 0;
	nv->last_una = 0;
	nv->min_rtt = NV_NO_RTT;
	nv->min_rtt_new = NV_NO_RTT;
	nv->last_rtt = 0;
	nv->no_cong = 0;
	nv->calls = 0;
	nv->rtts = 0;
	nv->floor = NV_FLOOR;
	nv->slowed = 0;
	nv->allowed = 1;
	nv->episode = 0;
	nv->state = 0;
}

/* Nothing was measured yet, or since an episode. */
INLINE void nv_begin(struct nv *nv, u32 una)
{
	nv->no_cong = 0;
	nv->rtts = 0;
	nv->calls = 0;
	nv->last_rtt = 0;
	nv->max_rate = 0;
	nv->rtt_start_seq = una;
	nv->last_una = una;
}

/* All is well, maybe again. */
INLINE void nv_settle(struct nv *nv, u32 una)
{
	if (nv->episode) {
		nv->episode = 0;
		nv_begin(nv, una);
	}
}

/* An episode of loss or marks begins or turns graver. */
INLINE void nv_enter(struct nv *nv, u32 timeout)
{
	nv->episode = 1;
	nv->allowed = 0;
	if (timeout && nv->slowed < NV_SLOWEST)
		nv->slowed++;
}

INLINE u32 nv_ssthresh(u32 cwnd)
{
	return nv_most((u32)((u64)cwnd * NV_KEPT >> 10), 2);
}

/*
 * If an ACK delivers nothing new, the kernel's sample is all that the connection ever delivered: far more than a window holds.
 * After a cut, more is in flight than the window holds now, but never eight times as much.
 */
INLINE u32 nv_bounded(u32 in_flight, u32 cwnd, u32 mss)
{
	u64 most = (u64)cwnd * mss;
	return in_flight <= 8 * most ? in_flight : (u32)most;
}

INLINE u32 nv_smoothed(struct nv *nv, u32 rtt)
{
	if (nv->last_rtt) {
		rtt = (u32)(((u64)rtt * 128 + (u64)nv->last_rtt * 128) >> 8);
		if (!rtt)
			rtt = 1;
	} else {
		nv->min_rtt = rtt > NV_NO_RTT / 2 ? NV_NO_RTT : 2 * rtt;
	}
	nv->last_rtt = rtt;
	return rtt;
}

/* The window is too large for what it gets. Whether it was cut. */
INLINE u32 nv_congested(struct nv *nv, struct nv_window *w, u32 max_win)
{
	if (nv->rtts < NV_DECREASE_RTTS)
		return 0;
	u32 first = w->ssthresh == NV_NO_SSTHRESH;
	if (first && nv->calls < NV_FIRST_CALLS)
		return 0;
	if (!first && nv->calls < NV_DECREASE_CALLS) {
		if (nv->rtts > NV_STOP_RTTS)
			nv->allowed = 0;
		return 0;
	}
	w->ssthresh = max_win;
	u32 excess = w->cwnd - max_win;
	w->cwnd = excess > 2 ? w->cwnd - nv_most((u32)((u64)excess * NV_DECREASE >> 7), 2) : max_win;
	nv->allowed = 0;
	nv->no_cong = 0;
	return 1;
}

/* There is room. Whether growth was allowed. */
INLINE u32 nv_clear(struct nv *nv)
{
	if (nv->calls < NV_GROWTH_CALLS)
		return 0;
	nv->allowed = 1;
	nv->no_cong++;
	if (nv->slowed && nv->no_cong > NV_CLEAN_DECISIONS) {
		nv->slowed--;
		nv->no_cong = 0;
	}
	return 1;
}

/* Once for each round trip: too few samples, congestion, or none. */
INLINE void nv_round_trip(struct nv *nv, struct nv_window *w, const struct nv_ack *ack)
{
	nv->rtt_start_seq = ack->nxt;
	if (nv->rtts < 255)
		nv->rtts++;
	if (nv->calls == 1 && ack->acked >= (nv->floor - 1u) * w->mss && nv->floor < NV_FLOOR_END) {
		nv->floor = (u8)nv_least(nv->floor + NV_FLOOR_STEP, NV_FLOOR_END);
		nv->rtt_start_seq = ack->nxt + nv->floor * w->mss;
		nv->calls = 0;
		nv->allowed = 1;
		return;
	}
	u64 most = ~0ull / nv_most(nv->min_rtt, 1);
	__asm__ volatile("" : "+r"(most)); /* or clang multiplies in 128 bits, which the kernel's machine lacks */
	u64 target = nv->max_rate > most ? ~0ull : nv->max_rate * nv->min_rtt;
	target = target / (NV_RATE_UNIT * w->mss) + NV_PAD;
	u32 decided = 0;
	if (w->cwnd > target)
		decided = nv_congested(nv, w, (u32)target);
	else if (w->cwnd + NV_PAD_BUFFER <= target)
		decided = nv_clear(nv);
	if (decided) {
		nv->calls = 0;
		nv->rtts = 0;
		nv->max_rate = 0;
		w->cwnd = nv_most(w->cwnd, NV_MIN_CWND);
	}
}

/* What an ACK measured. Whether there is a sample. */
INLINE u32 nv_acked(struct nv *nv, struct nv_ack *ack)
{
	if (!nv->reset_at)
		nv->reset_at = ack->now + NV_FIRST_RESET;
	if (ack->rtt < 0 || !ack->calm)
		return 0;
	ack->acked = ack->una - nv->last_una;
	nv->last_una = ack->una;
	if (!ack->in_flight)
		return 0;
	u32 rtt = nv_smoothed(nv, ack->rtt ? (u32)ack->rtt : 1);
	u64 rate = (u64)ack->in_flight * NV_RATE_UNIT / rtt;
	if (rate > nv->max_rate)
		nv->max_rate = rate;
	if (nv->calls < 255)
		nv->calls++;
	nv->min_rtt = nv_least(nv->min_rtt, rtt);
	nv->min_rtt_new = nv_least(nv->min_rtt_new, rtt);
	return 1;
}

/* Whether the least round-trip time is to be forgotten, by nv_reset. Asked after a sample. */
INLINE u32 nv_is_due(const struct nv *nv, const struct nv_ack *ack)
{
	return ack->now >= nv->reset_at;
}

/* The reference becomes the least round-trip time since the last reset. The next reset is due at random. */
INLINE void nv_reset(struct nv *nv, const struct nv_ack *ack, u32 draw)
{
	nv->min_rtt = nv->min_rtt_new;
	nv->min_rtt_new = NV_NO_RTT;
	nv->reset_at = ack->now + NV_RESET_PERIOD / 512 * (384 + (draw & 0xff));
	nv->floor = (u8)nv_most(nv->floor / 2, NV_FLOOR);
}

/* Whether the sample ends a round trip, about which nv_round_trip decides. Asked after a reset that is due. */
INLINE u32 nv_ends_round_trip(const struct nv *nv, const struct nv_ack *ack)
{
	return (s32)(nv->rtt_start_seq - ack->una) < 0;
}

/* Growth by packets that were delivered while the window was full: slow start, then Reno's or slower. */
INLINE void nv_grow(struct nv *nv, struct nv_window *w, u32 left)
{
	if (!nv->allowed)
		return;
	if (w->cwnd < w->ssthresh) {
		u32 credit = w->count + left;
		u32 step = nv_least(credit, w->ssthresh - w->cwnd);
		w->cwnd += step;
		w->count = credit - step;
		if (w->cwnd < w->ssthresh)
			return;
		left = w->count;
		w->count = 0;
	}
	if (!left)
		return;
	u32 each = nv->slowed ? w->cwnd << (nv->slowed & 15) : nv_most(w->cwnd, 4);
	if (w->count >= each) {
		w->count = 0;
		w->cwnd++;
	}
	w->count += left;
	if (w->count >= each) {
		w->cwnd += w->count / each;
		w->count %= each;
	}
}
