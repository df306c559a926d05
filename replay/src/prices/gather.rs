//! Entries of any list, checked and brought into one order.

use events::payload::{Capabilities, Name, Quality, Rates, Tier, Window};

use super::abilities::agreed;
use super::rates::without_surcharges;
use super::{ListedPrice, RefusedPrice};

/// Most tiers, and most windows, of one engine: its price has to fit one event.
const OVERRIDES_MAX: usize = 64;
/// Longest entry name, field or value kept of what is refused, in characters.
const SHOWN_MAX: usize = 128;

/// Why an entry is not listed.
#[derive(Debug)]
pub(super) struct Refusal {
    field: String,
    value: String,
    problem: String,
}

impl Refusal {
    pub(super) fn new(field: impl Into<String>, value: &str, problem: impl Into<String>) -> Self {
        Self { field: field.into(), value: value.to_owned(), problem: problem.into() }
    }
}

/// What an entry says of its engine.
#[derive(Debug, Default)]
pub(super) struct Terms {
    pub(super) context: Option<u32>,
    pub(super) rates: Rates,
    pub(super) tiers: Vec<Tier>,
    pub(super) windows: Vec<Window>,
    pub(super) capabilities: Capabilities,
    pub(super) quality: Quality,
}

impl Terms {
    /// Brings the terms into their one form; `None` when neither input nor output has a price.
    fn checked(mut self) -> Result<Option<Self>, Refusal> {
        without_surcharges(&mut self.rates, &Rates::default());
        let base = self.rates;
        let tiers = self.tiers.iter_mut().map(|tier| &mut tier.rates);
        for rates in tiers.chain(self.windows.iter_mut().map(|window| &mut window.rates)) {
            without_surcharges(rates, &base);
        }
        self.tiers.retain(|tier| tier.rates != Rates::default());
        self.tiers.sort_by_key(|tier| tier.from_prompt);
        if let Some(pair) = self.tiers.windows(2).find(|p| p[0].from_prompt == p[1].from_prompt) {
            let from = pair[0].from_prompt.to_string();
            return Err(Refusal::new("tiers", &from, "begins two tiers"));
        }
        for (field, count) in [("tiers", self.tiers.len()), ("windows", self.windows.len())] {
            if count > OVERRIDES_MAX {
                let problem = format!("are more than the {OVERRIDES_MAX} ferry keeps");
                return Err(Refusal::new(field, &count.to_string(), problem));
            }
        }
        let tiers = self.tiers.iter().map(|tier| &tier.rates);
        let windows = self.windows.iter().map(|window| &window.rates);
        let is_priced = tiers
            .chain(windows)
            .chain([&self.rates])
            .any(|rates| rates.input.is_some() || rates.output.is_some());
        Ok(is_priced.then_some(self))
    }
}

/// An entry's engine, and whether the list itself spells it out.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) name: String,
    /// False when the name was put together from two fields.
    pub(super) is_spelled: bool,
}

impl Engine {
    pub(super) const fn spelled(name: String) -> Self {
        Self { name, is_spelled: true }
    }
}

struct Candidate {
    entry: String,
    is_spelled: bool,
    price: ListedPrice,
}

/// The entries of a list, as they are read.
#[derive(Default)]
pub(super) struct Gathered {
    candidates: Vec<Candidate>,
    refused: Vec<RefusedPrice>,
    unpriced: u64,
}

impl Gathered {
    /// Takes an entry: its name in the list, its engine, and its terms if it has any.
    pub(super) fn take(
        &mut self,
        entry: &str,
        engine: Result<Engine, Refusal>,
        terms: Result<Option<Terms>, Refusal>,
    ) {
        let terms = match terms.and_then(|terms| terms.map_or(Ok(None), Terms::checked)) {
            Ok(Some(terms)) => terms,
            Ok(None) => {
                self.unpriced += 1;
                return;
            }
            Err(refusal) => return self.refuse(entry, refusal),
        };
        let engine = engine.and_then(|engine| match Name::new(&engine.name) {
            Ok(_) => Ok(engine),
            Err(_) => {
                let problem = "is no name of 1 to 128 characters of printable ASCII";
                Err(Refusal::new("engine", &engine.name, problem))
            }
        });
        match engine {
            Ok(Engine { name, is_spelled }) => {
                let Terms { context, rates, tiers, windows, capabilities, quality } = terms;
                let price = ListedPrice {
                    engine: name,
                    context,
                    rates,
                    tiers,
                    windows,
                    capabilities,
                    quality,
                };
                self.candidates.push(Candidate { entry: entry.to_owned(), is_spelled, price });
            }
            Err(refusal) => self.refuse(entry, refusal),
        }
    }

    pub(super) fn refuse(&mut self, entry: &str, refusal: Refusal) {
        let Refusal { field, value, problem } = refusal;
        self.refused.push(RefusedPrice {
            entry: shown(entry),
            field: shown(&field),
            value: shown(&value),
            problem,
        });
    }

    /// The listed prices by engine, the refused entries by name, and how many had no price.
    ///
    /// An engine that stands more than once is listed if all its entries agree. Where a name the list
    /// spells out meets one that was put together, the former counts; else none of them does. Entries agree when they
    /// charge the same: what they say beside it is kept as far as they agree on that too.
    pub(super) fn finish(mut self) -> (Vec<ListedPrice>, Vec<RefusedPrice>, u64) {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.sort_by(|a, b| {
            a.price.engine.cmp(&b.price.engine).then(b.is_spelled.cmp(&a.is_spelled))
        });
        let mut prices = Vec::new();
        for group in candidates.chunk_by(|a, b| a.price.engine == b.price.engine) {
            let first = &group[0];
            let best = group.iter().filter(|other| other.is_spelled == first.is_spelled);
            let is_agreed = best.clone().all(|other| charge_the_same(&other.price, &first.price));
            if is_agreed {
                let said =
                    |candidate: &Candidate| (candidate.price.capabilities, candidate.price.quality);
                let (capabilities, quality) = best.map(said).fold(said(first), agreed);
                prices.push(ListedPrice { capabilities, quality, ..first.price.clone() });
            }
            let differs = |other: &&Candidate| !charge_the_same(&other.price, &first.price);
            for other in group.iter().filter(|other| !is_agreed || differs(other)) {
                let problem = "stands more than once, with other terms";
                self.refuse(&other.entry, Refusal::new("engine", &other.price.engine, problem));
            }
        }
        self.refused.sort();
        (prices, self.refused, self.unpriced)
    }
}

fn charge_the_same(a: &ListedPrice, b: &ListedPrice) -> bool {
    (a.context, a.rates, &a.tiers, &a.windows) == (b.context, b.rates, &b.tiers, &b.windows)
}

/// A text of a list as it may be printed: short, and without control characters.
fn shown(text: &str) -> String {
    let printable = |c: char| if matches!(c, ' '..='~') { c } else { '?' };
    text.chars().take(SHOWN_MAX).map(printable).collect()
}
