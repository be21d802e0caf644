//! The simulated world: nodes, the fabric between them, and what changes in it during a run.
//!
//! The assembler makes a world, the engine runs it, and observers read it.

pub(crate) mod ideal;
mod inner_node;
mod machine;
pub(crate) mod machines;
mod node;
pub(crate) mod routes;
pub(crate) mod timeline;

pub(crate) use inner_node::InnerNode;
pub(crate) use node::AnyNode;

use crate::host::Common;
use crate::observe::tap::Taps;
use forebay_engine::Goal;
use forebay_net::Fabric;
use forebay_scenario::model;
use forebay_scenario::plan::Plan;
use forebay_units::Bytes;
use std::sync::Arc;
use timeline::Timeline;

/// A simulation before its first event.
pub(crate) struct World {
    pub nodes: Vec<AnyNode>,
    pub fabric: Fabric,
    pub places: Vec<u32>,
    pub plan: Plan,
    pub common: Arc<Common>,
    pub timeline: Timeline,
    pub taps: Taps,
    pub pauses: bool, // something may
    pub awaited: u64, // programs that a run waits for
    pub warnings: Vec<String>,
}

impl World {
    /// End of a run before its stated time. Every flow has ended at its sender, which knows that all of it arrived or has given it up.
    /// Applications have read what arrived whole, where they read. All connections are done, whose two streams are no flows of their own.
    /// None if a flow has no end, or if no output needs it.
    pub fn goal(&self, stop: model::Stop) -> Option<Goal> {
        let Common { flows, connections, first_stream, .. } = &*self.common;
        let endless = flows.iter().any(|f| f.size == Bytes::MAX);
        let done = u64::from(*first_stream) + connections.len() as u64 + self.awaited;
        (stop.flows && !endless).then_some(Goal { done, grain: stop.grain })
    }
}
