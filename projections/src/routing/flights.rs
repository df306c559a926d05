//! Turns in flight: what they ask for, what is dispatched for them and set aside, and how each attempt ends.

use std::collections::BTreeMap;

use events::cost::Cost;
use events::event::Body;
use events::ids::{Millis, Subject};
use events::money::Pico;
use events::payload::{
    Amend, Ask, Charge, ChargeBasis, Dispatch, DispatchResult, Features, ReserveBasis, TierReason,
    Turn, TurnKind, TurnTier,
};
use serde::{Deserialize, Serialize};

use super::spend::{Account, UNNAMED, rebooked};
use crate::projection::Context;
use crate::table::Table;

/// Turns whose result has not been told yet that are remembered.
const TOLD_MAX: usize = 8_192;

/// Turns in flight that are remembered. An owner serves far fewer at once; what it has no room for it does not dispatch.
const LIVE_MAX: usize = 8_192;
/// Attempts of a turn that are counted: no turn has that many engines.
const ATTEMPTS_MAX: usize = 64;

/// What a lane is known by: its conversation and its sub-agent.
pub type LaneKey = (Subject, Option<Subject>);

/// Where and when a turn arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// When it arrived.
    pub at: Millis,
    /// Its lane.
    pub lane: LaneKey,
    /// What sent it.
    pub client: String,
    /// Longest prefix of its prompt that was sent before, if known.
    pub prefix_tokens: Option<u32>,
}

impl Arrival {
    fn of(turn: &Turn<'_>, at: Millis) -> Self {
        Self {
            at,
            lane: (turn.conversation, turn.subagent),
            client: turn.client.as_str().to_owned(),
            prefix_tokens: turn.prefix_tokens,
        }
    }
}

/// What a turn in flight asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The policy's profile.
    pub profile: String,
    /// The harness.
    pub harness: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// Its kind, where the client states it.
    pub kind: Option<TurnKind>,
    /// What it is like.
    pub features: Features,
    /// No tokenizer makes more of its prompt.
    pub prompt_tokens_max: u32,
    /// The longest answer the client takes, in tokens.
    pub max_output: Option<u32>,
}

impl Asked {
    fn of(ask: &Ask<'_>) -> Self {
        Self {
            profile: ask.profile.as_str().to_owned(),
            harness: ask.harness.map(|name| name.as_str().to_owned()),
            project: ask.project.map(|name| name.as_str().to_owned()),
            kind: ask.kind,
            features: ask.features,
            prompt_tokens_max: ask.prompt_tokens_max,
            max_output: ask.max_output,
        }
    }
}

/// A dispatch that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// Attempts before it.
    pub attempt: u16,
    /// The engine.
    pub engine: String,
    /// What the turn was taken for.
    pub kind: TurnKind,
    /// The tier it is served at.
    pub tier: TurnTier,
    /// The tier it asked for, where it has to ask again to be served at it.
    pub deferred: Option<TurnTier>,
    /// When the owner took it in: what budgets book it on.
    pub dispatched: Millis,
    /// Why so much is set aside.
    pub basis: ReserveBasis,
    /// What is set aside; `None` where nobody knows.
    pub reserved: Option<Pico>,
    /// What it is expected to cost.
    pub expected: Cost,
    /// True once its engine has failed it: whatever it used, it was not served.
    pub has_failed: bool,
}

impl Open {
    fn of(dispatch: &Dispatch<'_>, dispatched: Millis) -> Self {
        Self {
            attempt: dispatch.attempt,
            engine: dispatch.engine.as_str().to_owned(),
            kind: dispatch.class.kind,
            tier: dispatch.tier,
            deferred: dispatch
                .moved
                .contains(&TierReason::UpgradeDeferred)
                .then_some(dispatch.class.kind.tier),
            dispatched,
            basis: dispatch.reserved.basis,
            reserved: dispatch.reserved.amount,
            expected: dispatch.forecast.expected,
            has_failed: false,
        }
    }

    /// What is at stake with it.
    #[must_use]
    pub fn stake(&self) -> Stake<'_> {
        let Self { engine, dispatched, basis, reserved, .. } = self;
        Stake { engine, dispatched: *dispatched, basis: *basis, reserved: *reserved }
    }

    /// What it is charged with when nobody knows what it cost.
    #[must_use]
    pub fn estimated(&self) -> Charge {
        self.stake().estimated()
    }
}

