//! Names of the parts of a completion time.

/// How a loss was found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Repair {
    /// By ACKs: fast retransmit, RACK.
    Fast,
    /// By a tail loss probe.
    Probe,
    /// By the retransmission timeout.
    Timeout,
    /// By a negative ACK, or a trimmed packet that came back.
    Nack,
    /// By a receiver that requests what is missing.
    Request,
}

/// What a stretch of a completion time went to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// Transmission of the flow's own packets: at its NIC, and at each hop of the packet that completed it.
    Serialization,
    /// Propagation and latency of the path of the packet that completed it.
    Propagation,
    /// The NIC sent other flows, or ACKs.
    Nic,
    /// Round trips that the congestion window made it wait for, without their queueing.
    Window,
    /// Round trips that the receive window made it wait for, likewise.
    ReceiveWindow,
    /// The gate of its pacing rate was shut.
    Pacing,
    /// The application had written nothing that was not sent.
    Application,
    /// Waiting for credit, grants or pulls, likewise.
    Credit,
    /// In the queue of a port.
    Queue,
    /// In the queue of a port whose class was paused.
    Pause,
    /// Waiting until a loss was found, and its repair was requested.
    Repair(Repair),
    /// In the receive ring of a host, for an interrupt.
    Ring,
    /// Between the cable and memory, where its stages are not known apart: NIC buffer, PCIe link, IIO slots.
    Memory,
    /// In the NIC buffer, behind others or as the IIO slots were full.
    NicBuffer,
    /// On the PCIe link.
    Pcie,
    /// In IIO slots.
    Iio,
    /// In memory, until a core had copied it to the application.
    Copy,
    /// An RPC waited for messages before it on its connection.
    Order,
    /// At the server of an RPC: reading the request, waiting for the requests before it, and work.
    Service,
    /// A rank computed: a delay of a step or of the start, or a gap between collectives.
    Compute,
    /// A rank waited to learn that the receiver has posted a buffer for its message.
    Posting,
    /// What the log does not tell.
    Unexplained,
}

/// Parts that belong together in a picture.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Family {
    /// Sending and propagation.
    Path,
    /// What held the sender.
    Sender,
    /// Queues.
    Queues,
    /// Pauses.
    Pauses,
    /// Loss repair.
    Repair,
    /// Hosts, between cable and application.
    Host,
}

impl Part {
    /// All of them, in the order of columns and bars.
    pub const ALL: [Self; 26] = [
        Self::Serialization,
        Self::Propagation,
        Self::Nic,
        Self::Window,
        Self::ReceiveWindow,
        Self::Pacing,
        Self::Application,
        Self::Credit,
        Self::Queue,
        Self::Pause,
        Self::Repair(Repair::Fast),
        Self::Repair(Repair::Probe),
        Self::Repair(Repair::Timeout),
        Self::Repair(Repair::Nack),
        Self::Repair(Repair::Request),
        Self::Ring,
        Self::Memory,
        Self::NicBuffer,
        Self::Pcie,
        Self::Iio,
        Self::Copy,
        Self::Order,
        Self::Service,
        Self::Compute,
        Self::Posting,
        Self::Unexplained,
    ];

    /// Place in [`Part::ALL`].
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|one| *one == self).unwrap_or(Self::ALL.len() - 1)
    }

    /// The part that a word in files names.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.key() == word)
    }

    /// Word in files.
    pub fn key(self) -> &'static str {
        match self {
            Self::Serialization => "serialization",
            Self::Propagation => "propagation",
            Self::Nic => "nic_others",
            Self::Window => "congestion_window",
            Self::ReceiveWindow => "receive_window",
            Self::Pacing => "pacing",
            Self::Application => "application",
            Self::Credit => "credit",
            Self::Queue => "queue",
            Self::Pause => "pause",
            Self::Repair(Repair::Fast) => "repair_fast",
            Self::Repair(Repair::Probe) => "repair_tlp",
            Self::Repair(Repair::Timeout) => "repair_rto",
            Self::Repair(Repair::Nack) => "repair_nack",
            Self::Repair(Repair::Request) => "repair_request",
            Self::Ring => "ring",
            Self::Memory => "memory",
            Self::NicBuffer => "nic_buffer",
            Self::Pcie => "pcie",
            Self::Iio => "iio",
            Self::Copy => "copy",
            Self::Order => "earlier_messages",
            Self::Service => "service",
            Self::Compute => "compute",
            Self::Posting => "posting",
            Self::Unexplained => "unexplained",
        }
    }

    /// Name in texts.
    pub fn words(self) -> &'static str {
        match self {
            Self::Serialization => "serialization",
            Self::Propagation => "propagation",
            Self::Nic => "NIC busy with other flows",
            Self::Window => "congestion window",
            Self::ReceiveWindow => "receive window",
            Self::Pacing => "pacing",
            Self::Application => "application",
            Self::Credit => "credits and grants",
            Self::Queue => "queueing",
            Self::Pause => "stopped by pause",
            Self::Repair(Repair::Fast) => "loss repair, fast retransmit",
            Self::Repair(Repair::Probe) => "loss repair, tail loss probe",
            Self::Repair(Repair::Timeout) => "loss repair, timeout",
            Self::Repair(Repair::Nack) => "loss repair, NACK",
            Self::Repair(Repair::Request) => "loss repair, request of the receiver",
            Self::Ring => "receive ring and interrupts",
            Self::Memory => "NIC buffer, PCIe and IIO",
            Self::NicBuffer => "NIC buffer",
            Self::Pcie => "PCIe",
            Self::Iio => "IIO slots",
            Self::Copy => "copy to the application",
            Self::Order => "earlier messages",
            Self::Service => "server",
            Self::Compute => "computation",
            Self::Posting => "notice of a posted buffer",
            Self::Unexplained => "unexplained",
        }
    }

    /// Where it belongs.
    pub fn family(self) -> Family {
        match self {
            Self::Serialization | Self::Propagation => Family::Path,
            Self::Nic
            | Self::Window
            | Self::ReceiveWindow
            | Self::Pacing
            | Self::Application
            | Self::Credit
            | Self::Posting
            | Self::Order => Family::Sender,
            Self::Queue => Family::Queues,
            Self::Pause => Family::Pauses,
            Self::Repair(_) | Self::Unexplained => Family::Repair,
            Self::Ring
            | Self::Memory
            | Self::NicBuffer
            | Self::Pcie
            | Self::Iio
            | Self::Copy
            | Self::Compute
            | Self::Service => Family::Host,
        }
    }
}
