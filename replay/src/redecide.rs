//! Recorded decisions made again, and compared byte for byte (law 6).

use std::collections::{BTreeMap, BTreeSet};

use events::bytes::Bytes16;
use events::event::Body;
use events::hash::{Domain, Hasher};
use events::head::Head;
use events::ids::{Digest, Millis, Seq, Subject};
use events::kind::KindTable;
use events::log::ReadLog;
use events::money::Pico;
use events::payload::{ChargeBasis, Dispatch, DispatchResult, MadeBy};
use projections::decide::{AttemptEnd, Decision, VERSION};
use projections::projection::{Context, Projection as _};
use projections::world::World;
use serde::Serialize;

use crate::considered::Considered;
use crate::decider::Decider;
use crate::fold::{Fold, FoldError, Signatures};

/// Differences that are kept whole.
const SHOWN_MAX: usize = 20;

/// Where decisions are made again from.
pub struct Start {
    /// The world at a position, and the position; `None`: from the first event.
    pub snapshot: Option<(World, Head)>,
    /// Decisions taken in before this instant are passed over.
    pub since: Millis,
}

/// A recorded decision that came out otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its position.
    pub position: Seq,
    /// Its turn.
    pub turn: Subject,
    /// Attempts before it.
    pub attempt: u16,
    /// The fields that differ: name, as recorded, as made again.
    pub fields: Vec<(&'static str, String, String)>,
}

/// Why decisions were not made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotRemade {
    /// Another version of deciding, or of the folds it reads, made them.
    OtherVersion {
        /// Version of deciding.
        decide: u16,
        /// Version of the folds.
        world: u16,
    },
    /// They were made under another policy.
    OtherPolicy {
        /// Its digest.
        policy: Bytes16,
    },
}

/// What making decisions again came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redecided {
    /// Dispatches made again, and equal.
    pub dispatches: u64,
    /// Refusals made again, and equal.
    pub refusals: u64,
    /// Charges made again, and equal.
    pub charges: u64,
    /// Decisions and charges that came out otherwise.
    pub differing: u64,
    /// The first of them.
    pub differences: Vec<Difference>,
    /// Decisions that were not made again, by reason.
    pub not_remade: Vec<(NotRemade, u64)>,
    /// Sum of what was set aside by the dispatches made again.
    pub reserved: Pico,
    /// Sum of the charges made again.
    pub charged: Pico,
    /// Digest of everything that was made again.
    pub digest: Digest,
}

impl Redecided {
    /// True when nothing came out otherwise.
    #[must_use]
    pub const fn is_equal(&self) -> bool {
        self.differing == 0
    }
}

/// Makes the decisions of a log again.
///
/// # Errors
/// [`FoldError`] at the first fault of the log.
pub fn redecide<L: ReadLog + ?Sized>(
    log: &L,
    kinds: &KindTable,
    decider: Decider,
    start: Start,
    seen: &mut dyn FnMut(),
) -> Result<Redecided, FoldError<L::Error>> {
    let mut fold = match start.snapshot {
        Some((world, head)) => Fold::resume(kinds, Signatures::Trust, world, head),
        None => Fold::genesis(kinds, Signatures::Trust, log.head().ledger),
    };
    let mut remaking = Remaking::new(decider, start.since);
    fold.read_foreseeing(log, &mut |world, context, body| {
        seen();
        remaking.see(world, context, body);
    })?;
    Ok(remaking.finish())
}

/// A recorded decision made again, with everything it looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remade {
    /// Its position.
    pub position: Seq,
    /// Attempts before it.
    pub attempt: u16,
    /// True when it came out byte for byte as it was recorded.
    pub is_equal: bool,
    /// Everything it looked at.
    #[serde(flatten)]
    pub considered: Considered,
}

/// Makes the decisions at some positions again, where they can be: others' versions and policies decided otherwise.
///
/// # Errors
/// [`FoldError`] at the first fault of the log.
pub fn remake<L: ReadLog + ?Sized>(
    log: &L,
    kinds: &KindTable,
    mut decider: Decider,
    snapshot: Option<(World, Head)>,
    positions: &BTreeSet<Seq>,
) -> Result<Vec<Remade>, FoldError<L::Error>> {
    let mut fold = match snapshot {
        Some((world, head)) => Fold::resume(kinds, Signatures::Trust, world, head),
        None => Fold::genesis(kinds, Signatures::Trust, log.head().ledger),
    };
    let mut made = Vec::new();
    let Some(last) = positions.last() else { return Ok(made) };
    fold.read_foreseeing_until(log, *last, &mut |world, context, body| {
        if positions.contains(&context.seq) {
            made.extend(made_again(&mut decider, world, context, body));
        }
        decider.saw(world, context, body);
    })?;
    Ok(made)
}

