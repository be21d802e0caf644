//! `forebay-agent lockstep`: the control loop of `run` over the host of a simulation, which serves counters and takes levels over the
//! socket that is this program's standard input. `forebay run --agent` starts it.
//!
//! Time is the simulation's. A round comes when the law's driver has something due, with the pace that the simulation has, so that rows and
//! digest are those of the law within the simulation.

use super::control::{Controller, Terms};
use super::levels::{Levels, Throttle};
use crate::failure::Failure;
use crate::sense::inputs::{CounterSource, Value};
use forebay_laws::host::{Counter, Reading, Side};
use forebay_laws::host_driver::lockstep::{self, FromAgent, State, ToAgent, message, parse};
use forebay_record::messages::Messages;
use forebay_units::{Span, Time};
use std::cell::RefCell;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

/// What the line cannot carry ends the program: the simulation has gone, or is another version.
type Broken = Option<String>;

/// The line, as the parts of the loop share it.
#[derive(Debug)]
struct Line {
    to: Messages<UnixStream>,
    now: Duration,
    came: Option<(Counter, Reading)>, // with the turn
    broken: Broken,
}

impl Line {
    /// Asks the simulation.
    fn ask(&mut self, what: &FromAgent) -> Option<ToAgent> {
        if self.broken.is_some() {
            return None;
        }
        let sent = self.to.send(&message(what));
        let came = sent.and_then(|()| self.to.receive());
        let answer = came.map_err(|error| error.to_string()).and_then(|bytes| parse(&bytes));
        answer.map_err(|why| self.broken = Some(why)).ok()
    }
}

/// Counters and throttle of a simulated host.
#[derive(Debug)]
struct Host(Rc<RefCell<Line>>);

impl CounterSource for Host {
    fn read(&mut self, _: usize, side: Side, counter: Counter) -> Option<Value> {
        let mut line = self.0.borrow_mut();
        let reading = match line.came.take().filter(|(of, _)| *of == counter) {
            Some((_, reading)) => Some(reading),
            None => match line.ask(&FromAgent::Read(side, counter))? {
                ToAgent::Reading(reading) => reading,
                other => {
                    line.broken = Some(format!("the simulation says {other:?} to a reading"));
                    None
                }
            },
        };
        reading.map(|of| (since_zero(of.at), of.raw))
    }
}

impl Throttle for Host {
    fn set(&mut self, levels: Levels) -> bool {
        let mut line = self.0.borrow_mut();
        match line.ask(&FromAgent::Level(levels.of(None))) {
            Some(ToAgent::Written(written)) => {
                written.in_force && since_zero(written.at) == line.now
            }
            _ => false,
        }
    }

    fn stands(&mut self) -> bool {
        true
    }
}

/// `forebay-agent lockstep`.
pub fn lockstep() -> Result<(), Failure> {
    let why = "standard input is not the socket of a simulation; forebay run --agent starts this";
    let own = std::io::stdin().as_fd().try_clone_to_owned();
    let socket = own.map_err(|error| Failure::io("use standard input", &error))?;
    let socket = UnixStream::from(socket);
    socket.peer_addr().map_err(|_| Failure::Input(why.into()))?;
    let (to, now) = (Messages::new(socket), Duration::ZERO);
    let line = Rc::new(RefCell::new(Line { to, now, came: None, broken: None }));
    let mut laws = Vec::new();
    loop {
        let came = line.borrow_mut().to.receive();
        let Ok(bytes) = came else { return Ok(()) }; // the simulation has ended
        let answer = match parse(&bytes) {
            Ok(ToAgent::Start(terms)) => match start(&line, &terms) {
                Ok(law) => {
                    laws.push(law);
                    FromAgent::Started(laws.len() as u32 - 1, state(&laws[laws.len() - 1]))
                }
                Err(why) => FromAgent::Refused(why),
            },
            Ok(ToAgent::Run { law, now, reading }) => match laws.get_mut(law as usize) {
                Some(law) => {
                    let now = since_zero(now);
                    (line.borrow_mut().now, line.borrow_mut().came) = (now, reading);
                    law.round(now);
                    FromAgent::Done(state(law))
                }
                None => FromAgent::Refused(format!("there is no law {law}")),
            },
            Ok(other) => FromAgent::Refused(format!("{other:?} without having been asked")),
            Err(why) => FromAgent::Refused(why),
        };
        let mut line = line.borrow_mut();
        if let Some(why) = line.broken.take() {
            return Err(Failure::Run(format!("lockstep: {why}")));
        }
        if line.to.send(&message(&answer)).is_err() {
            return Ok(());
        }
    }
}

/// A loop with one law.
fn start(
    line: &Rc<RefCell<Line>>,
    terms: &lockstep::Terms,
) -> Result<Controller<Host, Host>, String> {
    let whole = |of: Span, ns| of.as_ps().is_multiple_of(Span::from_ns(ns).as_ps());
    if !whole(terms.pace.read, 2) || !whole(terms.pace.write, 1) {
        return Err(format!(
            "an agent's clock has nanoseconds: control.read ({}) has to be a multiple of 2 ns, and throttle.write ({}) of 1 ns",
            terms.pace.read, terms.pace.write
        ));
    }
    let law = terms.params()?;
    let of = Terms { at: terms.at, pace: terms.pace, signals: law.needs() };
    let parts = (Host(Rc::clone(line)), Host(Rc::clone(line)));
    Ok(Controller::new(since_zero(terms.now), 1, (vec![law], Vec::new()), of, parts))
}

fn state(of: &Controller<Host, Host>) -> State {
    of.drivers()[0].state()
}

fn since_zero(time: Time) -> Duration {
    Duration::from_nanos(time.as_ps() / 1000)
}
