//! Settings of receiver-driven transports.

use crate::{QueueLength, SettingsTable};
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of receiver-driven transports.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(default)]
pub struct ReceiverDrivenSettings {
    /// Payload of a round trip at line rate, in packets or in bytes, one packet to 4GiB. A message sends this much unscheduled, and its
    /// receiver keeps this much in flight. Default: what the fastest link of a host carries in the longest round trip of an empty path, in
    /// whole packets, rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<QueueLength>,
    /// Whether unscheduled packets are sent as not ECN-capable (Aeolus). Switches with ecn = { k = "6KB", not_ect = "drop", ect = "pass" } then drop
    /// only these packets. A probe follows the last unscheduled packet, and dropped data is sent again as granted data. With a law of role credit, a
    /// window of data leaves before the first credit. Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub selective_drop: bool,
    /// Time without an arrival after which a receiver requests the missing data of a message. It doubles each time. Default: by law, 1ms for ndp (its
    /// RTO), 2ms for homa.
    pub resend_after: Span,
    /// Retries in a row without an answer after which a message is given up. A retry is a request of the receiver, or a packet that the sender repeats. 0: never, as
    /// with messages of RPCs. Default: by law, 0 for ndp, 5 for homa.
    pub max_retries: u8,
    /// Number of traffic classes of data, from `class` up. The law chooses among the lower ones for granted data. The size of the message
    /// chooses among the higher ones for unscheduled data. With 1, all data has `class`. Default: by law, 1 for ndp, 8 for homa.
    #[schemars(range(min = 1, max = 8))]
    pub priorities: u8,
    /// Number of these classes for unscheduled data. Default: by the share of unscheduled bytes in the run, at least 1 and at most priorities
    /// - 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 7))]
    pub unscheduled_priorities: Option<u8>,
    /// Largest message of each unscheduled class, the highest class first, ascending. Leave out the lowest class, which takes all larger
    /// messages. Default: equal numbers of unscheduled bytes in each class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cutoffs: Vec<Bytes>,
}

impl Default for ReceiverDrivenSettings {
    fn default() -> Self {
        Self {
            window: None,
            selective_drop: false,
            resend_after: Span::from_ms(1),
            max_retries: 0,
            priorities: 1,
            unscheduled_priorities: None,
            cutoffs: Vec::new(),
        }
    }
}

/// Defaults that a law of receiving hosts brings.
#[derive(Clone, Copy, Debug)]
pub struct LawDefaults {
    /// Default of resend_after.
    pub resend_after: Span,
    /// Default of max_retries.
    pub max_retries: u8,
    /// Default of priorities.
    pub priorities: u8,
}

impl ReceiverDrivenSettings {
    /// Payload of a full packet of 1500 B.
    pub const MSS: Bytes = Bytes::new(1436);
    /// Header bytes of a packet in htsim.
    pub const HEADER: Bytes = Bytes::new(64);

    /// Fills in what depends on the law of receiving hosts, and says what is wrong. `law`: `None` if it is unknown.
    pub fn check(&mut self, table: &mut impl SettingsTable, mss: Bytes, law: Option<LawDefaults>) {
        if let Some(window) = self.window {
            table.window("window", window, mss);
        }
        if let Some(law) = law {
            table.usual("resend_after", &mut self.resend_after, law.resend_after);
            table.usual("max_retries", &mut self.max_retries, law.max_retries);
            table.usual("priorities", &mut self.priorities, law.priorities);
        }
        table.span("resend_after", self.resend_after);
        self.check_priorities(table);
    }

    /// Some priorities are left for granted data, and the cutoffs fit the unscheduled priorities.
    fn check_priorities(&self, table: &mut impl SettingsTable) {
        let most = self.priorities.saturating_sub(1);
        match self.unscheduled_priorities {
            Some(n) if n > most => {
                let text = format!(
                    "{n} of {} priorities leave none for granted data; write at most {most}, or more priorities",
                    self.priorities
                );
                table.say("unscheduled_priorities", text);
            }
            None if !self.cutoffs.is_empty() => {
                let needed = self.cutoffs.len() + 1;
                let key = table.path("unscheduled_priorities");
                let text = format!(
                    "stands without unscheduled_priorities; write {key} = {needed} as well"
                );
                table.say("cutoffs", text);
            }
            Some(n) if !self.cutoffs.is_empty() && self.cutoffs.len() + 1 != usize::from(n) => {
                let text = format!(
                    "is a list of length {}; write {} sizes, one fewer than unscheduled_priorities",
                    self.cutoffs.len(),
                    n - 1
                );
                table.say("cutoffs", text);
            }
            _ if !self.cutoffs.is_sorted_by(|a, b| a < b) => {
                table.say("cutoffs", "does not ascend; write the smallest size first");
            }
            _ => {}
        }
    }
}
