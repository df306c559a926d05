//! The engines that could take a turn: what each is expected to cost, how much it takes to reserve, why it cannot.

use events::money::Pico;
use events::payload::{Arm, Exclusion, Forecast, Name, Reservation, ReserveBasis};
use serde::Serialize;

use super::Inputs;
use super::market::Offer;
use crate::forecast::{Foreseen, Held, Horizon, Weighed, weigh};
use crate::policy::Reserve;
use crate::routing::flights::Flight;
use crate::routing::lanes::{Lane, Warm};

/// An engine that could take a turn.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate<'d> {
    /// The engine.
    pub engine: Name<'d>,
    /// What it is expected to cost.
    pub weighed: Weighed,
    /// Answer tokens expected of it.
    pub output: u32,
    /// The longest answer it is asked for.
    pub max_output: u32,
    /// True when its provider does not say what its cache holds.
    pub cache_estimated: bool,
    /// True while something of the lane is warm there.
    pub is_warm: bool,
    /// What has to be set aside for it.
    pub reservation: Reservation,
    /// Why it cannot take the turn.
    pub excluded: Option<Exclusion>,
}

impl<'d> Candidate<'d> {
    /// True when it can take the turn.
    #[must_use]
    pub const fn is_viable(&self) -> bool {
        self.excluded.is_none()
    }

    /// What has to be set aside, as budgets count it.
    #[must_use]
    pub fn needs(&self) -> Pico {
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
            expected: self.weighed.expected,
            horizon: self.weighed.horizon,
            excluded: self.excluded,
        }
    }
}

/// What is the same for every candidate of a turn.
pub struct Comparison<'d> {
    inputs: Inputs<'d>,
    flight: &'d Flight,
    lane: Option<&'d Lane>,
    horizon: Horizon,
    /// Whether any budget applies.
    is_budgeted: bool,
}

impl<'d> Comparison<'d> {
    /// The comparison for a turn.
    #[must_use]
    pub fn new(inputs: Inputs<'d>, flight: &'d Flight, is_budgeted: bool) -> Self {
        let routing = &inputs.world.routing;
        let (arrival, rules) = (&flight.arrival, &inputs.rules.policy.routing);
        let lane = routing.lanes.get(&arrival.lane);
        let prompt = flight.asked.prompt_tokens;
        let grew = lane.and_then(|lane| prompt.checked_sub(lane.prompt?)).filter(|grew| *grew > 0);
        let horizon = Horizon {
            turns: rules.horizon_turns,
            grows_by: grew.unwrap_or(crate::routing::learned::ANSWER_TOKENS),
            pauses: routing.lanes.pauses(&arrival.client, arrival.lane.1.is_some()),
            ttl: rules.cache_ttl,
        };
        Self { inputs, flight, lane, horizon, is_budgeted }
    }

    /// The lane, where it has been served before.
    #[must_use]
    pub const fn lane(&self) -> Option<&'d Lane> {
        self.lane
    }

    /// Weighs one engine.
    #[must_use]
    pub fn candidate(&self, engine: Name<'d>, offer: &Offer) -> Candidate<'d> {
        let learned = &self.inputs.world.routing.learned;
        let expected = learned.expected(&offer.canonical, self.flight.asked.kind);
        let asked = &self.flight.asked;
        let max_output =
            asked.max_output.unwrap_or(self.inputs.rules.policy.routing.max_output_tokens);
        let warm = self.warm(&offer.canonical);
        let turn = Foreseen {
            at: self.inputs.now,
            prompt: asked.prompt_tokens,
            prompt_max: asked.prompt_tokens_max,
            images: asked.images,
            output: expected.output.min(max_output),
            reasoning: expected.reasoning,
            output_max: max_output,
        };
        let weighed = offer.tariffs.as_ref().map_or(Weighed::UNPRICED, |tariffs| {
            weigh(tariffs, &turn, self.held(&offer.canonical, warm), &self.horizon)
        });
        let fits = offer
            .tariffs
            .as_ref()
            .is_none_or(|tariffs| tariffs.price().fits(turn.prompt, turn.output));
        let reservation = self.reservation(offer, &weighed);
        let excluded = if self.flight.has_tried(engine.as_str()) {
            Some(Exclusion::FailedThisTurn)
        } else if !fits {
            Some(Exclusion::ContextTooSmall)
        } else if self.is_budgeted && reservation.amount.is_none() {
            Some(Exclusion::PriceUnknown)
        } else {
            None
        };
        Candidate {
            engine,
            weighed,
            output: turn.output,
            max_output,
            cache_estimated: warm.is_some_and(|warm| warm.estimated),
            is_warm: warm.is_some(),
            reservation,
            excluded,
        }
    }

    /// What an engine holds of the lane, while it is kept.
    fn warm(&self, canonical: &str) -> Option<&'d Warm> {
        let warm = self.lane.and_then(|lane| lane.cache(canonical));
        warm.filter(|warm| warm.is_alive(self.inputs.now))
    }

    fn held(&self, canonical: &str, warm: Option<&Warm>) -> Held {
        let habit = self.inputs.world.routing.lanes.habit(canonical);
        let prefix = self.flight.arrival.prefix_tokens.unwrap_or(u32::MAX);
        Held {
            tokens: warm.map_or(0, |warm| warm.prompt.min(prefix)),
            reliability: habit.reliability(),
            written: habit.written(),
        }
    }

    /// What has to be set aside. Under a budget an unknown price takes what policy states for such turns, or is none.
    fn reservation(&self, offer: &Offer, weighed: &Weighed) -> Reservation {
        let policy = &self.inputs.rules.policy.routing;
        let (basis, cost) = match policy.reserve {
            _ if offer.is_local => return reserve(ReserveBasis::Local, Pico::ZERO),
            Reserve::Expected => (ReserveBasis::Expected, weighed.expected),
            Reserve::Ceiling => (ReserveBasis::Ceiling, weighed.ceiling),
        };
        match (cost.amount(), policy.unknown_price.filter(|_| self.is_budgeted)) {
            (Some(amount), _) => reserve(basis, amount),
            (None, Some(stated)) => reserve(ReserveBasis::Stated, stated),
            (None, None) => Reservation { basis: ReserveBasis::Unknown, amount: None },
        }
    }
}

const fn reserve(basis: ReserveBasis, amount: Pico) -> Reservation {
    Reservation { basis, amount: Some(amount) }
}
