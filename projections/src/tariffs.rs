//! An engine's rates by the size of the prompt, worked out once for pricing many requests.

use events::cost::Cost;
use events::hash::engine_subject;
use events::ids::Millis;

use crate::book::EnginePrice;
use crate::cost::{Quantities, Tariff};

/// An engine's tariffs worked out once, for pricing many requests.
#[derive(Clone, Debug)]
pub struct Tariffs {
    price: EnginePrice,
    /// Tells engines apart.
    id: u64,
    /// By the smallest prompt each applies to, largest first; empty where the time of day matters.
    known: Vec<(u32, Tariff)>,
}

impl Tariffs {
    /// The tariffs of a price.
    #[must_use]
    pub fn new(price: EnginePrice) -> Self {
        let mut known = Vec::new();
        if price.windows.is_empty() {
            let froms = price.tiers.iter().map(|tier| tier.from_prompt);
            known =
                froms.chain([0]).map(|from| (from, Tariff::of(&price, 0, Some(from)))).collect();
            known.sort_by_key(|(from, _)| std::cmp::Reverse(*from));
        }
        let mut id = [0; 8];
        id.copy_from_slice(&engine_subject(&price.engine).0[..8]);
        Self { id: u64::from_be_bytes(id), price, known }
    }

    /// A digest of the engine's name, to tell engines apart by.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// What they are worked out from.
    #[must_use]
    pub const fn price(&self) -> &EnginePrice {
        &self.price
    }

    /// The tariff of a request; the same as [`Tariff::of`].
    #[must_use]
    pub fn at(&self, at: Millis, prompt: Option<u32>) -> Tariff {
        let known = prompt.and_then(|prompt| self.known.iter().find(|(from, _)| *from <= prompt));
        known.map_or_else(|| Tariff::of(&self.price, at, prompt), |(_, tariff)| *tariff)
    }

    /// What a turn costs with nothing warm; the same as [`Tariff::cold`].
    #[must_use]
    pub fn cold(&self, at: Millis, prompt: u32, answer: (u32, u32), images: u32) -> Cost {
        match self.known.iter().find(|(from, _)| *from <= prompt) {
            Some((_, tariff)) => tariff.cold(prompt, answer, images),
            None => Tariff::of(&self.price, at, Some(prompt)).cold(prompt, answer, images),
        }
    }

    /// Shows every tariff a prompt of at most so many tokens may fall under, each with the longest prompt it may fall
    /// under it with.
    pub fn each_up_to(&self, at: Millis, prompt: u32, each: &mut dyn FnMut(u32, &Tariff)) {
        let mut longest = prompt;
        let mut show = |from: u32, tariff: &Tariff| {
            if from <= prompt {
                each(longest, tariff);
                longest = from.saturating_sub(1);
            }
        };
        if !self.known.is_empty() {
            self.known.iter().for_each(|(from, tariff)| show(*from, tariff));
            return;
        }
        let mut froms: Vec<u32> = self.price.tiers.iter().map(|tier| tier.from_prompt).collect();
        froms.push(0);
        froms.sort_unstable_by(|a, b| b.cmp(a));
        froms.iter().for_each(|from| show(*from, &Tariff::of(&self.price, at, Some(*from))));
    }

    /// The cost of a request.
    #[must_use]
    pub fn cost(&self, at: Millis, quantities: &Quantities) -> Cost {
        self.at(at, quantities.prompt()).cost(quantities)
    }
}
