//! Both sides over a channel that loses, repeats and reorders credit messages, while connections come and go.
//!
//! Data travels in order and is not lost, as on a reliable connection. Its consumption, credit messages and questions come when they like.

use forebay_credits::{HEAL, Limit, Message, Post, Receiver, Sender, law};
use forebay_laws::pool::PoolParams;
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Span, Time};
use std::collections::VecDeque;

/// Bytes of a line.
const LINE: u64 = 64;

/// What a run is like.
#[derive(Clone, Copy)]
struct Kind {
    steps: u64,
    limit: u64,     // lines
    largest: u64,   // lines of a request
    changes: bool,  // connections come and go, and the limit changes
    loosened: bool, // the law may add to a share
}

/// One connection of both sides.
struct Pair {
    here: u32,
    there: u32,
    sent: VecDeque<(u64, u64)>, // token and bytes, posted and not consumed
    posted: u64,                // requests, in order
    made: u64,
    unread: u64, // lines
    to_sender: Vec<Message>,
    to_receiver: Vec<Message>,
}

struct World {
    kind: Kind,
    random: Stream,
    now: Time,
    sender: Sender,
    receiver: Receiver,
    pairs: Vec<Pair>,
    largest_limit: u64,
}

fn limit(lines: u64) -> Limit {
    Limit::of_bytes(lines * LINE, LINE as u32).unwrap()
}

