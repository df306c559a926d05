//! What gathered turns would have cost under a strategy.

use std::collections::BTreeMap;

use events::cost::Cost;
use events::payload::CacheTtl;
use projections::book::{Book, EnginePrice};
use projections::cache::{CacheRules, LaneCache};
use projections::cost::Quantities;
use projections::days::day_of;
use projections::gather::{Call, Window};
use projections::names::Step;
use projections::routing::habits::ttl_ms;
use projections::tariffs::Tariffs;

use crate::chooser::{Chooser, identity};
pub use crate::chooser::{EngineUse, RepriceError};
use crate::counterfactual::Chosen;
use crate::dates::date;
use crate::naive::{Naive, NaiveSums};
use crate::strategy::{CacheOptions, Choice, Strategy, Ttl, WriteKind};

/// The time to live where nobody says otherwise: Anthropic's shorter one.
pub const DEFAULT_TTL_SECONDS: u32 = 300;

/// What rows are broken down by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The engine that takes the turn.
    Model,
    /// The UTC day the turn arrived.
    Day,
    /// The conversation.
    Conversation,
}

/// Sums over turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Turns.
    pub turns: u64,
    /// What they cost at list price.
    pub cost: Cost,
    /// Prompt tokens.
    pub prompt: u64,
    /// Of them: read from the cache.
    pub cache_read: u64,
    /// Answer tokens.
    pub output: u64,
    /// Turns that went to another engine than the turn before in their lane.
    pub switches: u64,
    /// Turns longer than the engine's context.
    pub misfits: u64,
    /// Turns whose price is not known, in whole or in part.
    pub unknown_price: u64,
    /// Turns priced with a rate that another stands in for, and which cost at least this.
    pub at_least: u64,
    /// Turns whose usage is not known, in whole or in part.
    pub unknown_usage: u64,
    /// Turns whose cached tokens are the shorter of two prompts, the shared prefix being unknown.
    pub assumed_prefix: u64,
    /// Turns whose cached tokens are those the provider reported.
    pub as_reported: u64,
}

impl Totals {
    fn add(&mut self, turn: &Self) {
        self.turns += turn.turns;
        self.cost += turn.cost;
        self.prompt += turn.prompt;
        self.cache_read += turn.cache_read;
        self.output += turn.output;
        self.switches += turn.switches;
        self.misfits += turn.misfits;
        self.unknown_price += turn.unknown_price;
        self.at_least += turn.at_least;
        self.unknown_usage += turn.unknown_usage;
        self.assumed_prefix += turn.assumed_prefix;
        self.as_reported += turn.as_reported;
    }
}

/// What a strategy came to.
#[derive(Clone, Debug)]
pub struct Priced {
    /// The engines it chose from.
    pub engines: Vec<EngineUse>,
    /// Sums over all turns.
    pub totals: Totals,
    /// Cost per UTC day.
    pub days: BTreeMap<u32, Cost>,
    /// Sums broken down, if asked for.
    pub by: BTreeMap<String, Totals>,
    /// For a single model: the naive figure and why it differs.
    pub naive: Option<Naive>,
    /// Cached tokens of each served call, in the window's order: what naive figures are made with.
    pub hits: Vec<u32>,
}

/// How a strategy is to be priced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'h> {
    /// Rules where the strategy states none.
    pub cache: CacheOptions,
    /// What to break sums down by.
    pub by: Option<By>,
    /// Cached tokens of the recorded row, for the naive figure of a single model.
    pub recorded_hits: Option<&'h [u32]>,
}

/// How one call was priced.
#[derive(Clone, Copy, Debug)]
pub struct PricedCall<'p> {
    /// The engine whose rates apply; `None` when none is known.
    pub engine: Option<&'p EnginePrice>,
    /// What was to be paid for.
    pub quantities: Quantities,
    /// What it cost, and what is to be said of it.
    pub totals: Totals,
}

/// Is shown each call as it is priced, lane by lane.
pub type EachCall<'e> = dyn FnMut(&Call, &PricedCall<'_>) + 'e;

/// Prices a strategy over gathered turns.
///
/// # Errors
/// [`RepriceError`] when the strategy names an engine the book does not have.
pub fn price(
    window: &Window,
    book: &Book,
    strategy: &Strategy,
    options: Options<'_>,
) -> Result<Priced, RepriceError> {
    price_each(window, book, strategy, options, &mut |_, _| {})
}

