/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* What the program shares with user space: the same layout as the crate `abi`, which says what each word means. */
#pragma once

struct lease {
	u64 deadline;
	u64 share;
	u64 interface;
};

#define WHOLE (1 << 16)

enum outcome { MARKED, ALREADY_CE, NOT_ECT, NOT_IP, SPARED, EXPIRED, REFUSED, OUTCOMES };

struct counts {
	u64 of[OUTCOMES];
	u64 owed;
};
