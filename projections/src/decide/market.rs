//! What the engines of a policy offer, worked out once for many decisions.

use std::collections::BTreeMap;

use events::payload::{Name, Rates};
use events::rate::Rate;

use crate::book::{Book, EnginePrice};
use crate::names::canonical;
use crate::policy::Rules;
use crate::tariffs::Tariffs;

/// One engine of the policy.
#[derive(Clone, Debug)]
pub struct Offer {
    /// What learned figures know it by.
    pub canonical: String,
    /// What it charges; `None` where nobody knows.
    pub tariffs: Option<Tariffs>,
    /// True when it runs on an upstream of one's own: it is free.
    pub is_local: bool,
}

/// The engines of a policy at their prices, until a price changes.
#[derive(Clone, Debug)]
pub struct Market {
    book: Book,
    offers: BTreeMap<String, Offer>,
}

impl Market {
    /// The engines of a policy by the prices that count.
    #[must_use]
    pub fn new(book: Book, rules: &Rules) -> Self {
        let offer = |engine: &str| {
            let is_local = rules.is_local(engine);
            let priced = book.named(engine).or_else(|| book.recorded(engine));
            let price =
                if is_local { Some(free(engine)) } else { priced.map(|(_, price)| price.clone()) };
            Offer {
                canonical: canonical(engine).into_owned(),
                tariffs: price.filter(has_rates).map(Tariffs::new),
                is_local,
            }
        };
        let engines = rules.every_engine();
        let offers = engines.into_iter().map(|engine| (engine.to_owned(), offer(engine))).collect();
        Self { book, offers }
    }

    /// One engine, under the name events have for it.
    #[must_use]
    pub fn offer<'m>(&'m self, engine: &str) -> Option<(Name<'m>, &'m Offer)> {
        let (name, offer) = self.offers.get_key_value(engine)?;
        Some((Name::new(name).ok()?, offer))
    }

    /// What an engine charges that served a turn, whoever chose it.
    #[must_use]
    pub fn tariffs(&self, engine: &str) -> Option<Tariffs> {
        let priced = || Some(self.book.recorded(engine)?.1.clone());
        match self.offers.get(engine) {
            Some(offer) => offer.tariffs.clone(),
            None => priced().map(Tariffs::new),
        }
    }
}

/// Without a rate for input and for output no turn can be priced.
const fn has_rates(price: &EnginePrice) -> bool {
    price.rates.input.is_some() && price.rates.output.is_some()
}

fn free(engine: &str) -> EnginePrice {
    let nothing = Some(Rate::ZERO);
    EnginePrice {
        engine: engine.to_owned(),
        context: None,
        rates: Rates { input: nothing, output: nothing, ..Rates::default() },
        tiers: Vec::new(),
        windows: Vec::new(),
        source: "local".to_owned(),
        seq: None,
    }
}
