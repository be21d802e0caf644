//! The fabric of the paper, and each scheme on it.

/// Hosts, and hosts of a rack.
pub(super) const HOSTS: u32 = 160;
pub(super) const RACK: u32 = 16;

/// Payload and header of a full packet, and what the wire adds; bytes.
pub(super) const PAYLOAD: u64 = 1_460;
pub(super) const HEADER: u64 = 40;
pub(super) const OVERHEAD: u64 = 38;

/// Rate of every link, bit/s, and its delay, s.
pub(super) const LINE: f64 = 100e9;
pub(super) const DELAY: f64 = 1e-6;

/// Rate times the round trip of an empty path between racks, bytes.
pub(super) const PRODUCT: f64 = 107_500.0;

/// Credits of ExpressPass, and Aeolus: a queue of eight.
const CREDITS: &str =
    "credits = { class = 1, share = \"84/1622\", burst = \"168B\", limit = \"672B\" }\n";

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scheme {
    ExpressPass,
    Aeolus,
    Ndp,
    Homa,
    Dcqcn,
    Hpcc,
}

pub(super) const SCHEMES: [Scheme; 6] =
    [Scheme::Ndp, Scheme::Homa, Scheme::ExpressPass, Scheme::Aeolus, Scheme::Hpcc, Scheme::Dcqcn];

impl Scheme {
    /// As ids of rows have it.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::ExpressPass => "expresspass",
            Scheme::Aeolus => "aeolus",
            Scheme::Ndp => "ndp",
            Scheme::Homa => "homa",
            Scheme::Dcqcn => "dcqcn",
            Scheme::Hpcc => "hpcc",
        }
    }

    /// As pictures have it.
    pub fn title(self) -> &'static str {
        match self {
            Scheme::ExpressPass => "ExpressPass",
            Scheme::Aeolus => "Aeolus",
            Scheme::Ndp => "NDP",
            Scheme::Homa => "Homa",
            Scheme::Dcqcn => "DCQCN",
            Scheme::Hpcc => "HPCC",
        }
    }
}

/// A scenario in the making.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setup {
    pub scheme: Scheme,
    /// Core switches: 4, or 16 for a fabric that is not oversubscribed.
    pub cores: u32,
    /// MB that the ports of a switch share.
    pub buffer: u32,
    /// Of the dynamic threshold; `None`: each queue may take what is free.
    pub alpha: Option<f64>,
    /// Classes for data under Homa.
    pub levels: u8,
    /// `[[traffic]]`.
    pub traffic: String,
}

impl Setup {
    pub fn new(scheme: Scheme, traffic: String) -> Self {
        Self { scheme, cores: 4, buffer: 32, alpha: Some(1.0), levels: 8, traffic }
    }

    /// Scenario text, without version, seed and end.
    pub fn text(&self) -> String {
        let (cores, switch, hosts) = (self.cores, self.switch(), self.hosts());
        let routing = match self.scheme {
            Scheme::Ndp | Scheme::Homa => "spray",
            _ => "ecmp-symmetric",
        };
        format!(
            "[fabric]\nkind = \"leaf-spine\"\nleaves = 10\nspines = {cores}\nhosts_per_leaf = {RACK}\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nspine_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             wire_overhead = \"{OVERHEAD}B\"\nrouting = \"{routing}\"\n\
             [fabric.switch]\n{switch}\
             {hosts}mss = \"{PAYLOAD}B\"\nheader = \"{HEADER}B\"\nack_size = \"46B\"\n{}",
            self.traffic
        )
    }

