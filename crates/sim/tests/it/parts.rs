//! Tests of parts, which are next to their code (`forebay_sim::parts`).

/// A test for each function of a part.
macro_rules! tests_of {
    ($($part:ident: $($test:ident),+;)*) => {
        $(mod $part {
            $(#[test]
            fn $test() {
                forebay_sim::parts::$part::$test();
            })+
        })*
    };
}

tests_of! {
    class_queues: the_highest_class_goes_first_and_within_one_all_take_turns, a_paused_class_holds_up_no_other_and_comes_back_in_order, with_one_queue_too_what_is_paused_comes_back_in_order, a_queue_for_each_class_of_data;
    flow_map: it_finds_what_was_set_and_nothing_else;
    law: what_no_law_takes_is_said_with_its_name;
    memory_rows: a_record_names_limits_as_the_path_does, a_record_names_waits_as_the_transport_does;
    messages: classes_share_the_bytes_that_leave_unasked;
    pulled: a_host_pulls_from_all_its_flows_in_turn, a_nic_goes_by_the_class_of_each_packet, a_flow_moves_to_the_queue_of_its_next_packet;
    push: the_queue_is_bounded_and_flows_share_its_room;
    telemetry: a_record_is_freed_whether_there_is_a_room_or_not;
    timer_dedup: later_entries_are_remembered_behind_earlier_ones, what_was_forgotten_means_nothing;
}