fn made_again(
    decider: &mut Decider,
    world: &World,
    context: &Context,
    recorded: &Body<'_>,
) -> Option<Remade> {
    let (made_by, attempt) = match recorded {
        Body::Dispatch(dispatch) => (dispatch.made_by, dispatch.attempt),
        Body::Refusal(refusal) => (refusal.made_by, refusal.attempt),
        _ => return None,
    };
    let versions = (made_by.decide, u32::from(made_by.world)) == (VERSION, World::VERSION);
    let ruling = decider.rules(world).ok()?;
    let flight = world.routing.flights.get(&context.subject)?;
    if !versions || ruling.rules.digest != made_by.policy {
        return None;
    }
    let of = (&context.subject, flight);
    let seen = decider.considered(world, of, context.received, None, |decision, making| {
        let considered = Considered::new(&decision, making);
        let again = match decision {
            Decision::Dispatch(dispatch) => Body::Dispatch(dispatch),
            Decision::Refusal(refusal) => Body::Refusal(refusal),
        };
        (encoded(&again) == encoded(recorded), considered)
    });
    let (is_equal, considered) = seen.ok()?;
    Some(Remade { position: context.seq, attempt, is_equal, considered })
}

struct Remaking {
    decider: Decider,
    since: Millis,
    /// Dispatches made again that have not ended: their charges can be made again too.
    open: BTreeMap<(Subject, u16), ()>,
    not_remade: BTreeMap<NotRemade, u64>,
    made: Redecided,
    hasher: Hasher,
}

impl Remaking {
    fn new(decider: Decider, since: Millis) -> Self {
        let made = Redecided {
            dispatches: 0,
            refusals: 0,
            charges: 0,
            differing: 0,
            differences: Vec::new(),
            not_remade: Vec::new(),
            reserved: Pico::ZERO,
            charged: Pico::ZERO,
            digest: Digest::ZERO,
        };
        let hasher = Hasher::new(Domain::Decision);
        Self { decider, since, open: BTreeMap::new(), not_remade: BTreeMap::new(), made, hasher }
    }

    fn see(&mut self, world: &World, context: &Context, body: &Body<'_>) {
        // What its author had no right to say decided nothing.
        if !world.keyring.allows(context, body) {
            return;
        }
        if context.received >= self.since {
            match body {
                Body::Dispatch(dispatch) if self.is_remade(world, &dispatch.made_by) => {
                    self.open.insert((context.subject, dispatch.attempt), ());
                    self.made.reserved += dispatch.reserved.amount.unwrap_or(Pico::ZERO);
                    self.remake(world, context, dispatch.attempt, body);
                }
                Body::Refusal(refusal) if self.is_remade(world, &refusal.made_by) => {
                    self.remake(world, context, refusal.attempt, body);
                }
                Body::Result(result) => self.charge(world, context, result),
                _ => {}
            }
        }
        self.decider.saw(world, context, body);
    }

    fn is_remade(&mut self, world: &World, made_by: &MadeBy) -> bool {
        let MadeBy { decide, world: folds, policy } = *made_by;
        let reason = if (decide, u32::from(folds)) != (VERSION, World::VERSION) {
            NotRemade::OtherVersion { decide, world: folds }
        } else {
            match self.decider.rules(world) {
                Ok(ruling) if ruling.rules.digest == policy => return true,
                _ => NotRemade::OtherPolicy { policy },
            }
        };
        *self.not_remade.entry(reason).or_default() += 1;
        false
    }

    /// Makes a decision again from the world before it.
    fn remake(&mut self, world: &World, context: &Context, attempt: u16, recorded: &Body<'_>) {
        let again = self.decider.decided(world, &context.subject, context.received, |decision| {
            let again = match decision {
                Decision::Dispatch(dispatch) => Body::Dispatch(dispatch),
                Decision::Refusal(refusal) => Body::Refusal(refusal),
            };
            (encoded(&again), differences(recorded, &again))
        });
        // Where the rules make no sense nothing was said to be remade.
        let (bytes, fields) = again.ok().flatten().unwrap_or_else(|| {
            (Vec::new(), vec![("turn", "decided".to_owned(), "not in flight".to_owned())])
        });
        self.hasher.part(&bytes);
        if bytes == encoded(recorded) {
            match recorded {
                Body::Dispatch(_) => self.made.dispatches += 1,
                _ => self.made.refusals += 1,
            }
        } else {
            self.differ(context, attempt, fields);
        }
    }

