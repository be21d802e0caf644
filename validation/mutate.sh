#!/usr/bin/env bash
# Tests that cannot fail are found: each line below breaks one thing in a copy of the tree, and the test it names has to
# turn red. A mutation that no longer applies, does not compile, or survives ends the script with status 1.
#
# usage: validation/mutate.sh [PATTERN]   (only the mutations whose description matches)
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
(cd "$root" && tar c --exclude=./target --exclude=./.git .) | tar x -C "$copy"
cd "$copy" || exit 1
export CARGO_TARGET_DIR="$copy/target" CARGO_PROFILE_DEV_DEBUG=0 PROPTEST_CASES=40

# description | file | sed expression | package | test target | test
mutations=(
  "a pinned flow goes where the hash says|crates/net/src/routing.rs|s/if let Some(pinned) = pinned {/if let Some(pinned) = pinned.filter(\|p\| *p == u16::MAX) {/|sim|lists|packets_go_where_their_path_says_both_ways"
  "murmur3 forgets the ports of a flow|crates/net/src/routing/murmur3.rs|s/let data = \[from, to, .*\];/let data = [from, to, 0 * u32::from(sport) * u32::from(dport)];/|sim|lists|the_hash_of_the_public_simulator"
  "half of a path over a dead cable stays|crates/net/src/routing/pins.rs|s/if path.ports.iter().all(/if path.ports.iter().any(/|sim|lists|a_path_over_a_dead_cable"
  "a barrier fires at its first receiver|crates/sim/src/loops.rs|s/count: receivers.len() as u32, until, next/count: 1, until, next/|sim|lists|a_barrier_over_several_receivers"
  "a join forgets who was told late|crates/sim/src/host/rounds.rs|s/join.over = join.over.max(at);/join.over = now;/|sim|lists|triggers_of_different_delays"
  "a clock of nanoseconds rounds nothing|crates/units/src/rate.rs|s/exact - exact % self.grain/exact/|sim|lists|a_clock_of_nanoseconds"
  "ideal times forget headers|crates/scenario/src/import/hpcc_ideal.rs|s/packets \* HEADER/0 * packets * HEADER/|scenario|import|ideal_times_are_those_of_the_source"
  "sizes lose their upper half|crates/scenario/src/import/hpcc.rs|s/flows.push(Flow { src, dst, pg, dport: dport as u16, size, start });/flows.push(Flow { src, dst, pg, dport: dport as u16, size: u64::from(size as u32), start });/|scenario|import|sizes_of_more_than_32_bits"
  "source ports are counted by start|crates/scenario/src/import/hpcc.rs|s/group, flow.size, \*sport, flow.dport, i/group, flow.size, 0, flow.dport, i/|scenario|import|everything_of_a_topology"
  "no packet is marked|crates/net/src/port/marking.rs|s/packet.ecn = Ecn::Ce;/packet.ecn = packet.ecn;/|net|ports|a_step_marks_from_k_on_exactly"
  "a queue limit is one byte short|crates/net/src/port.rs|s/queue + size <= limit,/queue + size < limit,/|net|ports|a_byte_limit_is_exact"
  "a one-touch limit loses its part of a byte|crates/net/src/port.rs|s/|whole| whole - 1/|_| 0/|net|ports|one_touch_equals_an_explicit_queue"
  "the lowest class goes first|crates/net/src/port/scheduled.rs|s/!stopped).ilog2()/!stopped).trailing_zeros()/|net|ports|strict_priorities_go_in_order"
  "a late queue lets a packet overtake what should have left|crates/net/src/port/scheduled.rs|s/waits \& below != 0 || //|net|ports|strict_priorities_go_in_order"
  "a late queue starts anew without what waits|crates/net/src/port/scheduled.rs|s/self.hot.busy.max(self.scheduled.since) + self.waiting_time()/self.hot.busy.max(self.scheduled.since)/|net|ports|queues_served_late_equal_queues_served_in_time"
  "a dead port forgets to take back its queue|crates/net/src/port/fault.rs|/pub fn fail/,/^    }/s/self.uncount(&queued);//|net|ports|one_touch_equals_an_explicit_queue"
  "the packet in transmission changes its rate|crates/net/src/port/fault.rs|s/ || sent <= self.cold.old_until//|net|ports|a_packet_in_transmission_keeps_its_rate"
  "nothing is lost at random|crates/net/src/port.rs|s/< self.cold.settings.loss\$/< -self.cold.settings.loss/|net|ports|random_loss_has_its_rate_and_is_independent"
  "wire overhead is forgotten|crates/net/src/port.rs|s/self.hot.overhead = .*/self.hot.overhead = 0;/|net|ports|packets_leave_back_to_back_and_fly_as_long_as_they_should"
  "the shared buffer does not ask again|crates/net/src/switch.rs|/fn admits/,/^    }/s/self.settle(now, out);//|net|switches|the_shared_buffer_is_exact"
  "the digest does not see ECN bits|crates/net/src/switch.rs|s/        | packet.ecn as u64;/;/|net|switches|one_flipped_ecn_bit_changes_the_digest"
  "losses are hashed as they are served|crates/net/src/switch.rs|s/departed(&mut lost\[port\]/departed(\&mut lost[0]/|net|switches|a_switch_hears_of_time_only_through_its_events"
  "the two directions hash apart|crates/net/src/routing.rs|s/ ^ u64::from(flow))\$/ ^ u64::from(flow) ^ u64::from(reverse))/|net|routes|symmetric_paths_are_each_others_reverse"
  "routes run over dead cables|crates/net/src/routing.rs|s/\&\& alive(d.cable)/\&\& (alive(d.cable) || true)/|net|routes|routes_around_a_dead_cable_avoid_it_and_lose_nobody"
  "spraying never changes its mind|crates/net/src/routing.rs|s/Paths::Spray => Stream::at(self.key, nth)/Paths::Spray => Stream::at(self.key, nth \& 0)/|net|routes|spraying_is_uniform_and_memoryless"
  "the even side runs ahead of what it can know|crates/engine/src/plan.rs|s/odd.saturating_add(self.hop).min/odd.saturating_add(self.turn).min/|engine|equal_digests|every_grouping_gives_the_reference_digest"
  "a node with a link to itself runs as one without|crates/engine/src/engine.rs|s/ || to_itself\[members\[0\].0 as usize\]//|engine|equal_digests|every_grouping_gives_the_reference_digest"
  "timers come before arrivals|crates/engine/src/shard.rs|s/if timer < arrival/if timer <= arrival/|engine|equal_digests|every_grouping_gives_the_reference_digest"
  "the invariant CRC covers what switches change|crates/record/src/capture/roce.rs|s/\[1, 8, 10, 11, 26, 27, 32\]/[1, 8, 10, 11, 26, 27, 33]/|record|--lib|the_invariant_crc_is_that_of_a_real_nic"
  "an ACK says the packet that it waits for|crates/sim/src/capture/roce.rs|s/next.wrapping_sub(1))/next)/|sim|captures|packets_of_queue_pairs"
  "a capture makes up a handshake of queue pairs|crates/sim/src/capture.rs|s/!handshake || of_tcp()/true/|sim|captures|packets_of_queue_pairs"
  "circles of pauses are looked for at the end only|crates/sim/src/run.rs|s/if now == now.round_up(deadlock::LOOK_EVERY) {/if now == Time::MAX {/|sim|pause_by_class|a_circle_that_opens_again_is_told_too"
  "a circle closed when its first port was paused|crates/sim/src/deadlock.rs|s/map(|port| port.since).max()/map(|port| port.since).min()/|sim|pause_by_class|a_circle_of_paused_classes_is_named"
  "all traffic takes the same transport|crates/scenario/src/model.rs|s/entry.transport.as_ref().and_then(named)/entry.transport.as_ref().filter(\|_\| false).and_then(named)/|sim|digests|all_traffic_over_a_named_transport"
  "the base round trip of the first transport holds for all|crates/sim/src/base_rtt.rs|s/let base = .entry. scenario.transport_of(entry).rdma/let base = \|_\| scenario.transport.rdma/|sim|digests|all_traffic_over_a_named_transport"
  "go-back-N reports every packet beyond a gap|crates/transport/src/rdma/receiver.rs|s/self.nacked == self.next \&\& now < self.nack_again/false/|transport|rdma|go_back_n_reports_a_gap_once"
  "go-back-N never reports a gap again|crates/transport/src/rdma/receiver.rs|s/ \&\& now < self.nack_again//|transport|rdma|a_lost_nack_is_told_again"
  "CNPs come with every mark|crates/transport/src/rdma/receiver.rs|s/if !wanted .. now < self.cnp_again/if !wanted/|transport|rdma|cnps_keep_their_interval"
  "the tail of a window asks for no ACK|crates/transport/src/rdma/sender.rs|s/.with_if(last, Flags::PSH)//|transport|rdma|acks_may_speak_for_several_packets"
  "a new rate waits for the next packet|crates/transport/src/rdma/sender.rs|/fn set_rate/,/^    }/s/self.reopen(now);//|transport|rdma|a_cut_moves_the_departure"
  "selective repeat sends all again|crates/transport/src/rdma/sender/repair.rs|s/repair.marks.set(self.board.place(i), Some(Mark::Sacked)) != Some(Mark::Sacked)/repair.marks.get(self.board.place(i)) != Some(Mark::Sacked)/|transport|rdma|selective_repeat_sends_only_what_is_missing"
  "a lost tail waits for ever|crates/transport/src/rdma/sender.rs|s/if now >= self.timeout_at {/if now >= self.timeout_at \&\& self.open {/|transport|rdma|a_lost_nack_is_told_again"
  "a NIC never lets its switch go|crates/sim/src/host/memory.rs|s/if buffered > enough { self.classes } else { 0 }/if buffered > enough { self.classes } else { told }/|sim|memory|a_nic_that_pauses"
  "a timer behind a gate is forgotten|crates/sim/src/host/armed.rs|s/self.0 = \[at, self.0\[0\], self.0\[1\]\]/self.0 = [at, Time::MAX, Time::MAX]/|sim|--lib|later_entries_are_remembered"
  "a duplicate is answered as the start of a flow is|crates/transport/src/receiver.rs|s/cfg.quick_acks.min(DUPLICATE_QUICK)/cfg.quick_acks/|transport|limits|delayed_acks_follow_the_two_segment_rule"
  "HyStart counts rounds in large windows only|crates/laws/src/flow/cubic/linux/hystart.rs|s/if totals.una > self.end {/if totals.una > self.end \&\& window.packets() >= 16 {/|laws|--lib|flow::cubic::tests::the_rise"
  "DCTCP cuts by all of alpha|crates/laws/src/flow/dctcp.rs|s/>> (bits + 1)/>> bits/|laws|--lib|flow::dctcp"
  "hostCC raises where it should hold|crates/laws/src/host/hostcc.rs|s/(Greater, Less) if wanted/(Greater, _) if wanted/|laws|--lib|each_regime_moves_the_level"
  "hostCC lowers without its hold|crates/laws/src/host/hostcc.rs|s/if now >= self.lower_from/if now >= Time::ZERO/|laws|--lib|levels_come_down_one_hold_apart"
  "hostCC renews a lease for an idle network|crates/laws/src/host/hostcc.rs|s/let wanted = moved .*/let wanted = moved == moved;/|laws|--lib|a_lease_ignores_a_frozen_signal"
  "hostCC believes half of its signals|crates/laws/src/host/hostcc.rs|s/ \&\& self.heard != (true, true)/ \&\& false/|laws|--lib|counters_that_stand_still_are_stale"
  "hostCC asks for two writes at once|crates/laws/src/host/hostcc.rs|s/\&\& self.asked.is_none()$/\&\& (self.asked.is_none() || true)/|laws|host_conformance|keeps_its_side_of_the_bargain"
  "hostCC forgets that counters wrap|crates/laws/src/host/hostcc/paper.rs|s/wrapping_sub(last.raw) \& self.mask/wrapping_sub(last.raw)/|laws|--lib|a_wrap_is_no_event"
  "an interval of a percentile is too narrow|crates/validate/src/order.rs|s/if sum <= 0.025 {/if sum <= 0.25 {/|validate|--lib|the_ranks_are_those_of_the_tables"
  "a crossing lasts from the start of the trace|crates/validate/src/hostcc/signals.rs|s/run\[run.len() - 1\].us - run\[0\].us/run[run.len() - 1].us/|validate|--lib|crossings_are_timed_each_by_itself"
  "a pause ends without its offset|crates/net/src/ingress.rs|s/share.saturating_add(a.resume_offset) <= a.xoff/share <= a.xoff/|net|pause|an_account_resumes_at_its_offset_below_the_threshold"
  "a resume is forgotten|crates/net/src/switch/pause.rs|/fn depart_in_order/,/^    }/s/say(ports, ingress, start, in_port);//|sim|pause|every_pause_has_its_resume"
  "a frame does not wait for the packet in transmission|crates/net/src/port/pause.rs|s/self.hot.busy.max(pause.wanted_at)/pause.wanted_at/|net|pause|a_frame_waits_for_the_packet_in_transmission"
  "a frame that dies with its cable counts as a packet|crates/net/src/port/fault.rs|s/packet.kind != Kind::Pause/true/|net|pause|a_frame_that_dies_with_its_cable_is_no_lost_packet"
  "headroom forgets the flight|crates/scenario/src/pause.rs|s/let away: Span = cable.link.delay \* 2/let away: Span = cable.link.delay/|sim|pause|nothing_is_lost"
  "a paused class stops another|crates/net/src/ingress.rs|s/bits | u8::from(a.paused) << c/bits | u8::from(a.paused) * 255/|sim|pause_by_class|a_flow_of_another_class_is_no_victim"
  "a NIC stops as a whole|crates/net/src/port/pause.rs|s/self.cold.pause.stopped != u8::MAX/self.cold.pause.stopped == 0/|sim|pause_by_class|a_nic_sends_classes_that_are_not_paused"
  "a NIC forgets what it put aside|crates/sim/src/host/parked.rs|s/self.acks.append(&mut back);//|sim|pause_by_class|a_nic_sends_classes_that_are_not_paused"
  "a dropped class looks at its in-port alone|crates/net/src/ingress.rs|s/share.max(queue) <= a.xoff(free)/share <= a.xoff(free)/|net|classes|has_a_queue_within_the_threshold_too"
  "a class is marked by the queue of its port|crates/net/src/port/classes.rs|s/(classes.queued\[class\] + sending, packets)/(self.queue(now), packets)/|net|classes|the_queue_of_a_class_alone_marks_it"
  "a watchdog does not start anew|crates/net/src/port/classes.rs|s/            self.since\[class\] = now;//|net|classes|a_watchdog_ends_a_pause_that_lasts"
  "a watchdog never lets go|crates/net/src/port/classes.rs|s/self.fired \&= classes;//|net|classes|a_watchdog_ends_a_pause_that_lasts"
  "headroom of one class does for all|crates/scenario/src/pause.rs|s/saturating_mul(classes)/saturating_mul(classes.min(1))/|scenario|errors|pause_by_class"
  "any headroom will do|crates/scenario/src/convert/pause.rs|s/!short.allowed/short.allowed/|scenario|errors|pause_by_class"
  "a circle of other classes counts|crates/net/src/switch.rs|s/classes \& 1 << p.class.min(7) != 0 \&\& from(p)/from(p) \&\& false/|sim|pause_by_class|a_circle_of_paused_classes_is_named"
  "Swift cuts as often as ACKs come|crates/laws/src/flow/swift.rs|s/now.since(self.decreased) >= rtt/now.since(self.decreased) >= rtt * 0/|laws|--lib|swift::tests::cuts_follow_the_delay"
  "Swift gives small windows no longer target|crates/laws/src/flow/swift.rs|s/path + scaled.clamp/path + 0.0 * scaled.clamp/|laws|--lib|swift::tests::the_target_follows_the_window"
  "Timely forgets how often it rose|crates/laws/src/flow/timely.rs|s/self.stage.saturating_add(1)/1/|laws|--lib|timely::tests::a_steady_round_trip"
  "patched Timely looks at the gradient alone|crates/laws/src/flow/timely.rs|s/let pull = p.beta_p.get() \* w \* (rtt - low) \/ low;/let pull = p.beta_p.get() * w;/|laws|--lib|timely::tests::patched_flows_share"
  "a CNP takes all of alpha|crates/laws/src/flow/dcqcn.rs|s,1.0 - self.alpha / 2.0,1.0 - self.alpha * 0.9,|laws|--lib|dcqcn::tests::one_cnp_halves"
  "a vendor cut always moves the target|crates/laws/src/flow/dcqcn.rs|s/if self.time_stage != 0 {/if true {/|laws|--lib|dcqcn::tests::the_vendor_form"
  "HPCC compounds within a round trip|crates/laws/src/flow/hpcc.rs|s/if update {/if update || follows {/|laws|--lib|hpcc::tests::every_ack_of_a_round_trip"
  "HPCC takes a burst for a queue|crates/laws/src/flow/hpcc.rs|s/before.min(after)/before.max(after)/|laws|--lib|hpcc::tests::a_burst_and"
  "PowerTCP does not see a queue drain|crates/laws/src/flow/powertcp.rs|s/(after - before + hop.sent)/(hop.sent)/|laws|--lib|powertcp::tests::power_sees"
  "PowerTCP divides the window of now|crates/laws/src/flow/powertcp.rs|s/let old = if sent > 0.0 { sent }/let old = if sent < 0.0 { sent }/|laws|--lib|powertcp::tests::a_window_is_what_power"
  "HierCC corrects the queue the wrong way|crates/laws/src/group/hiercc.rs|s/(credit - drain)/(credit + drain)/|laws|--lib|hiercc::tests::a_window_gives"
  "HierCC moves while hosts are stopped|crates/laws/src/group/hiercc.rs|s/(E::Above, State::Stopped(_)) => {}/(E::Above, State::Stopped(_)) => self.end(now, totals, acts),/|laws|--lib|hiercc::tests::a_stop_freezes"
  "HierCC resumes with all of the link for each|crates/laws/src/group/hiercc.rs|s,- self.sent) / flows.max(1.0),- self.sent),|laws|--lib|hiercc::tests::hosts_go_on"
  "HierCC never sleeps|crates/laws/src/group/hiercc.rs|s/        if idle {/        if idle \&\& false {/|laws|group_conformance|an_idle_aggregate"
  "credits are not spaced|crates/net/src/credit.rs|s/self.free = now + self.pace.take(self.settings.cost);/self.free = now;/|net|credits|racks_share_by_their_flows"
  "a rack gets a credit a round, whatever its flows|crates/net/src/credit.rs|s/self.left = self.entries\[self.turn\].flows;/self.left = 1;/|net|credits|racks_share_by_their_flows"
  "a queue sends a packet ahead of its credit|crates/net/src/voq.rs|s/if self.credit_left() < size {/if self.credit_left() == 0 {/|net|--lib|packets_leave_whole"
  "a late credit takes back what others gave|crates/net/src/voq.rs|s/self.credited = self.credited.max(credited);/self.credited = credited;/|net|--lib|packets_leave_whole"
  "a flow that waits is forgotten|crates/net/src/voq.rs|s/known.last == at \&\& known.waiting == 0/known.last == at/|net|--lib|flows_count_while"
  "a gap that ended still shuts the gate|crates/transport/src/sender/mod.rs|s/            pace.next = Time::ZERO;/            return;/|transport|--lib|the_end_of_a_gap_opens_the_gate"
  "NV never learns a lower RTT|crates/laws/src/flow/nv/mainline.rs|s/self.min_rtt = self.min_rtt.min(rtt);//|laws|--lib|the_least_rtt_follows_every_lower_sample"
  "NV allows itself no pad|crates/laws/src/flow/nv/mainline.rs|s/let max_win = target + self.params.pad(10);/let max_win = target;/|laws|--lib|flows_that_know_the_base_rtt_hold"
  "NV decreases on any sample|crates/laws/src/flow/nv/mainline.rs|s/calls < p.dec_eval_min_calls.get()/calls < 1/|laws|--lib|a_queue_of_forty_beyond_the_pad"
  "BIC makes no room for newcomers|crates/laws/src/flow/bic.rs|s/if cwnd < last_max \&\& fast_convergence/if cwnd < last_max \&\& false/|laws|--lib|fast_convergence_remembers_less"
  "CUBIC follows no flow of Reno's kind|crates/laws/src/flow/cubic/linux.rs|s/self.cnt = self.cnt.min(most);/let _ = most;/|laws|--lib|short_round_trips_get_the_window_of_reno"
  "a client thinks before it counts|crates/sim/src/rpc.rs|s/if self.left == 0 || at >= self.until/if at >= self.until/|sim|rpc|a_lone_rpc_takes_its_request_and_its_response_to_the_picosecond"
  "a server works on all requests at once|crates/sim/src/rpc.rs|s/if self.received.len() == 1 { self.work/if self.received.len() > 0 { self.work/|sim|rpc|requests_queue_at_a_slow_server"
  "warm-up bytes count as goodput|crates/sim/src/host/rpc.rs|s/if now < self.common.warmup {/if now < Time::ZERO {/|sim|rpc|goodput_leaves_the_warm_up_out"
  "an idle connection is a stall|crates/sim/src/stall.rs|s/.filter(|(_, tcp)| !tcp.idle())//|sim|rpc|an_idle_connection_is_no_stall"
  "a flight takes no time|crates/engine/src/lanes.rs|s/let at = at + lookahead;/let _ = lookahead;/|sim|exact|two_four_and_six_links_finish_to_the_picosecond"
  "a capture stamps the end of a transmission|crates/sim/src/capture.rs|s/let start = end - self.rate.time_for(wire);/let start = end;/|sim|captures|a_lone_flow_is_stamped_to_the_picosecond"
  "a capture takes a switch's latency for the cable's|crates/sim/src/capture.rs|s/now - port.latency, Part/now, Part/|sim|captures|a_lone_flow_is_stamped_to_the_picosecond"
  "a capture forgets what a cable loses|crates/net/src/port.rs|s/out.vanish(.*);//|sim|captures|loss_is_seen_between_two_ends"
  "an ACK of everything leaves the FIN open|crates/sim/src/capture.rs|s/u64::from(size > 0 \&\& packet.seq == size)/0/|sim|captures|segments_say_what_tcp_would"
  "the first ACK of an open stream has a FIN|crates/sim/src/capture.rs|s/size > 0 \&\& packet.seq == size/packet.seq == size/|sim|captures|streams_of_a_connection"
  "a captured pause never ends|crates/sim/src/capture.rs|s/stop: seen.packet.seq != 0/stop: true/|sim|captures|pause_frames_stop_and_let_go"
  "a checksum is of the headers alone|crates/record/src/capture/frame.rs|s/let tcp = TcpHeader { checksum, ..tcp };//|record|captures|frames_read_back_equal"
  "an early stop forgets the grain|crates/sim/src/run.rs|s/now.round_up(self.scenario.stop.grain)/now/|sim|exact|an_early_stop_is_a_multiple_of_the_grain_whatever_comes_before_it"
  "segments merge over a change of mark|crates/host/src/receive_ring.rs|s/held.ecn == packet.ecn \&\& //|host|--lib|a_change_of_mark_is_never_merged_over"
  "NV counts what the way back adds|crates/laws/src/flow/nv/slopes.rs|s/let back = rtt.saturating_sub(delay.forward);/let back = Span::ZERO;/|laws|--lib|a_queue_of_acks_is_none"
  "a merged unit tells of its first segment|crates/host/src/receive_ring.rs|s/(unit.arrived, unit.stamp) = (arrived, packet.stamp);//|host|--lib|a_unit_tells_of_its_last_segment"
  "an ACK speaks for any number of arrivals|crates/transport/src/receiver/compression.rs|s/self.held >= MOST/false/|transport|compression|a_long_path_waits_a_millisecond"
  "slow start has room in any kernel|crates/laws/src/linux_window.rs|s/!totals.only_full_grows \&\& //|transport|limits|a_window_that_the_receiver_limits"
  "FACK never looks at retransmissions again|crates/transport/src/sender/episode.rs|s/self.mark_overtaken(r, cfg);//|transport|recovery|without_rack_a_lost_retransmission"
  "the odd end of a super-packet waits|crates/transport/src/receiver.rs|s/packet.flags.has(Flags::PSH) \&\& /false \&\& /|transport|bursts|the_odd_end_of_a_super_packet"
  "the interrupt timer starts anew with each packet|crates/host/src/receive_ring.rs|s/if self.frames == 0 {/if true {/|host|--lib|frames_or_time_whichever_first"
  "every segment of a super-packet says CWR|crates/host/src/segmenter.rs|s/self.next.flags = self.next.flags.without(Flags::CWR);//|host|--lib|segments_tile_the_super_packet"
  "an autotuned window has no limit|crates/transport/src/receiver/autotune.rs|s/(2 \* read + 16 \* cfg.mss()).min(most)/(2 * read + 16 * cfg.mss()).max(most)/|transport|limits|an_autotuned_window"
  "a small rest never waits|crates/transport/src/sender/burst.rs|s/            || limit >= share/            || limit > 0/|transport|bursts|a_rest_waits_for_a_third_of_the_window"
  "a super-packet takes the whole window|crates/transport/src/sender/burst.rs|s/(self.cwnd \/ 2).max(mss)/self.cwnd.max(mss)/|transport|bursts|never_more_than_half_the_window"
  "a paced window is not stretched|crates/transport/src/sender/burst.rs|s/{ 20 } else { 12 }/{ 20 } else { 10 }/|transport|bursts|past_slow_start_the_window_is_stretched_by_a_fifth"
  "slots are blamed for a busy memory|crates/host/src/memory/path.rs|/fn limit/,/^    }/s/true => Limit::Memory/true => Limit::Slots/|host|--lib|the_stage_that_is_too_small_sets_the_pace"
  "a sample moves the path|crates/sim/src/host/memory.rs|/fn sample/,/^    }/s/if self.next_sample() <= now {/if self.next_sample() <= now { self.path.advance(now);/|sim|memory|looking_at_a_path_to_memory_changes_nothing"
  "the warm-up is measured too|crates/sim/src/host/memory.rs|s/memory.warm = memory.snapshot(memory.warmup, self.delivered_bytes);//|sim|memory|an_idle_host_is_measured_from_the_end_of_its_warm_up"
  "bins lose peaks|crates/record/src/report/host/bins.rs|s/f32::NEG_INFINITY, f32::max/f32::INFINITY, f32::min/|record|--lib|a_bin_keeps_least_mean_and_largest"
  "the wait for admission holds no slot|crates/host/src/memory/llc.rs|/fn slot_latency/,/^    }/s/self.memory + wait/self.memory/|host|--lib|a_backlog_drains_at_slots_by_latency"
  "lines enter before others leave|crates/host/src/memory/iio.rs|s/self.slots - (inside - out)/self.slots - inside/|host|--lib|a_backlog_drains_at_slots_by_latency"
  "a frame more than fits is taken|crates/host/src/memory/iio.rs|s/if self.buffered() + frame > self.buffer/if self.buffered() > self.buffer/|host|memory|nothing_is_lost_and_nothing_stands_still"
  "reads do not see writes wait|crates/host/src/memory/controller.rs|s/self.share \* self.wait/0.0 * self.wait/|host|--lib|a_backlog_drains_at_slots_by_latency"
  "a frame keeps its room until its last line|crates/host/src/memory/iio.rs|s/self.used - gone.min(frame)/self.used/|host|--lib|room_comes_back_line_by_line"
  "slots have no end|crates/host/src/memory/iio.rs|s/link.min(backlog).min(free)/link.min(backlog)/|host|memory|nothing_is_lost_and_nothing_stands_still"
  "lines of the NIC do not stand in line|crates/host/src/memory/controller.rs|s/self.share \* (self.inside + queue)/self.share * queue/|host|memory|memory_serves_its_capacity_and_no_more"
  "a port that tells is visited late|crates/net/src/port/scheduled.rs|s/eager: settings.explicit ||.*/eager: settings.explicit,/|net|ports|one_touch_equals_an_explicit_queue"
  "answers are told about ports|crates/net/src/port/telemetry.rs|s/packet.kind == Kind::Data \&\& //|net|telemetry|only_data_that_asks"
  "the queue told holds the packet that leaves|crates/net/src/port/telemetry.rs|s/self.time_on_wire(self.scheduled.bytes)/self.time_on_wire(self.scheduled.bytes + self.wire(packet))/|net|telemetry|a_word_tells_of_the_departure"
  "words go astray between threads|crates/engine/src/lanes.rs|s/(post.mail.len() - 1, /(post.mail.len(), /|engine|equal_digests|every_grouping_gives_the_reference_digest"
  "words of a chunk that was read to its end are lost|crates/engine/src/ring.rs|s/self.last = self.words_in(.*/self.last = Words::default();/|engine|equal_digests|every_grouping_gives_the_reference_digest"
  "an answer takes what another packet was told|crates/sim/src/host/told.rs|s/push_back(told.at_hand);/push_front(told.at_hand);/|sim|--lib|every_answer_takes_what_its_packet_was_told"
  "a time stamp that wraps turns back|crates/transport/src/telemetry.rs|s/(off << unused) as i64 >> unused/off as i64/|transport|--lib|telemetry::tests::totals"
  "a count that may have wrapped is believed|crates/transport/src/telemetry.rs|s/passed < Hop::SENT_UNIT \* SENT_WRAP/true/|transport|--lib|telemetry::tests::after_long_idleness"
  "more than fits is believed|crates/transport/src/telemetry.rs|s/Hop::SENT_UNIT \* units <= passed + passed \/ 2 + ROUNDING/true/|transport|--lib|telemetry::tests::more_than_fits"
  "neighbours of a sleeping path draw nothing|crates/host/src/memory/path.rs|/fn coast/,/^    }/s/draw(ns,/draw(0.0,/|host|memory|a_sleeping_path_accounts_its_neighbours_and_wakes"
  "a short segment that leaves does not count|crates/transport/src/prr.rs|s/self.out += len.div_ceil(mss)/self.out += len \/ mss/|transport|--lib|a_short_segment_is_one_when_it_leaves"
  "a receive window is taken for the network's|crates/transport/src/sender/wait.rs|s/            Wait::Receiver$/            Wait::Congestion/|sim|memory|senders_say_what_they_wait_for"
  "the warm-up is looked at too|crates/sim/src/host/sender_waits.rs|s/next: warmup, toward/next: Time::ZERO, toward/|sim|memory|senders_say_what_they_wait_for"
  "cores rest for a fiftieth of their work|crates/host/src/memory/readers.rs|s/self.busy += dt;/self.busy += dt * 0.98;/|host|memory|littles_law_holds_in_the_nic_buffer"
  "frames are older in the NIC buffer than they are|crates/host/src/memory/iio.rs|s/let landed = Landed { arrived: now, packet/let landed = Landed { arrived: Time::from_ps(now.as_ps() * 999 \/ 1000), packet/|host|memory|littles_law_holds_in_the_nic_buffer"
  "the last crumbs stay in their slots|crates/host/src/memory/iio.rs|s/if inside < UNIT \/ 64 {/if inside < 1 {/|host|memory|slots_clear_however_long"
)

