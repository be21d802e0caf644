// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// TCP-NV as a congestion control of the kernel, `forebay_nv`: what nv.h decides, between the kernel's calls and its connections.
//
// Source of the calls: struct tcp_congestion_ops in include/net/tcp.h. Fields of the kernel's structures are placed when this is loaded.
//
// Deviation from the kernel's own NV: a sample of more than eight windows in flight counts as one window; rates have 64 bits.

#include "tcp.h"
#include "nv.h"

_Static_assert(sizeof(struct nv) <= 13 * 8, "what the kernel keeps for a module");

INLINE struct nv *state(struct tcp_sock *tp)
{
	return (struct nv *)tp->inet_conn.icsk_ca_priv;
}

INLINE u32 mss(const struct tcp_sock *tp)
{
	return tp->mss_cache ? tp->mss_cache : 1;
}

INLINE struct nv_window window(const struct tcp_sock *tp)
{
	return (struct nv_window){
		.cwnd = tp->snd_cwnd,
		.ssthresh = tp->snd_ssthresh,
		.count = tp->snd_cwnd_cnt,
		.mss = mss(tp),
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
	struct nv_ack ack = {
		.now = boot_time(),
		.rtt = sample->rtt_us,
		.in_flight = nv_bounded(sample->in_flight, tp->snd_cwnd, mss(tp)),
		.una = tp->snd_una,
		.calm = nv->state <= DISORDER,
	};
	if (!nv_acked(nv, &ack))
		return 0;
	// One draw for each reset, as the law draws.
	if (nv_is_due(nv, &ack))
		nv_reset(nv, &ack, random_number());
	if (!nv_ends_round_trip(nv, &ack))
		return 0;
	struct nv_window w = window(tp);
	ack.nxt = tp->snd_nxt;
	nv_round_trip(nv, &w, &ack);
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

LICENSE;

SEC(".struct_ops.link") struct tcp_congestion_ops nv = {
	.init = (void *)nv_open,
	.ssthresh = (void *)nv_reduce,
	.undo_cwnd = (void *)nv_undo,
	.set_state = (void *)nv_state,
	.pkts_acked = (void *)nv_sample,
	.cong_avoid = (void *)nv_avoid,
	.name = "forebay_nv",
};