/// The same, showing each call.
///
/// # Errors
/// As [`price`].
pub fn price_each(
    window: &Window,
    book: &Book,
    strategy: &Strategy,
    options: Options<'_>,
    each: &mut EachCall<'_>,
) -> Result<Priced, RepriceError> {
    let mut engines = Vec::new();
    let chooser = Chooser::new(&strategy.choice, book, window, &mut engines)?;
    let stated = strategy.cache.or(options.cache);
    let naive = match (&chooser, options.recorded_hits) {
        (Chooser::One(engine), Some(_)) => Some(NaiveSums::new(engine.price())),
        _ => None,
    };
    let mut pricing = Pricing {
        // The provider's own figures beat the model, unless somebody asks for other rules.
        trusts_reports: strategy.choice == Choice::Recorded && stated == CacheOptions::default(),
        records: matches!(strategy.choice, Choice::Recorded | Choice::RecordedFamily),
        naive,
        ..Pricing::new(window, book, Rules::of(stated), options, engines)
    };
    pricing.run(&chooser, each);
    Ok(pricing.finish())
}

/// Prices what a policy decided. Turns it refused are no part of it.
#[must_use]
pub fn price_decided(window: &Window, book: &Book, chosen: Chosen, options: Options<'_>) -> Priced {
    let uses = chosen.engines.iter().map(|engine| {
        let price = engine.price();
        EngineUse::of(&price.engine, Some((Step::Exact, price)))
    });
    let (uses, rules) = (uses.collect(), Rules::of(options.cache));
    let mut pricing = Pricing::new(window, book, rules, options, uses);
    pricing.run(&Chooser::Decided(chosen), &mut |_, _| {});
    pricing.finish()
}

#[derive(Clone, Copy)]
struct Rules {
    cache: Option<CacheRules>,
    write: WriteKind,
}

impl Rules {
    fn of(options: CacheOptions) -> Self {
        let ttl_ms = match options.ttl.unwrap_or(Ttl::Seconds(DEFAULT_TTL_SECONDS)) {
            Ttl::Seconds(seconds) => Some(u64::from(seconds) * 1_000),
            Ttl::Never => None,
        };
        Self {
            cache: (!options.off).then_some(CacheRules { ttl_ms }),
            write: options.write.unwrap_or(WriteKind::FiveMinutes),
        }
    }

    /// The prompt's split by the cache model: what is not read is written. `None` is no cache.
    fn split(self, reported: Quantities, prompt: u32, hit: Option<u32>) -> Quantities {
        let rest = Some(prompt - hit.unwrap_or(0));
        let (five_minutes, one_hour) = match self.write {
            WriteKind::FiveMinutes => (rest, Some(0)),
            WriteKind::OneHour => (Some(0), rest),
        };
        match hit {
            None => Quantities {
                uncached: rest,
                cache_read: Some(0),
                cache_write_5m: Some(0),
                cache_write_1h: Some(0),
                ..reported
            },
            Some(_) => Quantities {
                uncached: Some(0),
                cache_read: hit,
                cache_write_5m: five_minutes,
                cache_write_1h: one_hour,
                ..reported
            },
        }
    }
}

struct Pricing<'a> {
    window: &'a Window,
    book: &'a Book,
    rules: Rules,
    trusts_reports: bool,
    records: bool,
    options: Options<'a>,
    naive: Option<NaiveSums>,
    priced: Priced,
}

impl<'a> Pricing<'a> {
    fn new(
        window: &'a Window,
        book: &'a Book,
        rules: Rules,
        options: Options<'a>,
        engines: Vec<EngineUse>,
    ) -> Self {
        let priced = Priced {
            engines,
            totals: Totals::default(),
            days: BTreeMap::new(),
            by: BTreeMap::new(),
            naive: None,
            hits: Vec::new(),
        };
        let (trusts_reports, records, naive) = (false, false, None);
        Self { window, book, rules, trusts_reports, records, options, naive, priced }
    }

    fn run(&mut self, chooser: &Chooser, each: &mut EachCall<'_>) {
        let mut first = 0;
        for lane in self.window.calls.chunk_by(|a, b| a.lane == b.lane) {
            self.lane(chooser, (first, lane), each);
            first += lane.len();
        }
    }

    fn lane(
        &mut self,
        chooser: &Chooser,
        (first, calls): (usize, &[Call]),
        each: &mut EachCall<'_>,
    ) {
        let mut cache = LaneCache::new();
        let mut last = None;
        for (index, call) in (first..).zip(calls) {
            // An attempt that failed is a recorded cost, and nothing another strategy would have had.
            if !call.served && !self.records {
                continue;
            }
            let engine = chooser.choose(index, call);
            // Nobody served what a policy refused.
            if engine.is_none() && matches!(chooser, Chooser::Decided(_)) {
                continue;
            }
            let rules = self.rules_of(chooser.ttl(index));
            let (mut turn, quantities) = self.turn(call, engine, rules, &mut cache);
            if call.served {
                let here = identity(call, engine);
                turn.switches = u64::from(last.is_some_and(|last| last != here));
                last = Some(here);
            }
            self.book(call, engine, &turn);
            let engine = engine.map(Tariffs::price);
            each(call, &PricedCall { engine, quantities, totals: turn });
        }
    }