    /// Makes the charge of a dispatch made again, again.
    fn charge(&mut self, world: &World, context: &Context, result: &DispatchResult<'_>) {
        let key = (context.subject, result.attempt);
        if self.open.remove(&key).is_none() {
            return;
        }
        let Some(recorded) = result.charge else { return };
        let flight = world.routing.flights.get(&context.subject);
        let Some(open) = flight.and_then(|flight| flight.open(result.attempt)) else { return };
        let end = AttemptEnd {
            engine: result.engine.as_str(),
            usage: result.usage,
            // What a provider reported, and what never reached an engine, are facts of their own.
            reported: (recorded.basis == ChargeBasis::Reported).then_some(recorded.cost.known),
            reached_engine: recorded.basis != ChargeBasis::Void,
        };
        let Ok(again) = self.decider.charge(world, &context.subject, open, &end) else { return };
        self.made.charged += again.cost.known;
        self.hasher.part(&rmp_serde::to_vec(&again).unwrap_or_default());
        if again == recorded {
            self.made.charges += 1;
        } else {
            let field = ("charge", format!("{recorded:?}"), format!("{again:?}"));
            self.differ(context, result.attempt, vec![field]);
        }
    }

    fn differ(
        &mut self,
        context: &Context,
        attempt: u16,
        fields: Vec<(&'static str, String, String)>,
    ) {
        self.made.differing += 1;
        if self.made.differences.len() < SHOWN_MAX {
            let (position, turn) = (context.seq, context.subject);
            self.made.differences.push(Difference { position, turn, attempt, fields });
        }
    }

    fn finish(self) -> Redecided {
        let not_remade = self.not_remade.into_iter().collect();
        Redecided { not_remade, digest: self.hasher.finish(), ..self.made }
    }
}

fn encoded(body: &Body<'_>) -> Vec<u8> {
    // Writing plain data to memory has no way to fail.
    match body {
        Body::Dispatch(dispatch) => rmp_serde::to_vec(dispatch).unwrap_or_default(),
        Body::Refusal(refusal) => rmp_serde::to_vec(refusal).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// The fields of two decisions that differ.
fn differences(recorded: &Body<'_>, again: &Body<'_>) -> Vec<(&'static str, String, String)> {
    match (recorded, again) {
        (Body::Dispatch(recorded), Body::Dispatch(again)) => {
            let fields = fields(recorded).into_iter().zip(fields(again));
            fields.filter(|(a, b)| a != b).map(|((name, was), (_, is))| (name, was, is)).collect()
        }
        (Body::Refusal(was), Body::Refusal(is)) => {
            let fields = [
                ("reason", format!("{:?}", was.reason), format!("{:?}", is.reason)),
                ("budget", format!("{:?}", was.budget), format!("{:?}", is.budget)),
                ("needed", format!("{:?}", was.needed), format!("{:?}", is.needed)),
                ("excluded", format!("{:?}", was.excluded), format!("{:?}", is.excluded)),
                ("record", was.record.to_string(), is.record.to_string()),
            ];
            fields.into_iter().filter(|(_, was, is)| was != is).collect()
        }
        (was, is) => vec![("outcome", outcome(was), outcome(is))],
    }
}

fn outcome(body: &Body<'_>) -> String {
    match body {
        Body::Dispatch(dispatch) => format!("dispatched to {}", dispatch.engine),
        Body::Refusal(refusal) => format!("refused: {}", refusal.reason.label()),
        _ => "no decision".to_owned(),
    }
}

fn fields(dispatch: &Dispatch<'_>) -> [(&'static str, String); 20] {
    [
        ("attempt", dispatch.attempt.to_string()),
        ("engine", dispatch.engine.to_string()),
        ("choice", dispatch.choice.label().to_owned()),
        ("cache_ttl", dispatch.cache_ttl.label().to_owned()),
        ("max_output", dispatch.max_output.to_string()),
        ("reserved", format!("{:?}", dispatch.reserved)),
        ("forecast", format!("{:?}", dispatch.forecast)),
        ("warm", format!("{:?}", dispatch.warm)),
        ("class", format!("{:?}", dispatch.class)),
        ("tier", dispatch.tier.label().to_owned()),
        ("moved", format!("{:?}", dispatch.moved)),
        ("draw", format!("{:?}", dispatch.draw)),
        ("relaxed", dispatch.relaxed.to_string()),
        ("despite_cool_off", dispatch.despite_cool_off.to_string()),
        ("prompt_tokens", dispatch.prompt_tokens.to_string()),
        ("looked_at", dispatch.looked_at.to_string()),
        ("arms", format!("{:?}", dispatch.arms)),
        ("excluded", format!("{:?}", dispatch.excluded)),
        ("budgets", format!("{:?}", dispatch.budgets)),
        ("record", dispatch.record.to_string()),
    ]
}
