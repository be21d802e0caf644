/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* What programs here use of the kernel's interface, so that they compile without its headers. Source: include/uapi/linux/bpf.h. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

/* Maps are made by the loader, which puts their descriptors where programs name these. */
struct map {
	u32 unused;
};

/* The fields of a socket buffer that programs may read. Only those in use have names. */
struct __sk_buff {
	u32 len;
	u32 before_protocol[3];
	u32 protocol; /* in network order */
	u32 before_ifindex[5];
	u32 ifindex;
};

/* Helpers, by their numbers. */
static void *(*const map_lookup)(const void *map, const void *key) = (void *)1;
static u32 (*const cpu_number)(void) = (void *)8;
static long (*const skb_store)(struct __sk_buff *skb, u32 at, const void *from, u32 len, u64 flags) = (void *)9;
static long (*const replace_ip_checksum)(struct __sk_buff *skb, u32 at, u64 from, u64 to, u64 size) = (void *)10;
static long (*const skb_load)(const void *skb, u32 at, void *to, u32 len) = (void *)26;
static long (*const skb_set_ce)(struct __sk_buff *skb) = (void *)97;
static u32 (*const random_number)(void) = (void *)7;
static u64 (*const boot_time)(void) = (void *)125;

#define RECOMPUTE_CHECKSUM 1 /* BPF_F_RECOMPUTE_CSUM */
