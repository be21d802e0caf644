//! The choice among equal-cost ports that the public HPCC simulator makes: murmur3-32 of addresses and ports, with the
//! number of the switch as its seed.
//!
//! Source: `switch-node.cc`, `GetOutDev` and `EcmpHash`. What is hashed are three little-endian words: source address,
//! destination address, and `sport | dport << 16`; there is no protocol number, and an ACK has both pairs the other way round.
//! Next hops stand in the order in which a breadth-first search from the destination meets them.
//!
//! Deviation: that search goes through neighbours by number here, up or down, and by the address of their objects in memory
//! there. A switch's object has 2 MB (`SwitchNode::m_bytes`), so each is a memory mapping of its own, and Linux places mappings
//! downwards: there the order is descending, unless an allocator says otherwise.

use super::{Path, Routes};
use crate::fabric::Fabric;
use forebay_engine::NodeId;
use forebay_settings::NextHops;
use std::collections::{BTreeMap, VecDeque};

/// What is hashed of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// IPv4 addresses of the two.
    pub addresses: [u32; 2],
    /// Source and destination port.
    pub ports: [u16; 2],
}

/// The numbers of all nodes, and in which order a search visits neighbours.
#[derive(Clone, Debug)]
pub struct Numbering {
    /// Number of each node.
    pub numbers: Vec<u32>,
    /// Order in which adjacent nodes are visited.
    pub next_hops: NextHops,
}

/// The paths of these flows, data and answers. Flows that cannot reach their receiver have none.
pub fn murmur3_paths(
    fabric: &Fabric,
    routes: &[Routes],
    numbering: &Numbering,
    flows: &[Tuple],
) -> Vec<Path> {
    let numbers = &numbering.numbers;
    let mut ranks: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
    let mut paths = Vec::with_capacity(2 * flows.len());
    for (flow, tuple) in (0u32..).zip(flows) {
        let Tuple { src, dst, addresses: [from, to], ports: [sport, dport] } = *tuple;
        let data = [from, to, u32::from(sport) | u32::from(dport) << 16];
        let answer = [to, from, u32::from(dport) | u32::from(sport) << 16];
        for (reverse, src, dst, words) in [(false, src, dst, data), (true, dst, src, answer)] {
            let tor = fabric.addr(dst).tor;
            let ranks = ranks.entry(tor).or_insert_with(|| ranks_from(fabric, tor, numbering));
            if let Some(ports) = walk(fabric, routes, numbers, ranks, (src, dst), words) {
                paths.push(Path { flow, reverse, ports });
            }
        }
    }
    paths
}

fn walk(
    fabric: &Fabric,
    routes: &[Routes],
    numbers: &[u32],
    ranks: &[u32],
    (src, dst): (u32, u32),
    words: [u32; 3],
) -> Option<Vec<(u32, u16)>> {
    let to = fabric.addr(dst);
    let mut at = fabric.ports_of(NodeId(src))[0].peer;
    let mut hops = Vec::new();
    while !fabric.is_host(at) {
        let switch = at.0 - fabric.hosts();
        let routes = &routes[switch as usize];
        let port = if routes.tor() == Some(to.tor) {
            to.port
        } else {
            let rank = |port: &u16| ranks[fabric.ports_of(at)[usize::from(*port)].peer.0 as usize];
            let mut choices = routes.choices(to.tor);
            choices.sort_by_key(rank);
            let chosen = hash(words, numbers[at.0 as usize]).checked_rem(choices.len() as u32)?;
            choices[chosen as usize]
        };
        hops.push((switch, port));
        at = fabric.ports_of(at)[usize::from(port)].peer;
    }
    Some(hops)
}

/// When a breadth-first search from a rack's switch meets each node, neighbours by number; the last of all: never.
fn ranks_from(fabric: &Fabric, tor: u16, numbering: &Numbering) -> Vec<u32> {
    let mut ranks = vec![u32::MAX; fabric.nodes() as usize];
    let home = fabric.tors()[usize::from(tor)];
    let mut frontier = VecDeque::from([home]);
    ranks[home.0 as usize] = 0;
    let mut met = 1;
    while let Some(at) = frontier.pop_front() {
        let mut peers: Vec<NodeId> = fabric.ports_of(at).iter().map(|d| d.peer).collect();
        peers.sort_by_key(|peer| numbering.numbers[peer.0 as usize]);
        if numbering.next_hops == NextHops::Descending {
            peers.reverse();
        }
        for peer in peers {
            if !fabric.is_host(peer) && ranks[peer.0 as usize] == u32::MAX {
                ranks[peer.0 as usize] = met;
                met += 1;
                frontier.push_back(peer);
            }
        }
    }
    ranks
}

/// murmur3-32 (x86) of three words.
///
/// Source: A. Appleby, MurmurHash3 (public domain).
fn hash(words: [u32; 3], seed: u32) -> u32 {
    let mut h = seed;
    for word in words {
        let k = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        h = (h ^ k).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    h ^= 12; // bytes hashed
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

#[cfg(test)]
mod tests {
    use super::hash;

    /// Published test values of MurmurHash3_x86_32 are of bytes: "Hello, world" with a seed, and twelve zero bytes.
    #[test]
    fn the_hash_is_murmur3() {
        let word = |text: &[u8]| u32::from_le_bytes(text.try_into().unwrap());
        let hello = [word(b"Hell"), word(b"o, w"), word(b"orld")];
        assert_eq!(reference(b"Hello, world", 1234), hash(hello, 1234));
        assert_eq!(reference(&[0; 12], 0), hash([0; 3], 0));
        assert_eq!(reference(b"Hello, world!", 1234), 0xfaf6_cdb3);
        assert_eq!(reference(b"", 1), 0x514e_28b7);
    }

    /// MurmurHash3 from its description, byte by byte, tail included.
    fn reference(key: &[u8], seed: u32) -> u32 {
        let mut h = seed;
        let mix = |k: u32| {
            let k = k.wrapping_mul(0xcc9e_2d51);
            k.rotate_left(15).wrapping_mul(0x1b87_3593)
        };
        let mut blocks = key.chunks_exact(4);
        for block in &mut blocks {
            h ^= mix(u32::from_le_bytes(block.try_into().unwrap()));
            h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
        }
        let tail = blocks.remainder().iter().rev().fold(0u32, |k, byte| k << 8 | u32::from(*byte));
        if !blocks.remainder().is_empty() {
            h ^= mix(tail);
        }
        h ^= key.len() as u32;
        h ^= h >> 16;
        h = h.wrapping_mul(0x85eb_ca6b);
        h ^= h >> 13;
        h = h.wrapping_mul(0xc2b2_ae35);
        h ^ h >> 16
    }
}
