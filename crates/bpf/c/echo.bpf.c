// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// Marks arriving packets CE while a lease lasts: ECN-capable ones (RFC 3168), of one interface or all, a share of them.
//
// Two programs with one body: `tc`, for the hooks tcx and clsact of an interface, where a packet begins with its Ethernet header, and
// `cgroup`, for packets that a cgroup's sockets are about to get, where it begins with its IP header.
//
// Invariants: without a living lease no packet is written to. A packet that is not ECN-capable never is. Every packet goes on, to
// whatever comes after these programs.

#include "kernel.h"
#include "echo.h"

SEC("maps") struct map lease;
SEC("maps") struct map counts;

#define IPV4 0x0800
#define IPV6 0x86dd
#define VLAN 0x8100
#define SERVICE_VLAN 0x88a8
#define ETHERNET 14
#define CHECKSUM 10 /* of an IPv4 header */
#define HEADER 20   /* of IPv4, without options; that of IPv6 is longer */
#define ECT_0 2
#define CE 3

INLINE u32 word(const u8 *at)
{
	return (u32)at[0] << 8 | at[1];
}

// What became of the packet whose IP header begins at `at`: version, traffic class and flow are in its first two bytes.
INLINE enum outcome mark(struct __sk_buff *skb, u32 at, u32 ethertype, const struct lease *now, struct counts *cpu, int by_store)
{
	u8 head[HEADER];
	if (skb_load(skb, at, head, HEADER))
		return NOT_IP;
	u32 version = head[0] >> 4, ecn, shift;
	if (ethertype == IPV4 && version == 4)
		shift = 0;
	else if (ethertype == IPV6 && version == 6)
		shift = 4;
	else
		return NOT_IP;
	ecn = head[1] >> shift & CE;
	if (ecn == 0)
		return NOT_ECT;
	if (ecn == CE)
		return ALREADY_CE;
	u64 owed = cpu->owed + now->share;
	if (owed < WHOLE) {
		cpu->owed = owed;
		return SPARED;
	}
	cpu->owed = owed - WHOLE;
	if (!by_store)
		return skb_set_ce(skb) ? MARKED : REFUSED;
	u8 with = head[1] | CE << shift;
	if (version == 6)
		return skb_store(skb, at + 1, &with, 1, RECOMPUTE_CHECKSUM) ? REFUSED : MARKED;
	// The sum over an IPv4 header with its checksum stays what it was, so the sum over the packet does too.
	u64 from = (u64)head[1] << 8 | head[0], to = (u64)with << 8 | head[0];
	if (replace_ip_checksum(skb, at + CHECKSUM, from, to, 2))
		return REFUSED;
	return skb_store(skb, at + 1, &with, 1, 0) ? REFUSED : MARKED;
}

// The ethertype behind at most two VLAN tags; `at` is put behind it.
INLINE u32 ethertype(struct __sk_buff *skb, u32 *at)
{
	u8 type[2];
	*at = ETHERNET;
	if (skb_load(skb, ETHERNET - 2, type, 2))
		return 0;
	for (int tags = 0; tags < 2 && (word(type) == VLAN || word(type) == SERVICE_VLAN); tags++) {
		if (skb_load(skb, *at + 2, type, 2))
			return 0;
		*at += 4;
	}
	return word(type);
}

INLINE void echo(struct __sk_buff *skb, int by_store)
{
	u32 zero = 0, at = 0;
	const struct lease *now = map_lookup(&lease, &zero);
	if (!now)
		return;
	u64 deadline = *(const volatile u64 *)&now->deadline;
	if (!deadline || (now->interface && now->interface != skb->ifindex))
		return;
	u32 number = cpu_number();
	struct counts *cpu = map_lookup(&counts, &number);
	if (!cpu)
		return;
	enum outcome of;
	if (boot_time() >= deadline) {
		of = EXPIRED;
	} else {
		u32 type = by_store ? ethertype(skb, &at) : (u16)__builtin_bswap16(skb->protocol);
		of = mark(skb, at, type, now, cpu, by_store);
	}
	__sync_fetch_and_add(&cpu->of[of < OUTCOMES ? of : REFUSED], 1);
}

SEC("tc") int echo_tc(struct __sk_buff *skb)
{
	echo(skb, 1);
	return -1; // TCX_NEXT and TC_ACT_UNSPEC: as if this program were not there
}

SEC("cgroup") int echo_cgroup(struct __sk_buff *skb)
{
	echo(skb, 0);
	return 1; // the packet goes on
}

SEC("license") char terms[] = "Dual MIT/GPL";
