// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// DCTCP: cuts the window by half of alpha, a running share of the packets that were marked. As the law `dctcp` with
// alpha = "linux", cut = "packets", prr_on_ce = true.
//
// Source: RFC 8257 section 3; alpha and cuts in packets and 1024ths, as Linux counts.

#include "tcp.h"

#define ONE 1024 /* alpha of 1 */
#define G 4      /* g = 2^-4 */
#define DEMAND_CWR 4 /* of ecn_flags: ACKs echo congestion */
#define ACK_WAITS 2  /* of icsk_ack.pending: an ACK is delayed */
#define ACK_NOW 16

static long (*const send_ack)(struct tcp_sock *tp, u32 rcv_nxt) = (void *)116;

struct dctcp {
	u32 alpha;
	u32 window_end; /* sequence number; the window of data that is measured ends here */
	u32 delivered;  /* counts at its start */
	u32 delivered_ce;
	u32 loss_cwnd; /* window that an undo restores */
	u32 rcv_nxt;   /* receiver: at the last packet */
	u32 ce;        /* receiver: whether that packet was marked */
};

_Static_assert(sizeof(struct dctcp) <= 13 * 8, "what the kernel keeps for a module");

INLINE struct dctcp *state(struct tcp_sock *tp)
{
	return (struct dctcp *)tp->inet_conn.icsk_ca_priv;
}

INLINE void measure(struct tcp_sock *tp, struct dctcp *d)
{
	d->window_end = tp->snd_nxt;
	d->delivered = tp->delivered;
	d->delivered_ce = tp->delivered_ce;
}

INLINE void halve(struct tcp_sock *tp, struct dctcp *d)
{
	d->loss_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = most(tp->snd_cwnd / 2, 2);
}

SEC("struct_ops") int dctcp_open(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	struct dctcp *d = state(tp);
	d->alpha = ONE;
	d->loss_cwnd = 0;
	d->rcv_nxt = tp->rcv_nxt;
	d->ce = 0;
	measure(tp, d);
	return 0;
}

SEC("struct_ops") u32 dctcp_cut(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	struct dctcp *d = state(tp);
	d->loss_cwnd = tp->snd_cwnd;
	u32 cut = (u64)tp->snd_cwnd * d->alpha / (2 * ONE);
	return most(tp->snd_cwnd - cut, 2);
}

SEC("struct_ops") int dctcp_ack(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	struct dctcp *d = state(tp);
	if (after(d->window_end, tp->snd_una))
		return 0;
	u32 alpha = d->alpha;
	u32 decay = alpha >> G;
	alpha -= decay ? decay : alpha; /* what is too small to decay goes */
	u32 marked = tp->delivered_ce - d->delivered_ce;
	if (marked) {
		u64 delivered = most(tp->delivered - d->delivered, 1);
		u64 rise = ((u64)marked * (ONE >> G)) / delivered;
		alpha = least(alpha + (u32)rise, ONE);
	}
	d->alpha = alpha;
	measure(tp, d);
	return 0;
}

SEC("struct_ops") int dctcp_set_state(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	u8 to = call[1];
	const u8 *at = (const u8 *)tp + __builtin_preserve_field_info(tp->inet_conn.icsk_ca_state, 0);
	u64 from = *at;
	from <<= __builtin_preserve_field_info(tp->inet_conn.icsk_ca_state, 4);
	from >>= __builtin_preserve_field_info(tp->inet_conn.icsk_ca_state, 5);
	if (to == RECOVERY && from != RECOVERY)
		halve(tp, state(tp));
	return 0;
}

INLINE void echo(struct tcp_sock *tp, u32 marked)
{
	tp->ecn_flags = marked ? tp->ecn_flags | DEMAND_CWR : tp->ecn_flags & ~DEMAND_CWR;
}

/* RFC 8257 section 3.2: an ACK is for packets of one kind. */
INLINE void received(struct tcp_sock *tp, struct dctcp *d, u32 marked)
{
	if (d->ce != marked) {
		u8 pending = tp->inet_conn.icsk_ack.pending;
		if (pending & ACK_WAITS) {
			echo(tp, d->ce);
			send_ack(tp, d->rcv_nxt);
		}
		tp->inet_conn.icsk_ack.pending |= ACK_NOW;
	}
	d->rcv_nxt = tp->rcv_nxt;
	d->ce = marked;
	echo(tp, marked);
}

SEC("struct_ops") int dctcp_event(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	u32 event = call[1];
	if (event == TIMEOUT)
		halve(tp, state(tp));
	else if (event == IS_CE || event == NO_CE)
		received(tp, state(tp), event == IS_CE);
	return 0;
}

SEC("struct_ops") u32 dctcp_undo(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	return most(tp->snd_cwnd, state(tp)->loss_cwnd);
}

SEC("struct_ops") int dctcp_grow(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	u32 acked = call[2];
	if (!limited(tp))
		return 0;
	if (tp->snd_cwnd < tp->snd_ssthresh)
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
	return 0;
}

LICENSE;

SEC(".struct_ops.link") struct tcp_congestion_ops dctcp = {
	.init = (void *)dctcp_open,
	.ssthresh = (void *)dctcp_cut,
	.cong_avoid = (void *)dctcp_grow,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_event,
	.in_ack_event = (void *)dctcp_ack,
	.undo_cwnd = (void *)dctcp_undo,
	.flags = NEEDS_ECN,
	.name = "forebay_dctcp",
};