    /// Unless somebody states how caches behave, writes are kept as long as was decided.
    fn rules_of(&self, decided: Option<CacheTtl>) -> Rules {
        match decided.filter(|_| self.options.cache == CacheOptions::default()) {
            None => self.rules,
            Some(ttl) => Rules {
                cache: Some(CacheRules { ttl_ms: Some(ttl_ms(ttl)) }),
                write: match ttl {
                    CacheTtl::FiveMinutes => WriteKind::FiveMinutes,
                    CacheTtl::OneHour => WriteKind::OneHour,
                },
            },
        }
    }

    fn turn(
        &mut self,
        call: &Call,
        engine: Option<&Tariffs>,
        rules: Rules,
        cache: &mut LaneCache,
    ) -> (Totals, Quantities) {
        let (prompt, output) = (call.prompt.get(), call.output.get());
        let served = u64::from(call.served);
        let mut turn = Totals {
            turns: served,
            prompt: prompt.map_or(0, u64::from),
            output: output.map_or(0, u64::from),
            unknown_usage: served * u64::from(prompt.is_none() || output.is_none()),
            ..Totals::default()
        };
        let quantities = self.split(call, engine, (rules, cache), &mut turn);
        if call.served {
            self.priced.hits.push(u32::try_from(turn.cache_read).unwrap_or(u32::MAX));
        }
        let Some(engine) = engine else {
            turn.cost = Cost::UNKNOWN;
            turn.unknown_price = served;
            return (turn, quantities);
        };
        turn.cost = engine.cost(call.at, &quantities);
        if turn.cost.incomplete && turn.unknown_usage == 0 {
            let bill = engine.at(call.at, quantities.prompt()).bill(&quantities);
            let is_missing = bill.parts.iter().any(|part| part.amount.is_none());
            turn.unknown_price = served * u64::from(is_missing);
            turn.at_least = served - turn.unknown_price;
        }
        let misfit = prompt.zip(output).is_some_and(|(p, o)| !engine.price().fits(p, o));
        turn.misfits = served * u64::from(misfit);
        if let Some(naive) = &mut self.naive {
            let index = self.priced.hits.len().saturating_sub(1);
            let recorded = self.options.recorded_hits.and_then(|hits| hits.get(index)).copied();
            naive.add(call.at, quantities, recorded.unwrap_or(0));
        }
        (turn, quantities)
    }

    /// How the prompt splits: as the provider reported it, or as the cache model has it. Either way the
    /// model learns what is warm now.
    fn split(
        &self,
        call: &Call,
        engine: Option<&Tariffs>,
        (rules, cache): (Rules, &mut LaneCache),
        turn: &mut Totals,
    ) -> Quantities {
        let reported = Quantities::reported(&call.usage());
        let Some(prompt) = call.prompt.get() else { return reported };
        let hit = rules.cache.map(|rules| {
            cache.serve(rules, identity(call, engine), call.at, prompt, call.prefix.get())
        });
        if let Some(read) = call.cache_read.get().filter(|_| self.trusts_reports) {
            turn.as_reported = turn.turns;
            turn.cache_read = u64::from(read);
            return reported;
        }
        turn.assumed_prefix = turn.turns * u64::from(hit.is_some_and(|hit| hit.assumed_prefix));
        turn.cache_read = hit.map_or(0, |hit| u64::from(hit.tokens));
        rules.split(reported, prompt, hit.map(|hit| hit.tokens))
    }

    fn book(&mut self, call: &Call, engine: Option<&Tariffs>, turn: &Totals) {
        self.priced.totals.add(turn);
        *self.priced.days.entry(day_of(call.at)).or_default() += turn.cost;
        let key = match self.options.by {
            None => return,
            Some(By::Day) => date(call.at),
            Some(By::Conversation) => self.window.conversations[call.conversation as usize].clone(),
            Some(By::Model) => match engine {
                Some(engine) => self.book.short_name(&engine.price().engine).to_owned(),
                None => format!("{} (no price)", self.window.models[call.engine as usize]),
            },
        };
        self.priced.by.entry(key).or_default().add(turn);
    }

    fn finish(mut self) -> Priced {
        let fair = self.priced.totals.cost;
        self.priced.naive = self.naive.map(|sums| sums.against(fair));
        self.priced
    }
}
