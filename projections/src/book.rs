//! The price book: what each engine charges, as last believed.

use std::collections::BTreeMap;

use events::event::Body;
use events::ids::{Digest, Seq};
use events::payload::{Capabilities, Name, Price, PriceBook, Quality, Rates, Tier, Window};
use events::rate::Rate;
use serde::{Deserialize, Serialize};

use crate::names::{Step, candidates, model_of};
use crate::projection::{Context, Order, Projection, SnapshotError, restored, snapshot_of};
use crate::quality::{Axis, fill};
use crate::table::Table;

/// An engine's price, with the event that states it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnginePrice {
    /// The engine, `provider/model`.
    pub engine: String,
    /// Longest prompt + output it takes, in tokens.
    pub context: Option<u32>,
    /// Rates where no tier or window says otherwise.
    pub rates: Rates,
    /// Tiers by prompt size.
    pub tiers: Vec<Tier>,
    /// Windows by time of day.
    pub windows: Vec<Window>,
    /// What it can do.
    pub capabilities: Capabilities,
    /// How good it is said to be.
    pub quality: Quality,
    /// Where the price was read.
    pub source: String,
    /// Position of the price event; `None` for a price from outside the ledger.
    pub seq: Option<Seq>,
}

impl EnginePrice {
    /// The price an event states, or somebody states outside the ledger.
    #[must_use]
    pub fn of(price: &Price<'_>, seq: Option<Seq>) -> Self {
        Self {
            engine: price.engine.as_str().to_owned(),
            context: price.context,
            rates: price.rates,
            tiers: price.tiers.clone(),
            windows: price.windows.clone(),
            capabilities: price.capabilities,
            quality: price.quality,
            source: price.source.as_str().to_owned(),
            seq,
        }
    }

    /// True when it says the same of the same engine, wherever and whenever that was read: what it charges, can do
    /// and is worth. An import that asks only for the prices would keep capabilities a list has since corrected.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        let Self {
            engine,
            context,
            rates,
            tiers,
            windows,
            capabilities,
            quality,
            source: _,
            seq: _,
        } = self;
        (engine, context, rates) == (&other.engine, &other.context, &other.rates)
            && (tiers, windows) == (&other.tiers, &other.windows)
            && (capabilities, quality) == (&other.capabilities, &other.quality)
    }

    /// True when nothing it is known to charge is above zero, at any size of prompt and at any time. Unless both input
    /// and output are known to cost nothing, it is not free but unknown.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let nothing = Some(Rate::ZERO);
        let others = self.tiers.iter().map(|tier| tier.rates);
        let mut all =
            others.chain(self.windows.iter().map(|window| window.rates)).chain([self.rates]);
        (self.rates.input, self.rates.output) == (nothing, nothing)
            && all.all(|rates| charges_nothing(&rates))
    }

    /// True when prompt and output fit the engine's context, or the context is unknown.
    #[must_use]
    pub fn fits(&self, prompt: u32, output: u32) -> bool {
        self.context
            .is_none_or(|context| u64::from(prompt) + u64::from(output) <= u64::from(context))
    }
}

fn charges_nothing(rates: &Rates) -> bool {
    let Rates {
        input,
        output,
        cache_read,
        cache_write_5m,
        cache_write_1h,
        reasoning,
        image,
        request,
    } = *rates;
    let all =
        [input, output, cache_read, cache_write_5m, cache_write_1h, reasoning, image, request];
    all.into_iter().flatten().all(|rate| rate == Rate::ZERO)
}

/// Where a price is from: what is nearer to a person goes first, under whichever of a model's names it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    Policy,
    Ledger,
    List,
}

impl Layer {
    fn of(price: &EnginePrice) -> Self {
        match price.seq {
            Some(_) => Self::Ledger,
            None if price.source == POLICY_SOURCE => Self::Policy,
            None => Self::List,
        }
    }
}

/// Where a price is from when a person says it.
pub const POLICY_SOURCE: &str = "policy";