    /// What switches do.
    fn switch(&self) -> String {
        let pool = |threshold: &str| {
            let policy = match self.alpha {
                Some(alpha) => format!("alpha = {alpha:?}{threshold}"),
                None => "policy = \"shared\"".into(),
            };
            format!("buffer = {{ size = \"{}MB\", {policy} }}\n", self.buffer)
        };
        match self.scheme {
            Scheme::Ndp => "buffer = \"none\"\nclasses = 2\nwrr = { high = 10, low = 1 }\necn = \"off\"\n\
                            limits = [ { class = 0, size = \"8 packets\", over = { trim_to = \"46B\", class = 1 } }, \
                            { class = 1, size = \"12304B\" } ]\nreturn_to_sender = true\n"
                .into(),
            Scheme::Homa => {
                format!("{}classes = 8\necn = \"off\"\n", pool(", threshold = \"queue\""))
            }
            Scheme::Dcqcn => format!(
                "{}classes = 2\npause = {{ classes = [0] }}\n\
                 ecn = {{ kmin = \"400KB\", kmax = \"1600KB\", pmax = 0.2, for_rate = \"100Gbps\", at = \"dequeue\" }}\n",
                pool("")
            ),
            Scheme::Hpcc => {
                format!("{}classes = 2\npause = {{ classes = [0] }}\necn = \"off\"\n", pool(""))
            }
            Scheme::ExpressPass => {
                format!("{}classes = 2\necn = \"off\"\n{CREDITS}", pool(", threshold = \"queue\""))
            }
            Scheme::Aeolus => format!(
                "{}classes = 2\necn = [{{ classes = [0], k = \"6KB\", not_ect = \"drop\", ect = \"pass\" }}]\n{CREDITS}",
                pool(", threshold = \"queue\"")
            ),
        }
    }

    /// What hosts do, up to the sizes of packets.
    fn hosts(&self) -> String {
        match self.scheme {
            Scheme::Ndp => "[transport]\nkind = \"receiver-driven\"\nlaw = \"ndp\"\nwindow = \"72 packets\"\nack_class = 1\n".into(),
            Scheme::Homa => format!(
                "[host]\nnic = \"srpt\"\n[transport]\nkind = \"receiver-driven\"\nlaw = \"homa\"\nwindow = \"107500B\"\n\
                 priorities = {}\nack_class = 7\n",
                self.levels
            ),
            Scheme::Dcqcn => "[transport]\nkind = \"rdma\"\nrecovery = \"go-back-n\"\nlaw = \"dcqcn\"\ncnp_class = 1\nack_class = 1\n\
                              params = { timers = \"vendor\" }\n"
                .into(),
            Scheme::Hpcc => "[transport]\nkind = \"rdma\"\nrecovery = \"go-back-n\"\nlaw = \"hpcc\"\nack_class = 1\n\
                             params = { eta = 0.95, max_stage = 5, w_ai = \"80B\" }\n"
                .into(),
            Scheme::ExpressPass => "[transport]\nkind = \"receiver-driven\"\nlaw = \"expresspass\"\n".into(),
            Scheme::Aeolus => "[transport]\nkind = \"receiver-driven\"\nlaw = \"expresspass\"\nselective_drop = true\n\
                               window = \"107500B\"\n"
                .into(),
        }
    }
}

/// Time that the packets of a flow take on the empty path at line rate, s.
pub(super) fn alone(src: u32, dst: u32, size: u64) -> f64 {
    let links = if src / RACK == dst / RACK { 2.0 } else { 4.0 };
    let tx = |payload: u64| (payload + HEADER + OVERHEAD) as f64 * 8.0 / LINE;
    let (full, last) = ((size - 1) / PAYLOAD, (size - 1) % PAYLOAD + 1);
    // Behind full packets a shorter last one waits at every link.
    let each = tx(if full > 0 { PAYLOAD } else { last });
    full as f64 * tx(PAYLOAD) + (links - 1.0) * each + tx(last) + links * DELAY
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four links of 1 us, and 123.04 ns for each packet of 1,538 B.
    #[test]
    fn a_packet_across_racks_takes_four_links() {
        assert!((alone(0, 16, PAYLOAD) - 4.49216e-6).abs() < 1e-12);
        assert!((alone(0, 16, 3 * PAYLOAD) - 4.73824e-6).abs() < 1e-12);
        assert!((alone(0, 1, PAYLOAD) - 2.24608e-6).abs() < 1e-12);
    }

    #[test]
    fn every_setting_is_a_scenario() {
        for scheme in SCHEMES {
            let traffic = "[[traffic]]\nkind = \"incast\"\nfan_in = 8\nsize = \"64KB\"\n";
            let text = Setup::new(scheme, traffic.into()).text();
            let text = format!("version = 1\nstop = {{ time = \"1ms\" }}\n{text}");
            forebay_scenario::text("x", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        }
    }
}
