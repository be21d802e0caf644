/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* Steps nv.h through events from standard input and answers each with the window: what nv_twin.rs compares with the Rust law. */
#include <stdio.h>
#include <stdlib.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

#define INLINE static inline
#include "nv.h"

enum kind { ACK, ENTER, AROUND };

struct event {
	u64 kind;
	u64 now;
	u64 rtt; /* all ones: none */
	u64 in_flight;
	u64 una;
	u64 nxt;
	u64 delivered; /* packets that may grow the window */
	u64 state;
	u64 calm;  /* no episode when the ACK came */
	u64 fresh; /* of ENTER: an episode begins, or a timeout came: nothing is owed any more */
	u64 cwnd;  /* but of ACK: what the kernel around makes of the window */
	u64 ssthresh;
};

int main(void)
{
	static u64 draws[1024];
	u64 head[2]; /* window at the start, and mss */
	if (fread(head, sizeof head, 1, stdin) != 1 || fread(draws, sizeof draws, 1, stdin) != 1)
		return 1;
	struct nv nv;
	struct nv_window w = { .cwnd = head[0], .ssthresh = NV_NO_SSTHRESH, .count = 0, .mss = head[1] };
	struct event of;
	u32 resets = 0;
	nv_init(&nv);
	while (fread(&of, sizeof of, 1, stdin) == 1) {
		u64 answer[2];
		if (of.kind == ENTER) {
			answer[1] = nv_ssthresh(w.cwnd);
			nv_enter(&nv, of.state == 4);
			if (of.fresh)
				w.count = 0;
		}
		if (of.kind != ENTER && of.state == 0)
			nv_settle(&nv, of.una);
		if (of.kind == ACK) {
			struct nv_ack ack = {
				.now = of.now,
				.rtt = of.rtt == ~0ull ? -1 : (s32)of.rtt,
				.in_flight = of.in_flight,
				.una = of.una,
				.nxt = of.nxt,
				.calm = of.calm,
			};
			if (nv_acked(&nv, &ack)) {
				if (nv_is_due(&nv, &ack))
					nv_reset(&nv, &ack, draws[resets++ % 1024]);
				if (nv_ends_round_trip(&nv, &ack))
					nv_round_trip(&nv, &w, &ack);
			}
			nv_grow(&nv, &w, of.delivered);
			answer[1] = w.ssthresh;
		} else {
			w.cwnd = of.cwnd;
			w.ssthresh = of.ssthresh;
			if (of.kind == AROUND)
				answer[1] = w.ssthresh;
		}
		answer[0] = w.cwnd;
		if (fwrite(answer, sizeof answer, 1, stdout) != 1)
			return 1;
	}
	/* Samples are bounded by the window, also where that is more than 32 bits hold. */
	return nv_bounded(~0u, 1 << 24, 9000) != ~0u || nv_bounded(87000000, 10, 1448) != 14480 || nv_bounded(20000, 10, 1448) != 20000;
}