impl World {
    fn new(kind: Kind, seed: u64) -> Self {
        let mut of: PoolParams = law().unwrap();
        if !kind.loosened {
            of.set("most_above", "0").unwrap();
        }
        Self {
            kind,
            random: Stream::new(seed, 0, Purpose::Test),
            now: Time::ZERO,
            sender: Sender::new(&of, 8, 400),
            receiver: Receiver::new(limit(kind.limit), 8),
            pairs: Vec::new(),
            largest_limit: kind.limit,
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.word() % end
    }

    fn connect(&mut self) {
        let Some((there, hello)) = self.receiver.connect() else { return };
        let here =
            self.sender.connect(self.now, Some(&hello)).unwrap().expect("as many at both ends");
        let (to_sender, to_receiver) = (Vec::new(), Vec::new());
        self.pairs.push(Pair {
            here,
            there,
            sent: VecDeque::new(),
            posted: 0,
            made: 0,
            unread: 0,
            to_sender,
            to_receiver,
        });
    }

    fn disconnect(&mut self, at: usize) {
        let pair = self.pairs.swap_remove(at);
        let mut tokens = Vec::new();
        self.sender.disconnect(pair.here, |of| tokens.push(of.token));
        self.receiver.disconnect(pair.there);
        let waits: Vec<u64> = tokens.into_iter().filter(|token| *token >= pair.posted).collect();
        assert_eq!(
            waits,
            (pair.posted..pair.made).collect::<Vec<_>>(),
            "those that waited come back in order"
        );
    }

    fn went(&mut self, at: usize, token: u64, bytes: u64) {
        let pair = &mut self.pairs[at];
        assert_eq!(token, pair.posted, "requests go in the order in which they were made");
        pair.posted += 1;
        pair.unread += bytes.div_ceil(LINE);
        pair.sent.push_back((token, bytes));
    }

    fn step(&mut self, lossy: bool) {
        if self.pairs.is_empty() {
            return self.connect();
        }
        let at = self.below(self.pairs.len() as u64) as usize;
        match self.below(24) {
            0..6 => {
                let bytes = 1 + self.below(self.kind.largest * LINE);
                let pair = &mut self.pairs[at];
                let token = pair.made;
                let post = self.sender.post(self.now, pair.here, bytes, token);
                pair.made += u64::from(post != Post::Full);
                if post == Post::Go {
                    self.went(at, token, bytes);
                }
            }
            6..14 => self.consume(at),
            14 if lossy => self.damage(at),
            15 => {
                let span = Span::from_us(self.below(30));
                self.now += span;
            }
            16 if lossy => self.now += HEAL / 3,
            17 if self.kind.changes && self.below(50) == 0 => self.connect(),
            18 if self.kind.changes && self.below(50) == 0 => self.disconnect(at),
            19 if self.kind.changes && self.below(50) == 0 => {
                let lines = 1 + self.below(self.kind.limit);
                self.receiver.set_limit(limit(lines));
            }
            _ => self.carry(at),
        }
        self.poll();
    }

    fn consume(&mut self, at: usize) {
        let Some((_, bytes)) = self.pairs[at].sent.pop_front() else { return };
        self.pairs[at].unread -= bytes.div_ceil(LINE);
        let there = self.pairs[at].there;
        match self.below(8) {
            0 => {
                self.receiver.completed(self.now, there, bytes);
                if let Some(counter) = self.receiver.counter(self.now, there) {
                    self.sender.counter(self.now, self.pairs[at].here, counter).unwrap();
                }
            }
            _ if self.receiver.completed(self.now, there, bytes) => self.return_credits(there),
            _ => {}
        }
    }

    fn return_credits(&mut self, there: u32) {
        let message = self.receiver.credit_message(self.now, there);
        let pair = self.pairs.iter_mut().find(|pair| pair.there == there).expect("it is connected");
        pair.to_sender.push(message);
    }

    /// A message is lost or repeated.
    fn damage(&mut self, at: usize) {
        let which = self.below(2) == 0;
        let again = self.below(3) == 0;
        let word = self.random.word() as usize;
        let pair = &mut self.pairs[at];
        let messages = if which { &mut pair.to_sender } else { &mut pair.to_receiver };
        if messages.is_empty() {
            return;
        }
        let one = word % messages.len();
        if again && messages.len() < 20 {
            messages.push(messages[one]);
        } else {
            messages.swap_remove(one);
        }
    }

    /// A message arrives: any of those that are under way.
    fn carry(&mut self, at: usize) {
        let word = self.random.word() as usize;
        let now = self.now;
        let pair = &mut self.pairs[at];
        if !pair.to_sender.is_empty() {
            let message = pair.to_sender.swap_remove(word % pair.to_sender.len());
            self.sender.message(now, pair.here, &message).unwrap();
        }
        if !pair.to_receiver.is_empty() {
            let message = pair.to_receiver.swap_remove(word % pair.to_receiver.len());
            let there = pair.there;
            if self.receiver.message(now, there, &message).unwrap() {
                self.return_credits(there);
            }
        }
    }

    fn poll(&mut self) {
        while let Some(of) = self.sender.poll(self.now) {
            let at = self.pairs.iter().position(|pair| pair.here == of.connection).unwrap();
            self.went(at, of.token, of.bytes);
        }
        while let Some(there) = self.receiver.poll(self.now) {
            self.return_credits(there);
        }
        while let Some((here, message)) = self.sender.next_message(self.now) {
            let pair = self.pairs.iter_mut().find(|pair| pair.here == here).unwrap();
            pair.to_receiver.push(message);
        }
    }

    fn check(&mut self) {
        let mut unread = 0;
        for pair in &self.pairs {
            let account = self.sender.account(pair.here).unwrap();
            let totals = account.totals();
            let lines =
                |of: &VecDeque<(u64, u64)>| of.iter().map(|(_, b)| b.div_ceil(LINE)).sum::<u64>();
            assert!(totals.outstanding >= lines(&pair.sent), "a credit was created");
            assert_eq!(u64::from(totals.blocked), pair.made - pair.posted);
            unread += pair.unread;
        }
        // A request above a share goes alone, so it may exceed the share of its connection.
        let alone = if self.kind.largest > self.kind.limit / 8 { self.kind.largest * 8 } else { 0 };
        let most = self.largest_limit * if self.kind.loosened { 2 } else { 1 };
        // While connections come, one share more is promised than there is; those not told of less than an eighth keep that.
        let most = if self.kind.changes { most * 3 } else { most };
        assert!(unread <= most.max(alone), "{unread} lines are unread, and {most} may be");
    }

    /// Nothing is lost from now on. All that waits goes, all credits come back.
    fn settle(&mut self) {
        for _ in 0..20_000 {
            self.now += Span::from_us(500);
            for at in 0..self.pairs.len() {
                self.consume(at);
                self.carry(at);
            }
            self.poll();
            let done = |pair: &Pair| {
                let totals = self.sender.account(pair.here).unwrap().totals();
                totals.outstanding == 0 && pair.posted == pair.made && pair.sent.is_empty()
            };
            if self.pairs.iter().all(done) {
                assert_eq!(self.sender.requests(), 0);
                return;
            }
        }
        panic!("requests wait that nothing will release");
    }
}

fn run(kind: Kind, seed: u64, connections: usize) {
    let mut world = World::new(kind, seed);
    (0..connections).for_each(|_| world.connect());
    for step in 0..kind.steps {
        world.step(true);
        if step % 16 == 0 {
            world.check();
        }
        if step % 20_000 == 19_999 {
            world.settle();
            world.check();
        }
    }
    world.settle();
}

const SMALL: Kind =
    Kind { steps: 200_000, limit: 4_000, largest: 100, changes: false, loosened: false };

#[test]
fn nothing_is_lost_or_created_over_a_channel_that_loses_messages() {
    run(SMALL, 1, 4);
    run(SMALL, 2, 1);
}

#[test]
fn nothing_is_lost_or_created_while_connections_come_and_go_and_the_limit_changes() {
    run(Kind { changes: true, ..SMALL }, 3, 2);
}

#[test]
fn nothing_waits_for_ever_where_requests_exceed_the_whole_limit() {
    run(Kind { limit: 16, largest: 300, ..SMALL }, 4, 3);
    run(Kind { limit: 16, largest: 300, changes: true, ..SMALL }, 5, 3);
}

/// A request has up to 2^25 lines, so the counter wraps after some hundred of them.
#[test]
fn counters_wrap_without_a_trace() {
    let large = 1 << 25;
    run(
        Kind { steps: 100_000, limit: 1 << 27, largest: large, changes: false, loosened: false },
        6,
        4,
    );
}

#[test]
fn a_law_that_loosens_the_limit_at_most_doubles_what_is_unread() {
    run(Kind { steps: 100_000, loosened: true, ..SMALL }, 7, 4);
}

/// The last credit message is lost, and nothing else happens: the sender asks within two periods.
#[test]
fn a_lost_last_message_heals_by_the_timer() {
    let mut world = World::new(SMALL, 8);
    world.connect();
    let (here, there) = (world.pairs[0].here, world.pairs[0].there);
    assert_eq!(world.sender.post(world.now, here, 4_000 * LINE, 0), Post::Go);
    assert_eq!(world.sender.post(world.now, here, LINE, 1), Post::Wait);
    assert!(world.receiver.completed(world.now, there, 4_000 * LINE));
    let _lost = world.receiver.credit_message(world.now, there);
    let end = world.now + HEAL * 2;
    world.now = world.sender.due();
    assert!(world.now <= end, "it asks in time");
    let (_, ask) = world.sender.next_message(world.now).expect("a question");
    assert!(world.receiver.message(world.now, there, &ask).unwrap(), "an answer leaves");
    let message = world.receiver.credit_message(world.now, there);
    world.sender.message(world.now, here, &message).unwrap();
    assert_eq!(world.sender.poll(world.now).map(|of| of.token), Some(1));
}

/// A receiver that shrinks its limit keeps back credits until the sender knows, though no message reaches it.
#[test]
fn a_lower_limit_holds_before_the_sender_knows_of_it() {
    let mut world = World::new(SMALL, 9);
    world.connect();
    let (here, there) = (world.pairs[0].here, world.pairs[0].there);
    let mut token = 0;
    let mut unread = 0_u64;
    while world.sender.post(world.now, here, 100 * LINE, token) == Post::Go {
        token += 1;
        unread += 100;
    }
    assert_eq!(unread, 4_000);
    world.receiver.set_limit(limit(1_000));
    for _ in 0..200 {
        if unread > 0 {
            unread -= 100;
            world.receiver.completed(world.now, there, 100 * LINE);
        }
        // As if counters rode on data: they say nothing of the limit.
        let Message::Credit { returned, .. } = world.receiver.credit_message(world.now, there)
        else {
            panic!()
        };
        world.sender.counter(world.now, here, returned).unwrap();
        while let Some(of) = world.sender.poll(world.now) {
            unread += of.bytes / LINE;
            token += 1;
            world.sender.post(world.now, here, 100 * LINE, token);
        }
    }
    assert!((900..=1_000).contains(&unread), "{unread} lines are unread");
}
