//! The engines that may take turns, with everything about them that no turn changes, worked out once for many
//! decisions.

use std::collections::{BTreeMap, BTreeSet};

use events::hash::{Domain, Hasher};
use events::ids::Digest;
use events::money::Pico;
use events::payload::{Capabilities, Exclusion, Name, Quality, Rates};
use events::rate::Rate;

use super::field::Field;
use super::patterns::Patterns;
use crate::book::{Book, EnginePrice};
use crate::names::{canonical, model_of};
use crate::policy::{EngineFacts, Permille, ProfileRules, Rules, upstream_of};
use crate::profiles::{guess_class, prior_of, profile};
use crate::quality::{fill, is_never_selectable};
use crate::tariffs::Tariffs;
use crate::tokens::Family;
use crate::work::{Size, Work};

/// Most engines that are looked at under a profile; of more, those whose names come first.
const ENGINES_MAX: usize = u16::MAX as usize;

/// One engine.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// What learned figures know it by.
    pub canonical: String,
    /// What it charges; `None` where nobody knows.
    pub tariffs: Option<Tariffs>,
    /// True when it runs on an upstream of one's own: it is free.
    pub is_local: bool,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Longest prompt and answer together, in tokens.
    pub context: Option<u32>,
    /// How good it is said to be.
    pub quality: Quality,
    /// How it counts tokens.
    pub family: Family,
    /// The family its priors are taken from: a model profile's, or its class.
    pub prior_from: String,
    /// What it counts as costing, times what it costs.
    pub cost_bias: Permille,
    /// -100 to 100: who goes first of those that come to the same.
    pub bias: i8,
    /// The chance of doing each kind of work well before anybody has said anything, in thousandths.
    priors: [[u16; Size::ALL.len()]; Work::ALL.len()],
}

impl Offer {
    fn of(engine: &str, book: &Book, rules: &Rules, biases: &[(Patterns, i8)]) -> Self {
        let is_local = rules.is_local(engine);
        let priced = book.named(engine).or_else(|| book.recorded(engine));
        let listed = priced.map(|(_, price)| price.clone());
        let facts = rules.policy.routing.facts.get(engine).cloned().unwrap_or_default();
        let listed_quality = listed.as_ref().map(|price| price.quality).unwrap_or_default();
        let capabilities = listed.as_ref().map(|price| price.capabilities).unwrap_or_default();
        let context = facts.context.or_else(|| listed.as_ref().and_then(|price| price.context));
        let price = if is_local { Some(free(engine)) } else { listed };
        let (priors, prior_from) = priors(engine, &facts);
        Self {
            name: engine.to_owned(),
            canonical: canonical(engine).into_owned(),
            tariffs: price.filter(has_rates).map(Tariffs::new),
            is_local,
            capabilities: Capabilities {
                tools: facts.tools.or(capabilities.tools),
                images: facts.images.or(capabilities.images),
                reasoning: capabilities.reasoning,
                output: facts.output.or(capabilities.output),
            },
            context,
            quality: fill(facts.quality, [listed_quality]),
            family: Family::of(engine),
            prior_from,
            cost_bias: rules
                .policy
                .routing
                .cost_bias
                .get(upstream_of(engine))
                .copied()
                .unwrap_or(Permille::ONE),
            bias: bias_of(engine, biases),
            priors,
        }
    }

    /// What an amount counts as.
    #[must_use]
    pub fn biased(&self, amount: Pico) -> Pico {
        match self.cost_bias {
            Permille::ONE => amount,
            Permille(bias) => Pico(amount.0.saturating_mul(bias.into()) / 1_000),
        }
    }

    /// The chance of doing a kind of work well before anybody has said anything, in thousandths.
    #[must_use]
    pub const fn prior(&self, work: Work, size: Size) -> u16 {
        self.priors[work.index()][size.index()]
    }

    /// The name events have for it.
    #[must_use]
    pub fn engine(&self) -> Option<Name<'_>> {
        Name::new(&self.name).ok()
    }

    /// True when it costs nothing though it is not one's own.
    fn is_free_tier(&self) -> bool {
        !self.is_local && self.tariffs.as_ref().is_some_and(|tariffs| tariffs.price().is_free())
    }
}

type Priors = [[u16; Size::ALL.len()]; Work::ALL.len()];

fn priors(engine: &str, facts: &EngineFacts) -> (Priors, String) {
    let model = model_of(engine);
    let known = profile(model, engine);
    let class = facts.class.unwrap_or_else(|| guess_class(model));
    let of = |work: Work, size: Size| {
        prior_of(known.as_ref(), Some(class), work, size, &facts.strengths).0
    };
    let priors = Work::ALL.map(|work| Size::ALL.map(|size| of(work, size)));
    let from = known.map_or_else(
        || format!("class {}", class.label()),
        |profile| format!("model profile: {}", profile.family),
    );
    (priors, from)
}

fn bias_of(engine: &str, biases: &[(Patterns, i8)]) -> i8 {
    let matching = biases.iter().filter(|(patterns, _)| patterns.match_any(engine));
    matching.map(|(_, bias)| *bias).max().unwrap_or(0)
}

/// The engines of a policy at their prices, until a price or the policy changes.
#[derive(Clone, Debug)]
pub struct Market {
    book: Book,
    /// By canonical name, then name.
    offers: Vec<Offer>,
    by_name: BTreeMap<String, usize>,
    /// What is in the field under each profile.
    fields: BTreeMap<String, Field>,
    /// And under profiles the policy does not know.
    other: Field,
    /// Digest of everything decisions take from it.
    pub(super) digest: Digest,
}

