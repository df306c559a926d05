//! What the engines that go first cost with their caches as they are, over the turns to follow, and how much is set
//! aside for each.

use events::payload::{Arm, Forecast, Name, Reservation, ReserveBasis};

use super::asking::Asking;
use super::candidates::{Candidate, answer_room};
use crate::forecast::{Foreseen, Held, Horizon, Weighed, weigh};
use crate::policy::Reserve;
use crate::routing::lanes::Warm;
use crate::routing::learned::ANSWER_TOKENS;
use events::money::Pico;

/// An engine that was weighed.
#[derive(Clone, Copy, Debug)]
pub struct Weighing<'d> {
    /// Its place among the candidates.
    pub index: usize,
    /// Its name.
    pub engine: Name<'d>,
    /// What it is expected to cost.
    pub weighed: Weighed,
    /// Answer tokens expected of it.
    pub output: u32,
    /// The longest answer it is asked for.
    pub max_output: u32,
    /// True when its provider does not say what its cache holds.
    pub cache_estimated: bool,
    /// What has to be set aside for it.
    pub reservation: Reservation,
    /// The chance that it does it well, in thousandths.
    chance: u16,
    /// How good it is on the axis engines are ranked on.
    quality: Option<u16>,
}

impl<'d> Weighing<'d> {
    /// What has to be set aside, as budgets count it.
    pub(super) fn needs(&self) -> Pico {
        self.reservation.amount.unwrap_or(Pico::ZERO)
    }

    pub(super) const fn forecast(&self) -> Forecast {
        Forecast {
            cache_read: self.weighed.read,
            cache_estimated: self.cache_estimated,
            output: self.output,
            expected: self.weighed.expected,
            cold: self.weighed.cold,
            ceiling: self.weighed.ceiling,
        }
    }

    pub(super) const fn arm(&self) -> Arm<'d> {
        Arm {
            engine: self.engine,
            chance: self.chance,
            quality: self.quality,
            expected: self.weighed.expected,
            horizon: self.weighed.horizon,
            excluded: None,
        }
    }
}

/// The turns that are to follow in a lane.
pub(super) fn horizon(asking: &Asking<'_>) -> Horizon {
    let rules = &asking.inputs.rules.policy.routing;
    let arrival = &asking.flight.arrival;
    let prompt = asking.prompt_tokens().prompt;
    let before = asking.lane.and_then(|lane| lane.prompt);
    let grew = before.and_then(|before| prompt.checked_sub(before)).filter(|grew| *grew > 0);
    let lanes = &asking.inputs.world.routing.lanes;
    Horizon {
        turns: rules.horizon_turns,
        grows_by: grew.unwrap_or(ANSWER_TOKENS),
        pauses: lanes.pauses(&arrival.client, arrival.lane.1.is_some()),
        ttl: rules.cache_ttl,
    }
}

/// Weighs one engine. `None` for one whose name no event can have, which no engine of a market has.
pub(super) fn weighing<'d>(
    asking: &Asking<'d>,
    horizon: &Horizon,
    (index, candidate): (usize, &Candidate<'d>),
) -> Option<Weighing<'d>> {
    let offer = candidate.offer;
    let asked = &asking.flight.asked;
    let most = asked.max_output.unwrap_or(asking.profile.max_output_tokens);
    let room = offer.context.map(|context| answer_room(asking, context, candidate.prompt));
    // Providers refuse to be asked for an answer that could not fit.
    let max_output = [offer.capabilities.output, room].into_iter().flatten().fold(most, u32::min);
    let warm = asking.warm(&offer.canonical);
    let turn = Foreseen {
        at: asking.inputs.now,
        prompt: candidate.prompt,
        prompt_max: asked.prompt_tokens_max.max(candidate.prompt),
        images: asking.images(),
        output: candidate.answer.output.min(max_output),
        reasoning: candidate.answer.reasoning,
        output_max: max_output,
    };
    let weighed = offer.tariffs.as_ref().map_or(Weighed::UNPRICED, |tariffs| {
        weigh(tariffs, &turn, held(asking, &offer.canonical, warm), horizon)
    });
    Some(Weighing {
        index,
        engine: offer.engine()?,
        weighed,
        output: turn.output,
        max_output,
        cache_estimated: warm.is_some_and(|warm| warm.estimated),
        reservation: reservation(asking, offer.is_local, &weighed),
        chance: u16::try_from(candidate.chance.thousandths()).unwrap_or(1_000),
        quality: candidate.rank_quality,
    })
}

fn held(asking: &Asking<'_>, canonical: &str, warm: Option<&Warm>) -> Held {
    let habit = asking.inputs.world.routing.lanes.habit(canonical);
    let prefix = asking.flight.arrival.prefix_tokens.unwrap_or(u32::MAX);
    Held {
        tokens: warm.map_or(0, |warm| warm.prompt.min(prefix)),
        reliability: habit.reliability(),
        written: habit.written(),
    }
}

/// What has to be set aside. Under a budget an unknown price takes what policy states for such turns, or is none.
fn reservation(asking: &Asking<'_>, is_local: bool, weighed: &Weighed) -> Reservation {
    let policy = &asking.inputs.rules.policy.routing;
    let reserve = |basis, amount| Reservation { basis, amount: Some(amount) };
    let (basis, cost) = match policy.reserve {
        _ if is_local => return reserve(ReserveBasis::Local, Pico::ZERO),
        Reserve::Expected => (ReserveBasis::Expected, weighed.expected),
        Reserve::Ceiling => (ReserveBasis::Ceiling, weighed.ceiling),
    };
    let is_budgeted = !asking.profile.budgets.is_empty();
    match (cost.amount(), policy.unknown_price.filter(|_| is_budgeted)) {
        (Some(amount), _) => reserve(basis, amount),
        (None, Some(stated)) => reserve(ReserveBasis::Stated, stated),
        (None, None) => Reservation { basis: ReserveBasis::Unknown, amount: None },
    }
}
