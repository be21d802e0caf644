// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// What programs may use, one thing in each, for tests of the simulator's machine: `ssthresh` gives a number that is known.

#include "tcp.h"

static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const ktime)(void) = (void *)5;
static u64 (*const ktime_coarse)(void) = (void *)160;
static long (*const trace_printk)(const char *format, u32 size, ...) = (void *)6;
static void *(*const storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static long (*const storage_delete)(void *map, void *sk) = (void *)108;
static long (*const probe_read)(void *to, u32 size, const void *from) = (void *)113;
static long (*const loop)(u32 times, void *function, void *context, u64 flags) = (void *)181;

extern unsigned long CONFIG_HZ CONFIG;
extern u32 LINUX_KERNEL_VERSION CONFIG;
extern u32 CONFIG_NOWHERE CONFIG __attribute__((weak));

struct {
	int (*type)[2]; /* an array */
	int (*max_entries)[4];
	u32 *key;
	u64 *value;
} numbers SEC(".maps");

struct {
	int (*type)[1]; /* a hash */
	int (*max_entries)[2];
	u64 *key;
	u32 *value;
} names SEC(".maps");

struct {
	int (*type)[9]; /* a hash that forgets the least recently used */
	int (*max_entries)[2];
	u32 *key;
	u32 *value;
} recent SEC(".maps");

struct {
	int (*type)[24]; /* a value for each socket */
	int (*map_flags)[1];
	u32 *key;
	u64 *value;
} own SEC(".maps");

const volatile s32 sign = -3;
const volatile u8 small = 200;
u64 shared = 5;

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

/* 3 at first, then 1 more for each call on the same host. */
SEC("struct_ops") u32 array_ssthresh(u64 *call)
{
	u32 key = 3;
	u64 first = 3;
	u64 *value = map_lookup_elem(&numbers, &key);
	if (!value)
		return 0;
	(void)call;
	if (!*value)
		map_update_elem(&numbers, &key, &first, 0);
	return (u32)(*value)++;
}

/* 1: room for two; 2: replaces; 4: only if new; 8: only if old; 16: found; 32: gone. */
SEC("struct_ops") u32 hash_ssthresh(u64 *call)
{
	u64 a = 1, b = 2, c = 3;
	u32 v = 7, w = 9, good = 0;
	(void)call;
	good |= !map_update_elem(&names, &a, &v, 0) && !map_update_elem(&names, &b, &v, 1) &&
		map_update_elem(&names, &c, &v, 0) == -7;
	good |= !map_update_elem(&names, &a, &w, 2) ? 2 : 0;
	good |= map_update_elem(&names, &a, &w, 1) == -17 ? 4 : 0;
	good |= map_update_elem(&names, &c, &w, 2) == -2 ? 8 : 0;
	u32 *found = map_lookup_elem(&names, &a);
	good |= found && *found == 9 ? 16 : 0;
	good |= !map_delete_elem(&names, &a) && !map_lookup_elem(&names, &a) && map_delete_elem(&names, &a) == -2 ? 32 : 0;
	map_delete_elem(&names, &b);
	return good;
}

SEC("struct_ops") u32 lru_ssthresh(u64 *call)
{
	u32 a = 1, b = 2, c = 3, v = 7;
	(void)call;
	map_update_elem(&recent, &a, &v, 0);
	map_update_elem(&recent, &b, &v, 0);
	map_lookup_elem(&recent, &a);
	map_update_elem(&recent, &c, &v, 0);
	return (map_lookup_elem(&recent, &a) ? 1 : 0) | (map_lookup_elem(&recent, &b) ? 2 : 0) |
	       (map_lookup_elem(&recent, &c) ? 4 : 0);
}

/* Calls of this socket so far. */
SEC("struct_ops") u32 storage_ssthresh(u64 *call)
{
	void *sk = (void *)call[0];
	u64 *value = storage_get(&own, sk, 0, 0);
	if (!value)
		value = storage_get(&own, sk, 0, 1);
	if (!value)
		return 100;
	if (++*value == 3)
		return storage_delete(&own, sk) == 0 ? 3 : 101;
	return (u32)*value;
}

SEC("struct_ops") u32 atomic_ssthresh(u64 *call)
{
	u64 at = 12;
	u32 low = 0xffffffff;
	(void)call;
	u64 before = __sync_fetch_and_add(&at, 30);		/* 12, 42 */
	before += __sync_fetch_and_or(&at, 1);			/* 54, 43 */
	before += __sync_fetch_and_and(&at, 0x2a);		/* 97, 42 */
	before += __sync_fetch_and_xor(&at, 2);			/* 139, 40 */
	before += __sync_lock_test_and_set(&at, 7);		/* 179, 7 */
	before += __sync_val_compare_and_swap(&at, 8, 1);	/* 186, 7 */
	before += __sync_val_compare_and_swap(&at, 7, 3);	/* 193, 3 */
	before += __sync_fetch_and_add(&low, 2) == 0xffffffff;	/* 194, 1 */
	return (u32)(before + at + low);			/* 198 */
}

/* The sum of the first numbers; the tenth is the last. */
static long round_of(u32 nth, u64 *sum)
{
	*sum += nth;
	return nth == 9;
}

SEC("struct_ops") u32 loop__ssthresh(u64 *call)
{
	u64 sum = 0;
	(void)call;
	long times = loop(100, round_of, &sum, 0);
	return (u32)(times * 100 + sum);
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
	return (u32)deeper((call[0] & 1) + 6);
}

/* 1: a nanosecond clock; 2: one by ticks; 4: ticks; 8: the version; 16: what the kernel lacks. */
SEC("struct_ops") u32 clock_ssthresh(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	u64 tick = 1000000000 / CONFIG_HZ;
	u32 good = ktime() / 1000 == tp->tcp_mstamp;
	good |= ktime_coarse() == ktime() / tick * tick ? 2 : 0;
	good |= jiffies64() == ktime() / tick ? 4 : 0;
	good |= LINUX_KERNEL_VERSION >= (6 << 16 | 1 << 8) ? 8 : 0;
	good |= CONFIG_NOWHERE ? 0 : 16;
	return good;
}

SEC("struct_ops") u32 probe_ssthresh(u64 *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	u32 cwnd = 1, none = 1;
	long good = probe_read(&cwnd, sizeof(cwnd), &tp->snd_cwnd);
	long bad = probe_read(&none, sizeof(none), (void *)16);
	return !good && bad == -14 && !none ? cwnd : 0;
}

SEC("struct_ops") u32 data_ssthresh(u64 *call)
{
	(void)call;
	return (u32)(++shared * 1000 + small + sign);
}

SEC("struct_ops") u32 signed__ssthresh(u64 *call)
{
	s64 a = (s64)call[1] - 7;
	s32 b = (s32)call[1] - 9;
	u32 good = a >> 1 == -4;
	good |= b >> 1 == -5 ? 2 : 0;
	good |= (signed char)(u8)(call[1] + 200) == -56 ? 4 : 0;
	good |= __builtin_bswap32((u32)call[1] + 0x01020304) == 0x04030201 ? 8 : 0;
	good |= (u16)__builtin_bswap16((u16)(call[1] + 0x0102)) == 0x0201 ? 16 : 0;
	good |= -a == 7 && a < 0 && b < -8 && (u64)a > 100 ? 32 : 0;
	return good;
}

SEC("struct_ops") u32 trace_ssthresh(u64 *call)
{
	static const char format[] = "cwnd %d of %s, %llx";
	struct tcp_sock *tp = (struct tcp_sock *)call[0];
	long len = trace_printk(format, sizeof(format), tp->snd_cwnd, (u64)"parts", ~0ull);
	return len == 34 && trace_printk("%f", 3, 0, 0, 0) == -22;
}

LICENSE;

#define OPS(of)                                               \
	SEC(".struct_ops") struct tcp_congestion_ops of = {      \
		.ssthresh = (void *)of##_ssthresh,                \
		.undo_cwnd = (void *)undo,                        \
		.cong_avoid = (void *)grow,                       \
		.name = #of,                                      \
	}

OPS(array);
OPS(hash);
OPS(lru);
OPS(storage);
OPS(atomic);
OPS(loop_);
OPS(deep);
OPS(clock);
OPS(probe);
OPS(data);
OPS(signed_);
OPS(trace);
