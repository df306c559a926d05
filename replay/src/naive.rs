//! The naive figure of a single model, and how it becomes the fair one.
//!
//! Whoever multiplies a week's tokens by a model's list price takes the recorded share of cached
//! tokens for the model's own, forgets that writing to a cache has its own rate, and that long prompts
//! do. The three differences are kept apart.

use events::cost::Cost;
use events::ids::Millis;
use events::money::Pico;
use events::payload::Rates;
use projections::book::EnginePrice;
use projections::cost::Quantities;
use projections::tariffs::Tariffs;

/// How a single model's naive figure becomes its fair one. The four add up to the fair cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naive {
    /// Every turn at base rates with the recorded row's cached tokens.
    pub cost: Cost,
    /// What the model's own cache would have held otherwise.
    pub own_cache: Pico,
    /// What writing to the cache costs beyond the input rate.
    pub cache_writes: Pico,
    /// What long prompts and times of day cost beyond the base rates.
    pub tiers: Pico,
}

/// Sums of a single model's turns under ever more of the truth.
pub(crate) struct NaiveSums {
    /// Base rates without write rates.
    plain: Tariffs,
    /// Base rates.
    base: Tariffs,
    recorded_hits: Cost,
    own_hits: Cost,
    with_writes: Cost,
}

impl NaiveSums {
    pub(crate) fn new(engine: &EnginePrice) -> Self {
        let base = EnginePrice { tiers: Vec::new(), windows: Vec::new(), ..engine.clone() };
        let rates = Rates { cache_write_5m: None, cache_write_1h: None, ..base.rates };
        Self {
            plain: Tariffs::new(EnginePrice { rates, ..base.clone() }),
            base: Tariffs::new(base),
            recorded_hits: Cost::ZERO,
            own_hits: Cost::ZERO,
            with_writes: Cost::ZERO,
        }
    }

    pub(crate) fn add(&mut self, at: Millis, own: Quantities, recorded_hit: u32) {
        let recorded = own.prompt().map_or(own, |prompt| Quantities {
            uncached: Some(prompt - recorded_hit.min(prompt)),
            cache_read: Some(recorded_hit.min(prompt)),
            cache_write_5m: Some(0),
            cache_write_1h: Some(0),
            ..own
        });
        self.recorded_hits += self.plain.cost(at, &recorded);
        self.own_hits += self.plain.cost(at, &own);
        self.with_writes += self.base.cost(at, &own);
    }

    pub(crate) fn against(&self, fair: Cost) -> Naive {
        Naive {
            cost: self.recorded_hits,
            own_cache: self.own_hits.known - self.recorded_hits.known,
            cache_writes: self.with_writes.known - self.own_hits.known,
            tiers: fair.known - self.with_writes.known,
        }
    }
}