impl Market {
    /// The engines of a policy by the prices that count.
    #[must_use]
    pub fn new(book: Book, rules: &Rules) -> Self {
        let biases: Vec<(Patterns, i8)> = rules
            .policy
            .routing
            .bias
            .iter()
            .map(|(pattern, bias)| (Patterns::new([pattern.as_str()]), *bias))
            .collect();
        let profiles = || rules.profiles().map(|(_, profile)| profile).chain([rules.other()]);
        let mut names: Vec<String> =
            profiles().flat_map(|profile| engines_of(profile, &book, rules)).collect();
        names.sort_unstable();
        names.dedup();
        let mut offers: Vec<Offer> =
            names.iter().map(|name| Offer::of(name, &book, rules, &biases)).collect();
        offers.sort_unstable_by(|a, b| (&a.canonical, &a.name).cmp(&(&b.canonical, &b.name)));
        let by_name: BTreeMap<String, usize> =
            offers.iter().enumerate().map(|(index, offer)| (offer.name.clone(), index)).collect();
        let field = |profile: &ProfileRules| {
            let places = places((profile, rules), &book, &by_name);
            Field::new(profile, &rules.policy.routing, &offers, &places, standing(profile, rules))
        };
        let fields = rules.profiles().map(|(name, profile)| (name.to_owned(), field(profile)));
        let fields = fields.collect();
        let other = field(rules.other());
        let digest = digest_of(&offers);
        Self { book, offers, by_name, fields, other, digest }
    }

    /// The engines, by canonical name.
    #[must_use]
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// One engine, by its place and name.
    #[must_use]
    pub fn offer(&self, engine: &str) -> Option<(usize, &Offer)> {
        let index = *self.by_name.get(engine)?;
        Some((index, self.offers.get(index)?))
    }

    /// The engines that may take turns under a profile.
    #[must_use]
    pub fn field(&self, profile: &str) -> &Field {
        self.fields.get(profile).unwrap_or(&self.other)
    }

    /// What an engine charges that served a turn, whoever chose it.
    #[must_use]
    pub fn tariffs(&self, engine: &str) -> Option<Tariffs> {
        let priced = || Some(self.book.recorded(engine)?.1.clone());
        match self.offer(engine) {
            Some((_, offer)) => offer.tariffs.clone(),
            None => priced().map(Tariffs::new),
        }
    }

    /// The prices they are from.
    #[must_use]
    pub const fn book(&self) -> &Book {
        &self.book
    }
}

/// The engines a profile names; else all that lie behind its upstreams: those with a price, and those people tell of.
fn engines_of(profile: &ProfileRules, book: &Book, rules: &Rules) -> Vec<String> {
    if !profile.engines.is_empty() {
        return profile.engines.clone();
    }
    let priced = book.engines().map(|price| &price.engine);
    let told = rules.policy.routing.facts.keys();
    let is_behind =
        |engine: &&String| profile.upstreams.iter().any(|upstream| upstream == upstream_of(engine));
    let behind: BTreeSet<&String> = priced.chain(told).filter(is_behind).collect();
    let named = behind.into_iter().filter(|engine| Name::new(engine).is_ok());
    named.take(ENGINES_MAX).cloned().collect()
}

/// Each engine of a profile by its place among the offers, in the profile's own order.
fn places(
    (profile, rules): (&ProfileRules, &Rules),
    book: &Book,
    by_name: &BTreeMap<String, usize>,
) -> Vec<usize> {
    let engines = engines_of(profile, book, rules);
    engines.iter().filter_map(|engine| by_name.get(engine)).copied().collect()
}

/// Says of an engine why no turn of a profile goes there, whatever the turn (router facts 4.1, 2 to 4).
fn standing(profile: &ProfileRules, rules: &Rules) -> impl Fn(&Offer) -> Option<Exclusion> {
    let allow = Patterns::new(profile.allow.iter().map(String::as_str));
    let deny = Patterns::new(profile.deny.iter().map(String::as_str));
    let include_free = rules.policy.routing.include_free;
    move |offer: &Offer| {
        let engine = offer.name.as_str();
        if is_never_selectable(engine) && !offer.is_local {
            Some(Exclusion::Denylisted)
        } else if !allow.is_empty() && !allow.match_any(engine) {
            Some(Exclusion::NotAllowlisted)
        } else if deny.match_any(engine) {
            Some(Exclusion::Denylisted)
        } else if !include_free && offer.is_free_tier() {
            Some(Exclusion::FreeTierExcluded)
        } else {
            None
        }
    }
}

fn digest_of(offers: &[Offer]) -> Digest {
    let mut hasher = Hasher::new(Domain::Decision);
    for offer in offers {
        hasher.part(offer.name.as_bytes());
        let price = offer.tariffs.as_ref().map(Tariffs::price);
        let terms = price.map(|price| (price.rates, &price.tiers, &price.windows));
        let facts =
            (terms, offer.context, offer.capabilities, offer.quality, offer.bias, offer.cost_bias);
        // Writing plain data to memory has no way to fail.
        hasher.part(&rmp_serde::to_vec(&(facts, offer.priors)).unwrap_or_default());
    }
    hasher.finish()
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
        capabilities: Capabilities::default(),
        quality: Quality::default(),
        source: "local".to_owned(),
        seq: None,
    }
}

/// What a million tokens cost.
#[must_use]
pub(super) fn per_million(rate: Option<Rate>) -> Option<Pico> {
    rate.map(|rate| rate.times(1_000_000))
}