survived=0
killed=0
for mutation in "${mutations[@]}"; do
  IFS='|' read -r what file rest <<<"$mutation"
  test=${rest##*|}; rest=${rest%|*}
  target=${rest##*|}; rest=${rest%|*}
  package=${rest##*|}; expression=${rest%|*}
  [[ $what =~ ${1:-} ]] || continue
  cp "$file" "$copy/original"
  sed -i "$expression" "$file"
  if cmp -s "$file" "$copy/original"; then
    echo "STALE     $what: nothing in $file matches any more"
    survived=$((survived + 1))
    continue
  fi
  [[ $target == --* ]] && which=("$target") || which=(--test "$target")
  output=$(timeout 250 cargo test --offline -q -p "forebay-$package" "${which[@]}" "$test" 2>&1)
  status=$?
  if [[ $output == *"could not compile"* ]]; then
    echo "BROKEN    $what: does not compile"
    grep -m3 -A6 '^error' <<<"$output"
    survived=$((survived + 1))
  elif ((status != 0)) && [[ $output == *"FAILED"* || $status == 124 ]]; then
    echo "killed    $what: $package $target $test"
    killed=$((killed + 1))
  else
    echo "SURVIVED  $what: $package $target $test is green"
    survived=$((survived + 1))
  fi
  cp "$copy/original" "$file"
  touch "$file"
done
echo "$killed killed, $survived not"
((survived == 0))