/// Money set aside for an attempt, and where it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stake<'o> {
    /// The engine.
    pub engine: &'o str,
    /// When the owner took the dispatch in: whose prices count.
    pub dispatched: Millis,
    /// Why so much is set aside.
    pub basis: ReserveBasis,
    /// What is set aside; `None` where nobody knows.
    pub reserved: Option<Pico>,
}

impl Stake<'_> {
    /// What it is charged with when nobody knows what it cost: at most what was set aside, and so much is taken.
    #[must_use]
    pub fn estimated(&self) -> Charge {
        if self.basis == ReserveBasis::Local {
            return Charge { basis: ChargeBasis::Priced, cost: Cost::ZERO };
        }
        let cost = self.reserved.map_or(Cost::UNKNOWN, Cost::exactly);
        Charge { basis: ChargeBasis::Estimated, cost }
    }
}

/// A turn that is decided here, until its client has its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flight {
    /// Where and when it arrived.
    pub arrival: Arrival,
    /// What it asks for.
    pub asked: Asked,
    /// Its client's account, and its project's, as they were told apart when it arrived.
    pub accounts: [Account; 2],
    /// Its dispatches that have not ended.
    pub open: Vec<Open>,
    /// The engines it was handed to, in order.
    pub tried: Vec<String>,
    /// What its ended attempts were charged with.
    pub spent: Cost,
}

impl Flight {
    const fn new(arrival: Arrival, asked: Asked, accounts: [Account; 2]) -> Self {
        Self { arrival, asked, accounts, open: Vec::new(), tried: Vec::new(), spent: Cost::ZERO }
    }

    /// The flight of a turn that may arrive: nothing was dispatched for it. `None` for one that asks for nothing.
    #[must_use]
    pub fn supposed(turn: &Turn<'_>, at: Millis) -> Option<Self> {
        let asked = Asked::of(turn.ask.as_ref()?);
        let named = |name: &Option<String>| name.clone().unwrap_or_else(|| UNNAMED.to_owned());
        let accounts =
            [Account::Client(named(&asked.harness)), Account::Project(named(&asked.project))];
        Some(Self::new(Arrival::of(turn, at), asked, accounts))
    }

    /// Attempts made.
    #[must_use]
    pub fn attempts(&self) -> u16 {
        u16::try_from(self.tried.len()).unwrap_or(u16::MAX)
    }

    /// The dispatch of an attempt, while it has not ended.
    #[must_use]
    pub fn open(&self, attempt: u16) -> Option<&Open> {
        self.open.iter().find(|open| open.attempt == attempt)
    }

    /// True when an engine was handed the turn before: it is not asked again.
    #[must_use]
    pub fn has_tried(&self, engine: &str) -> bool {
        self.tried.iter().any(|tried| tried == engine)
    }
}

/// An attempt that has ended, and what is known of it.
pub struct Ended<'e> {
    /// Its turn's arrival.
    pub arrival: &'e Arrival,
    /// What its turn asked for; `None` for a turn that is only told of.
    pub asked: Option<&'e Asked>,
    /// Its turn's accounts.
    pub accounts: Option<&'e [Account; 2]>,
    /// Its dispatch; `None` for a turn that is only told of.
    pub open: Option<Open>,
    /// Its result; `None` where its turn ended without.
    pub result: Option<&'e DispatchResult<'e>>,
    /// What it is charged with; `None` where nobody here charged anything.
    pub charge: Option<Charge>,
}

/// Is shown each attempt that ends.
pub type EachEnd<'o> = dyn FnMut(&Ended<'_>) + 'o;

/// Turns in flight.
#[derive(Clone, Debug, PartialEq)]
pub struct Flights {
    live: Table<Subject, Flight>,
    /// Turns that are only told of and whose result has not come.
    told: Table<Subject, Arrival>,
}

/// Both tables as a snapshot has them.
pub(super) type State = (BTreeMap<Subject, Flight>, BTreeMap<Subject, Arrival>);

impl Flights {
    pub(super) const fn new() -> Self {
        Self { live: Table::new("flights"), told: Table::new("flights.told") }
    }

    pub(super) fn of((live, told): State) -> Self {
        Self { live: Table::of("flights", live), told: Table::of("flights.told", told) }
    }

    pub(super) const fn tables(&self) -> (&Table<Subject, Flight>, &Table<Subject, Arrival>) {
        (&self.live, &self.told)
    }

    pub(super) fn settle(&mut self) {
        self.live.settle();
        self.told.settle();
    }

    /// A turn in flight.
    #[must_use]
    pub fn get(&self, turn: &Subject) -> Option<&Flight> {
        self.live.get(turn)
    }

