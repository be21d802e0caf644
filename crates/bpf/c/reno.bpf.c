// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// Reno: grows by one segment per window and halves on loss, as the law `reno` does.
//
// Source: RFC 5681 section 3.1.

#include "tcp.h"

SEC("struct_ops") u32 reno_ssthresh(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	return most(tp->snd_cwnd / 2, 2);
}

SEC("struct_ops") u32 reno_undo(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	return most(tp->snd_cwnd, tp->prior_cwnd);
}

SEC("struct_ops") int reno_grow(u64 *call)
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

SEC(".struct_ops.link") struct tcp_congestion_ops reno = {
	.ssthresh = (void *)reno_ssthresh,
	.undo_cwnd = (void *)reno_undo,
	.cong_avoid = (void *)reno_grow,
	.name = "forebay_reno",
};
