//! Traffic of kind `rpc`: counts, sizes, and who talks to whom.

use super::Judge;
use super::traffic::{HostIndex, MOST_FLOWS};
use crate::cdf::Cdf;
use crate::model::{Pairs, Rpc, Wait};
use crate::problem::grouped;
use crate::raw;
use forebay_units::{Bytes, Span};

/// Payload of a response where none is given. Our choice: a short acknowledgement by the application.
const RESPONSE: Bytes = Bytes::new(64);
/// More RPCs than this under way on one connection are taken for a mistake.
const MOST_OUTSTANDING: i64 = 1 << 20;

impl Judge<'_> {
    pub(super) fn rpc(&mut self, path: &str, rpc: &raw::Rpc, hosts: &HostIndex<'_>) -> Option<Rpc> {
        let key = |name: &str| format!("{path}.{name}");
        let from = self.hosts(&key("from"), &rpc.from, hosts);
        let to = self.hosts(&key("to"), &rpc.to, hosts);
        let pairs = rpc.pairs.unwrap_or(Pairs::Matched);
        self.partners(path, &from, &to, pairs);
        let mut count = |name: &str, value: Option<i64>, most: i64| {
            let value = value.unwrap_or(1);
            if value < 1 {
                self.wrong(&key(name), "sends nothing; write 1 or more");
            } else if value > most {
                self.wrong(
                    &key(name),
                    format!("is too many; write at most {}", grouped(most as u128)),
                );
            }
            value.clamp(1, most)
        };
        let connections = count("connections", rpc.connections, MOST_FLOWS as i64) as u32;
        let outstanding = count("outstanding", rpc.outstanding, MOST_OUTSTANDING) as u32;
        let rpcs = rpc.count.map(|n| count("count", Some(n), MOST_FLOWS as i64) as u64);
        let (request, response) = (self.request(path, rpc), self.response(path, rpc));
        let think = self.wait(&key("think"), rpc.think.as_ref());
        let service = self.wait(&key("service"), rpc.service.as_ref());
        if matches!(response, Some(None)) && service != Wait::Fixed(Span::ZERO) {
            self.say(
                &key("service"),
                "precedes a response, and a one-way RPC has none; leave it out",
            );
        }
        let (request, response) = (request?, response?);
        let made = Rpc {
            from,
            to,
            pairs,
            connections,
            outstanding,
            request,
            response,
            think,
            service,
            count: rpcs,
        };
        let all = crate::workload::pairs(&made).saturating_mul(connections.into());
        if let Some(each) = rpcs
            && all.saturating_mul(each.into()) > MOST_FLOWS
        {
            self.wrong(
                &key("count"),
                format!(
                    "over {} connections is more than {} RPCs, and each leaves a row; write fewer",
                    grouped(all),
                    grouped(MOST_FLOWS)
                ),
            );
        }
        Some(made)
    }

    fn partners(&mut self, path: &str, from: &[String], to: &[String], pairs: Pairs) {
        let (path, n) = (format!("{path}.to"), from.len().max(to.len()));
        if from.is_empty() || to.is_empty() {
            return;
        }
        match pairs {
            Pairs::All if from.iter().all(|a| to.iter().all(|b| a == b)) => {
                self.say(&path, "names no host but the client itself; write another");
            }
            Pairs::Matched if from.len() != to.len() && from.len() > 1 && to.len() > 1 => {
                let text = format!(
                    "names {} servers for the {} clients of from; write as many, or one for all, or pairs = \"all\"",
                    to.len(),
                    from.len()
                );
                self.say(&path, text);
            }
            Pairs::Matched => {
                let one = |of: &[String], i: usize| of[if of.len() == 1 { 0 } else { i }].clone();
                if let Some(i) = (0..n).find(|i| one(from, *i) == one(to, *i)) {
                    let name = one(from, i);
                    self.say(
                        &path,
                        format!("makes {name:?} the server of itself; write another host"),
                    );
                }
            }
            Pairs::All => {}
        }
    }

    fn request(&mut self, path: &str, rpc: &raw::Rpc) -> Option<Cdf> {
        let key = format!("{path}.request");
        if is_nothing(&rpc.request) {
            self.wrong(&key, "tells the server nothing; write 1B or more, for instance \"64B\"");
            return None;
        }
        self.sizes(&key, &rpc.request)
    }

    /// `Some(None)`: one-way.
    fn response(&mut self, path: &str, rpc: &raw::Rpc) -> Option<Option<Cdf>> {
        match &rpc.response {
            None => Some(Some(Cdf::fixed(RESPONSE))),
            Some(sizes) if is_nothing(sizes) => Some(None),
            Some(sizes) => self.sizes(&format!("{path}.response"), sizes).map(Some),
        }
    }

    fn wait(&mut self, path: &str, wait: Option<&raw::Wait>) -> Wait {
        match wait {
            None => Wait::Fixed(Span::ZERO),
            Some(raw::Wait::Fixed(span)) => {
                self.short(path, span.0);
                Wait::Fixed(span.0)
            }
            Some(raw::Wait::Random(random)) => {
                self.span(&format!("{path}.exponential"), random.exponential.0);
                Wait::Exponential(random.exponential.0)
            }
        }
    }
}

fn is_nothing(sizes: &raw::Sizes) -> bool {
    matches!(sizes, raw::Sizes::Name(name) if name.parse() == Ok(Bytes::ZERO))
}
