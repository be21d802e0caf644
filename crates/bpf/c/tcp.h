/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What congestion controls here use of the kernel's sockets, so that they compile without its headers. Fields are placed by name when an
 * object is loaded. Source of names: include/net/tcp.h, include/linux/tcp.h, include/net/sock.h.
 */
#pragma once

#include "kernel.h"

#define PLACED __attribute__((preserve_access_index))
#define KERNEL __attribute__((section(".ksyms")))
#define CONFIG __attribute__((section(".kconfig")))

enum { OPEN, DISORDER, CWR, RECOVERY, LOSS };            /* icsk_ca_state */
enum { TX_START, CWND_RESTART, COMPLETE_CWR, TIMEOUT, NO_CE, IS_CE }; /* of cwnd_event */

#define NEEDS_ECN 2 /* TCP_CONG_NEEDS_ECN */
#define NO_SSTHRESH 0x7fffffffu

struct sock {
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
} PLACED;

struct inet_sock {
	struct sock sk;
} PLACED;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[13];
} PLACED;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una;
	u32 snd_nxt;
	u32 rcv_nxt;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 lsndtime;
	u32 delivered;
	u32 delivered_ce;
	u32 max_packets_out;
	u64 tcp_mstamp;
	u8 ecn_flags;
	u8 is_cwnd_limited : 1;
} PLACED;

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
} PLACED;

/* The kernel's table of callbacks, as far as modules here have them. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	u32 flags;
	char name[16];
};

/* Functions that every kernel has for modules. */
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) KERNEL;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) KERNEL;

/* Helpers, by their numbers. */
static u64 (*const jiffies64)(void) = (void *)118;

#define LICENSE char _license[] SEC("license") = "Dual MIT/GPL"

/* Whether the connection sends all that its window lets it: the kernel's own judgement. */
INLINE u32 limited(const struct tcp_sock *tp)
{
	const u8 *at = (const u8 *)tp + __builtin_preserve_field_info(tp->is_cwnd_limited, 0);
	u64 bit = *at;
	bit <<= __builtin_preserve_field_info(tp->is_cwnd_limited, 4);
	bit >>= __builtin_preserve_field_info(tp->is_cwnd_limited, 5);
	return bit || (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
}

INLINE u32 least(u32 a, u32 b)
{
	return a < b ? a : b;
}

INLINE u32 most(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* Whether a sequence number or a time is later than another one; both wrap. */
INLINE u32 after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}
