// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// Halve: a first idea. Grows like Reno, and keeps `keep` 1024ths of the window after a mark or a loss.

#include "tcp.h"

// A parameter: params.keep in a scenario, or a loader of the kernel sets it.
const volatile u32 keep = 512;

SEC("struct_ops") u32 halve_ssthresh(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	return most((u64)tp->snd_cwnd * keep / 1024, 2);
}

SEC("struct_ops") u32 halve_undo(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	return most(tp->snd_cwnd, tp->prior_cwnd);
}

SEC("struct_ops") int halve_grow(u64 *call)
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

SEC(".struct_ops.link") struct tcp_congestion_ops halve = {
	.ssthresh = (void *)halve_ssthresh,
	.undo_cwnd = (void *)halve_undo,
	.cong_avoid = (void *)halve_grow,
	.flags = NEEDS_ECN,
	.name = "forebay_halve",
};