    /// The turns in flight.
    pub fn iter(&self) -> impl Iterator<Item = (&Subject, &Flight)> {
        self.live.iter()
    }

    /// The accounts of turns in flight.
    pub(super) fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.live.iter().flat_map(|(_, flight)| &flight.accounts)
    }

    /// An attempt's engine failed it.
    pub(super) fn fail(&mut self, turn: &Subject, attempt: u16) {
        let Some(flight) = self.live.get_mut(turn) else { return };
        for open in flight.open.iter_mut().filter(|open| open.attempt == attempt) {
            open.has_failed = true;
        }
    }

    /// Follows an event, and shows every attempt that ends with it.
    pub(super) fn follow(
        &mut self,
        context: &Context,
        body: &Body<'_>,
        accounts: Option<[Account; 2]>,
        each: &mut EachEnd<'_>,
    ) {
        let turn = &context.subject;
        match body {
            Body::Turn(said) => self.arrive(context, said, accounts),
            Body::Dispatch(dispatch) => {
                let counts = |flight: &&mut Flight| flight.tried.len() < ATTEMPTS_MAX;
                if let Some(flight) = self.live.get_mut(turn).filter(counts) {
                    flight.open.push(Open::of(dispatch, context.received));
                    flight.tried.push(dispatch.engine.as_str().to_owned());
                }
            }
            Body::Result(result) => self.end(turn, result, each),
            Body::TurnClosed(_) => self.close(turn, each),
            Body::Amend(amend) => self.amend(turn, amend),
            _ => {}
        }
    }

    /// A turn said twice is the one that was said first.
    fn arrive(&mut self, context: &Context, turn: &Turn<'_>, accounts: Option<[Account; 2]>) {
        let arrival = Arrival::of(turn, context.at);
        let is_known = self.live.get(&context.subject).is_some();
        match turn.ask.as_ref().zip(accounts) {
            Some((ask, accounts)) if !is_known && self.live.len() < LIVE_MAX => {
                self.live.insert(context.subject, Flight::new(arrival, Asked::of(ask), accounts));
            }
            None if !is_known && turn.ask.is_none() => {
                if self.told.len() >= TOLD_MAX {
                    // Nobody will say any more what became of them.
                    self.told.retain(|_, _| false);
                }
                self.told.insert(context.subject, arrival);
            }
            _ => {}
        }
    }

    fn end(&mut self, turn: &Subject, result: &DispatchResult<'_>, each: &mut EachEnd<'_>) {
        if let Some(flight) = self.live.get_mut(turn) {
            let of_attempt = |open: &Open| open.attempt == result.attempt;
            let Some(index) = flight.open.iter().position(of_attempt) else { return };
            let open = flight.open.remove(index);
            let charge = result.charge.unwrap_or_else(|| open.estimated());
            flight.spent += charge.cost;
            each(&Ended {
                arrival: &flight.arrival,
                asked: Some(&flight.asked),
                accounts: Some(&flight.accounts),
                open: Some(open),
                result: Some(result),
                charge: Some(charge),
            });
        } else if let Some(arrival) = self.told.get(turn) {
            each(&Ended {
                arrival,
                asked: None,
                accounts: None,
                open: None,
                result: Some(result),
                charge: None,
            });
            // An attempt of which nothing is known may be followed by another.
            if result.usage.prompt.is_some() {
                self.told.remove(turn);
            }
        }
    }

    /// A better figure for an attempt of a turn that is still in flight is part of what the turn has cost.
    fn amend(&mut self, turn: &Subject, amend: &Amend<'_>) {
        let Some(booking) = amend.booking else { return };
        if let Some(flight) = self.live.get_mut(turn) {
            flight.spent = rebooked(flight.spent, booking.was.cost, booking.now.cost);
        }
    }

    /// No reservation survives its turn: what has not ended is charged as far as it was set aside.
    fn close(&mut self, turn: &Subject, each: &mut EachEnd<'_>) {
        self.told.remove(turn);
        let Some(flight) = self.live.remove(turn) else { return };
        for open in flight.open {
            let charge = Some(open.estimated());
            let (arrival, asked) = (&flight.arrival, Some(&flight.asked));
            let accounts = Some(&flight.accounts);
            each(&Ended { arrival, asked, accounts, open: Some(open), result: None, charge });
        }
    }

    /// Forgets turns that were told of before an instant and whose result never came.
    pub(super) fn forget_before(&mut self, oldest: Millis) {
        self.told.retain(|_, arrival| arrival.at >= oldest);
    }
}