/// A book's own names: what its last price-book event says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookNames {
    /// Where the prices were read.
    pub source: String,
    /// The day they are of, `YYYY-MM-DD`.
    pub dated: String,
    /// Short names: (alias, engine).
    pub aliases: Vec<(String, String)>,
    /// Recorded models by the start of their name: (prefix, alias or engine).
    pub families: Vec<(String, String)>,
    /// Default comparisons: (label, strategy).
    pub rows: Vec<(String, String)>,
}

impl BookNames {
    const fn has_names(&self) -> bool {
        !self.aliases.is_empty() || !self.families.is_empty() || !self.rows.is_empty()
    }

    fn of(book: &PriceBook<'_>) -> Self {
        let owned = |pairs: &[(Name<'_>, Name<'_>)]| {
            pairs.iter().map(|(a, b)| (a.as_str().to_owned(), b.as_str().to_owned())).collect()
        };
        Self {
            source: book.source.as_str().to_owned(),
            dated: book.dated.as_str().to_owned(),
            aliases: owned(&book.aliases),
            families: owned(&book.families),
            rows: owned(&book.rows),
        }
    }
}

/// Every engine's newest price.
#[derive(Clone, Debug, PartialEq)]
pub struct Book {
    engines: Table<String, EnginePrice>,
    names: Table<(), BookNames>,
    /// What a person says that recorded names stand for: no part of the state a ledger folds to.
    mapped: BTreeMap<String, String>,
    /// What the price of an engine itself says of its quality, where missing axes were filled from elsewhere: no part
    /// of that state either.
    own_quality: BTreeMap<String, Quality>,
}

impl Book {
    /// The engine of this exact id.
    #[must_use]
    pub fn engine(&self, id: &str) -> Option<&EnginePrice> {
        self.engines.get(id)
    }

    /// The engines, by id.
    pub fn engines(&self) -> impl Iterator<Item = &EnginePrice> {
        self.engines.iter().map(|(_, price)| price)
    }

    /// The book's own names.
    #[must_use]
    pub fn names(&self) -> Option<&BookNames> {
        self.names.get(&())
    }

    /// The same book with these prices in the place of its own.
    #[must_use]
    pub fn with(mut self, prices: impl IntoIterator<Item = EnginePrice>) -> Self {
        for price in prices {
            self.own_quality.remove(&price.engine);
            self.engines.insert(price.engine.clone(), price);
        }
        self.settle();
        self
    }

    /// The same book, with the axes an engine's own price does not score filled from elsewhere.
    #[must_use]
    pub fn scored(mut self, elsewhere: impl Fn(&EnginePrice) -> Option<Quality>) -> Self {
        let scored = |price: &EnginePrice| {
            let quality = fill(price.quality, elsewhere(price));
            (quality != price.quality).then(|| (price.engine.clone(), quality))
        };
        let scored: Vec<(String, Quality)> = self.engines().filter_map(scored).collect();
        for (engine, quality) in scored {
            if let Some(price) = self.engines.get_mut(&engine) {
                let own = std::mem::replace(&mut price.quality, quality);
                // A second filling leaves what the price itself says.
                self.own_quality.entry(engine).or_insert(own);
            }
        }
        self.settle();
        self
    }

    /// True when an engine's score on an axis is not its own price's, but filled from elsewhere.
    #[must_use]
    pub fn is_filled(&self, engine: &str, axis: Axis) -> bool {
        let score = |quality: &Quality| axis.of(quality);
        let own = self.own_quality.get(engine);
        own.is_some_and(|own| {
            score(own) != self.engine(engine).and_then(|price| score(&price.quality))
        })
    }

    /// The same book with these names in the place of its own.
    #[must_use]
    pub fn with_names(mut self, names: BookNames) -> Self {
        self.names.insert((), names);
        self.settle();
        self
    }

    /// The same book, with what a person says that recorded names stand for.
    #[must_use]
    pub fn mapping(mut self, mapped: BTreeMap<String, String>) -> Self {
        self.mapped = mapped;
        self
    }

