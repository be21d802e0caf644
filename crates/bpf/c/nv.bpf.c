// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// TCP-NV as a congestion control of the kernel, `forebay_nv`: what nv.h decides, between the kernel's calls and its connections.
//
// Source of the calls: struct tcp_congestion_ops in include/net/tcp.h. Fields of the kernel's structures are placed when this is loaded.
//
// Deviation from the kernel's own NV: samples of what was in flight are bounded by the window; rates have 64 bits.

#include "kernel.h"
#include "nv.h"

#define PLACED __attribute__((preserve_access_index))

enum { OPEN, DISORDER, CWR, RECOVERY, LOSS };

struct inet_connection_sock {
	u64 icsk_ca_priv[13];
} PLACED;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una;
	u32 snd_nxt;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 max_packets_out;
	u8 is_cwnd_limited : 1;
} PLACED;

struct ack_sample {
	s32 rtt_us;
	u32 in_flight;
} PLACED;

_Static_assert(sizeof(struct nv) <= 13 * 8, "what the kernel keeps for a module");

INLINE struct nv *state(struct tcp_sock *tp)
{
	return (struct nv *)tp->inet_conn.icsk_ca_priv;
}

INLINE struct nv_window window(const struct tcp_sock *tp)
{
	return (struct nv_window){
		.cwnd = tp->snd_cwnd,
		.ssthresh = tp->snd_ssthresh,
		.count = tp->snd_cwnd_cnt,
		.mss = tp->mss_cache ? tp->mss_cache : 1,
	};
}

INLINE void put(struct tcp_sock *tp, const struct nv_window *w)
{
	u32 cwnd = nv_most(nv_least(w->cwnd, tp->snd_cwnd_clamp), 1);
	if (cwnd != tp->snd_cwnd)
		tp->snd_cwnd = cwnd;
	if (w->ssthresh != tp->snd_ssthresh)
		tp->snd_ssthresh = w->ssthresh;
	if (w->count != tp->snd_cwnd_cnt)
		tp->snd_cwnd_cnt = w->count;
}

// Whether the connection sends all that its window lets it: the kernel's own judgement.
INLINE u32 limited(const struct tcp_sock *tp)
{
	const u8 *at = (const u8 *)tp + __builtin_preserve_field_info(tp->is_cwnd_limited, 0);
	u64 bit = *at;
	bit <<= __builtin_preserve_field_info(tp->is_cwnd_limited, 4);
	bit >>= __builtin_preserve_field_info(tp->is_cwnd_limited, 5);
	return bit || (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
}

SEC("struct_ops/init") int nv_open(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	nv_init(state(tp));
	nv_begin(state(tp), tp->snd_una);
	return 0;
}

SEC("struct_ops/ssthresh") int nv_reduce(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	return nv_ssthresh(tp->snd_cwnd);
}

SEC("struct_ops/undo_cwnd") int nv_undo(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	return nv_most(tp->snd_cwnd, tp->prior_cwnd);
}

SEC("struct_ops/set_state") int nv_state(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	u8 to = call[1];
	struct nv *nv = state(tp);
	if (to == OPEN)
		nv_settle(nv, tp->snd_una);
	else if (to >= CWR)
		nv_enter(nv, to == LOSS);
	nv->state = to;
	return 0;
}

SEC("struct_ops/pkts_acked") int nv_sample(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	const struct ack_sample *sample = (const struct ack_sample *)call[1];
	struct nv *nv = state(tp);
	struct nv_window w = window(tp);
	struct nv_ack ack = {
		.now = boot_time(),
		.rtt = sample->rtt_us,
		.in_flight = nv_bounded(sample->in_flight, &w),
		.una = tp->snd_una,
		.nxt = tp->snd_nxt,
		.draw = random_number(),
		.calm = nv->state <= DISORDER,
	};
	nv_acked(nv, &w, &ack);
	put(tp, &w);
	return 0;
}

SEC("struct_ops/cong_avoid") int nv_avoid(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	u32 delivered = call[2];
	if (!limited(tp))
		return 0;
	struct nv_window w = window(tp);
	nv_grow(state(tp), &w, delivered);
	put(tp, &w);
	return 0;
}
