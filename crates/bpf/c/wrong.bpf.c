// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// What goes wrong in congestion controls, one thing in each, for tests of the simulator's machine. Most are refused by a kernel's verifier.

#include "tcp.h"

static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const setsockopt)(void *sk, int level, int name, void *value, int len) = (void *)49;
static long (*const loop)(u32 times, void *function, void *context, u64 flags) = (void *)181;

struct {
	int (*type)[2]; /* an array */
	int (*max_entries)[4];
	u32 *key;
	u64 *value;
} few SEC(".maps");

struct tcp_sock___other {
	u32 srtt_of_mars;
} PLACED;

const volatile u32 limit = 7;
u32 count;

SEC("struct_ops") u32 undo(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	return tp->snd_cwnd;
}

SEC("struct_ops") int grow(u64 *call)
{
	(void)call;
	return 0;
}

SEC("struct_ops") u32 beyond_ssthresh(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	volatile u64 *p = tp->inet_conn.icsk_ca_priv;
	p[200] = 1;
	return 2;
}

SEC("struct_ops") u32 readonly_ssthresh(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	tp->mss_cache = 9000;
	return 2;
}

SEC("struct_ops") u32 constant_ssthresh(u64 *call)
{
	(void)call;
	*(volatile u32 *)&limit = 8;
	return 2;
}

SEC("struct_ops") u32 null_ssthresh(u64 *call)
{
	u32 key = 4 + (u32)call[1];
	volatile u64 *value = map_lookup_elem(&few, &key);
	return (u32)*value;
}

SEC("struct_ops") u32 endless_ssthresh(u64 *call)
{
	(void)call;
	for (;;)
		*(volatile u32 *)&count += 1;
	return 2;
}

SEC("struct_ops") u32 missing_ssthresh(u64 *call)
{
	struct tcp_sock___other *tp = (struct tcp_sock___other *)call[0];
	if (!__builtin_preserve_field_info(tp->srtt_of_mars, 2) && count == 0)
		return 5;
	return tp->srtt_of_mars;
}

SEC("struct_ops") int missing_grow(u64 *call)
{
	struct tcp_sock___other *tp = (struct tcp_sock___other *)call[0];
	count = tp->srtt_of_mars;
	return 0;
}

SEC("struct_ops") u32 zero_ssthresh(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	tcp_cong_avoid_ai(tp, 0, 1);
	return 2;
}

SEC("struct_ops") u32 other_ssthresh(u64 *call)
{
	char name[] = "reno";
	setsockopt((void *)call[0], 6, 13, name, sizeof(name));
	return 2;
}

SEC("struct_ops") u32 socket_ssthresh(u64 *call)
{
	return tcp_slow_start((struct tcp_sock *)(call[0] + 8), 1);
}

static __attribute__((noinline)) u64 deeper(u64 n)
{
	if (!n)
		return 0;
	u64 below = deeper(n - 1);
	__asm__ volatile("" : "+r"(below)); /* or clang makes a loop of it */
	return below + 1;
}

SEC("struct_ops") u32 deep_ssthresh(u64 *call)
{
	return (u32)deeper(call[1] + 20);
}

static long round_of(u64 nth, u64 *sum)
{
	sum[nth * 100] = nth;
	return 0;
}

SEC("struct_ops") u32 callback_ssthresh(u64 *call)
{
	u64 sum[2] = { 0, call[1] };
	loop(2, round_of, sum, 0);
	return (u32)sum[0];
}

LICENSE;

#define OPS(of, last)                                         \
	SEC(".struct_ops.link") struct tcp_congestion_ops of = { \
		.ssthresh = (void *)of##_ssthresh,                \
		.undo_cwnd = (void *)undo,                        \
		.cong_avoid = (void *)last,                       \
		.name = #of,                                      \
	}

OPS(beyond, grow);
OPS(readonly, grow);
OPS(constant, grow);
OPS(null, grow);
OPS(endless, grow);
OPS(missing, missing_grow);
OPS(zero, grow);
OPS(other, grow);
OPS(socket, grow);
OPS(deep, grow);
OPS(callback, grow);