    /// The engine a person's own mapping leads to.
    fn mapped(&self, name: &str) -> Option<(Step, &EnginePrice)> {
        Some((Step::Mapped, self.engine(self.mapped.get(name)?)?))
    }

    /// The engine a person names: an id or an alias.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<(Step, &EnginePrice)> {
        let exact = || self.engine(name).map(|price| (Step::Exact, price));
        self.mapped(name).or_else(exact).or_else(|| {
            let (_, engine) = self.names()?.aliases.iter().find(|(alias, _)| alias == name)?;
            Some((Step::Alias, self.engine(engine)?))
        })
    }

    /// The engine a recorded model name stands for.
    #[must_use]
    pub fn recorded(&self, model: &str) -> Option<(Step, &EnginePrice)> {
        let layers = [Layer::Policy, Layer::Ledger, Layer::List];
        let mut found = layers.into_iter().flat_map(|layer| {
            let found = move |(step, name): (Step, String)| Some((step, self.engine(&name)?));
            candidates(model).filter_map(found).filter(move |(_, price)| Layer::of(price) == layer)
        });
        self.mapped(model).or_else(|| found.next())
    }

    /// Every step from a recorded name towards an engine, best first: the name that is looked for, and what is
    /// there.
    #[must_use]
    pub fn steps(&self, model: &str) -> Vec<(Step, String, Option<&EnginePrice>)> {
        let mapped = self.mapped.get(model).map(|name| (Step::Mapped, name.clone()));
        let steps = mapped.into_iter().chain(candidates(model));
        steps
            .map(|(step, name)| {
                let found = self.engine(&name);
                (step, name, found)
            })
            .collect()
    }

    /// The engine of a recorded model's family: the first whose prefix begins its name.
    #[must_use]
    pub fn family(&self, model: &str) -> Option<(Step, &EnginePrice)> {
        let model = model_of(model);
        let families = &self.names()?.families;
        let (_, name) = families.iter().find(|(prefix, _)| model.starts_with(prefix.as_str()))?;
        Some((Step::Family, self.named(name)?.1))
    }

    /// The short name a book gives an engine, or the engine's id.
    #[must_use]
    pub fn short_name<'a>(&'a self, engine: &'a str) -> &'a str {
        let aliases = self.names().map_or(&[][..], |names| &names.aliases);
        aliases.iter().find(|(_, id)| id == engine).map_or(engine, |(alias, _)| alias)
    }
}

type State = (BTreeMap<String, EnginePrice>, BTreeMap<(), BookNames>);

impl Projection for Book {
    const NAME: &'static str = "book";
    const VERSION: u32 = 3;
    const ORDER: Order = Order::Local;

    fn genesis() -> Self {
        Self {
            engines: Table::new("book.engines"),
            names: Table::new("book.names"),
            mapped: BTreeMap::new(),
            own_quality: BTreeMap::new(),
        }
    }

    fn apply(&mut self, context: &Context, body: &Body<'_>) {
        match body {
            Body::Price(price) => {
                let price = EnginePrice::of(price, Some(context.seq));
                self.engines.insert(price.engine.clone(), price);
            }
            Body::PriceBook(book) => {
                let said = BookNames::of(book);
                let names = match self.names.get(&()) {
                    // A list without names leaves those of the book before.
                    Some(before) if !said.has_names() => {
                        let (source, dated) = (said.source, said.dated);
                        BookNames { source, dated, ..before.clone() }
                    }
                    _ => said,
                };
                self.names.insert((), names);
            }
            _ => {}
        }
    }

    fn settle(&mut self) {
        self.engines.settle();
        self.names.settle();
    }

    fn digest(&self) -> Digest {
        crate::projection::combined(Self::NAME, &[self.engines.digest(), self.names.digest()])
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot_of::<Self>(&(&self.engines, &self.names))
    }

    fn restore(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let (engines, names): State = restored::<Self, _>(bytes)?;
        Ok(Self {
            engines: Table::of("book.engines", engines),
            names: Table::of("book.names", names),
            mapped: BTreeMap::new(),
            own_quality: BTreeMap::new(),
        })
    }
}

#[cfg(test)]
mod tests;
