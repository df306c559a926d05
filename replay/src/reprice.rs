//! What gathered turns would have cost under a strategy.

use std::collections::BTreeMap;

use events::cost::Cost;
use events::ids::Millis;
use events::money::Pico;
use events::payload::{Parts, Rates};
use projections::book::{Book, EnginePrice};
use projections::cache::{CacheRules, LaneCache};
use projections::cost::{Quantities, Tariffs};
use projections::days::day_of;
use projections::gather::{Call, Window};

use crate::strategy::{CacheOptions, Choice, Per, Strategy, Ttl, WriteKind};

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

/// Why a strategy cannot be priced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepriceError {
    /// The book has no such engine.
    #[error("the price book has no '{name}'{}", near_text(near))]
    UnknownModel {
        /// The name.
        name: String,
        /// Names of the book that look like it.
        near: Vec<String>,
    },
}

fn near_text(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
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
        self.unknown_usage += turn.unknown_usage;
        self.assumed_prefix += turn.assumed_prefix;
        self.as_reported += turn.as_reported;
    }
}

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

/// What a strategy came to.
#[derive(Clone, Debug)]
pub struct Priced {
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

/// The engines a strategy may choose, resolved against a book.
enum Chooser {
    One(Tariffs),
    /// By the call's recorded engine.
    Recorded(Vec<Option<Tariffs>>),
    Mix {
        per: Per,
        share: crate::strategy::Share,
        strong: Tariffs,
        weak: Tariffs,
    },
    ToolResult {
        then: Tariffs,
        otherwise: Tariffs,
    },
}

impl Chooser {
    fn new(choice: &Choice, book: &Book, window: &Window) -> Result<Self, RepriceError> {
        let named = |name: &str| named(book, name).cloned().map(Tariffs::new);
        let recorded = |resolve: &dyn Fn(&str) -> Option<EnginePrice>| {
            let engines = window.models.iter().map(|model| resolve(model).map(Tariffs::new));
            Self::Recorded(engines.collect())
        };
        Ok(match choice {
            Choice::All(model) => Self::One(named(model)?),
            Choice::Recorded => recorded(&|model| Some(book.recorded(model)?.1.clone())),
            Choice::RecordedFamily => recorded(&|model| Some(book.family(model)?.1.clone())),
            Choice::Mix { per, share, strong, weak } => {
                Self::Mix { per: *per, share: *share, strong: named(strong)?, weak: named(weak)? }
            }
            Choice::ToolResult { then, otherwise } => {
                Self::ToolResult { then: named(then)?, otherwise: named(otherwise)? }
            }
        })
    }

    fn choose(&self, call: &Call) -> Option<&Tariffs> {
        match self {
            Self::One(engine) => Some(engine),
            Self::Recorded(engines) => engines[call.engine as usize].as_ref(),
            Self::Mix { per, share, strong, weak } => {
                let coin = if *per == Per::Turn { call.turn_coin } else { call.session_coin };
                Some(if share.takes(coin) { strong } else { weak })
            }
            Self::ToolResult { then, otherwise } => {
                Some(if call.news.contains(Parts::TOOL_RESULT) { then } else { otherwise })
            }
        }
    }
}

fn named<'b>(book: &'b Book, name: &str) -> Result<&'b EnginePrice, RepriceError> {
    book.named(name).map(|(_, engine)| engine).ok_or_else(|| {
        let aliases = book.names().into_iter().flat_map(|names| &names.aliases);
        let known =
            aliases.map(|(alias, _)| alias).chain(book.engines().map(|price| &price.engine));
        let near = known.filter(|known| looks_like(known, name)).take(3).cloned().collect();
        RepriceError::UnknownModel { name: name.to_owned(), near }
    })
}

/// True when one name holds the other, or a few keystrokes lead from one to the other.
fn looks_like(known: &str, name: &str) -> bool {
    let (known, name) = (known.to_ascii_lowercase(), name.to_ascii_lowercase());
    known.contains(&name)
        || name.contains(&known)
        || strsim::damerau_levenshtein(&known, &name) <= 1 + name.len() / 5
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
    let chooser = Chooser::new(&strategy.choice, book, window)?;
    let stated = strategy.cache.or(options.cache);
    let naive = match (&chooser, options.recorded_hits) {
        (Chooser::One(engine), Some(_)) => Some(NaiveSums::new(engine.price())),
        _ => None,
    };
    let mut pricing = Pricing {
        window,
        book,
        rules: Rules::of(stated),
        // The provider's own figures beat the model, unless somebody asks for other rules.
        trusts_reports: strategy.choice == Choice::Recorded && stated == CacheOptions::default(),
        records: matches!(strategy.choice, Choice::Recorded | Choice::RecordedFamily),
        options,
        naive,
        priced: Priced {
            totals: Totals::default(),
            days: BTreeMap::new(),
            by: BTreeMap::new(),
            naive: None,
            hits: Vec::new(),
        },
    };
    for lane in window.calls.chunk_by(|a, b| a.lane == b.lane) {
        pricing.lane(&chooser, lane);
    }
    Ok(pricing.finish())
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

impl Pricing<'_> {
    fn lane(&mut self, chooser: &Chooser, calls: &[Call]) {
        let mut cache = LaneCache::new();
        let mut last = None;
        for call in calls {
            // An attempt that failed is a recorded cost, and nothing another strategy would have had.
            if !call.served && !self.records {
                continue;
            }
            let engine = chooser.choose(call);
            let mut turn = self.turn(call, engine, &mut cache);
            if call.served {
                let here = identity(call, engine);
                turn.switches = u64::from(last.is_some_and(|last| last != here));
                last = Some(here);
            }
            self.book(call, engine, &turn);
        }
    }

    fn turn(&mut self, call: &Call, engine: Option<&Tariffs>, cache: &mut LaneCache) -> Totals {
        let (prompt, output) = (call.prompt.get(), call.output.get());
        let mut turn = Totals {
            turns: u64::from(call.served),
            prompt: prompt.map_or(0, u64::from),
            output: output.map_or(0, u64::from),
            unknown_usage: u64::from(call.served && (prompt.is_none() || output.is_none())),
            ..Totals::default()
        };
        let reported = self.trusts_reports && call.cache_read.get().is_some();
        let mut quantities = Quantities::reported(&call.usage());
        if reported {
            turn.as_reported = turn.turns;
            turn.cache_read = quantities.cache_read.map_or(0, u64::from);
        } else if let Some(prompt) = prompt {
            let identity = identity(call, engine);
            let hit = self
                .rules
                .cache
                .map(|rules| cache.serve(rules, identity, call.at, prompt, call.prefix.get()));
            turn.assumed_prefix = u64::from(call.served && hit.is_some_and(|h| h.assumed_prefix));
            turn.cache_read = hit.map_or(0, |hit| u64::from(hit.tokens));
            quantities = self.modelled(quantities, prompt, hit.map(|hit| hit.tokens));
        }
        if call.served {
            self.priced.hits.push(u32::try_from(turn.cache_read).unwrap_or(u32::MAX));
        }
        let Some(engine) = engine else {
            turn.cost = Cost::UNKNOWN;
            turn.unknown_price = turn.turns;
            return turn;
        };
        turn.cost = engine.cost(call.at, &quantities);
        turn.unknown_price =
            u64::from(call.served && turn.cost.incomplete && turn.unknown_usage == 0);
        let misfit =
            prompt.zip(output).is_some_and(|(prompt, output)| !engine.price().fits(prompt, output));
        turn.misfits = u64::from(call.served && misfit);
        if let Some(naive) = &mut self.naive {
            let index = self.priced.hits.len().saturating_sub(1);
            let recorded = self.options.recorded_hits.and_then(|hits| hits.get(index)).copied();
            naive.add(call.at, quantities, recorded.unwrap_or(0));
        }
        turn
    }

    /// The prompt's split by the cache model: what is not read is written. `None` is no cache.
    fn modelled(&self, reported: Quantities, prompt: u32, hit: Option<u32>) -> Quantities {
        let rest = Some(prompt - hit.unwrap_or(0));
        let (five_minutes, one_hour) = match self.rules.write {
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

/// What tells engines apart for caches and switches: the price event, or the name of an unpriced model.
fn identity(call: &Call, engine: Option<&Tariffs>) -> u64 {
    match engine {
        Some(engine) => engine.price().seq << 1,
        None => u64::from(call.engine) << 1 | 1,
    }
}

/// The UTC day of an instant, `YYYY-MM-DD`.
#[must_use]
pub fn date(at: Millis) -> String {
    date_of_day(day_of(at))
}

/// A day counted from 1970-01-01 as `YYYY-MM-DD`.
#[must_use]
pub fn date_of_day(day: u32) -> String {
    let epoch = jiff::civil::date(1970, 1, 1);
    epoch.saturating_add(jiff::Span::new().days(i32::try_from(day).unwrap_or(i32::MAX))).to_string()
}

/// Sums of a single model's turns under ever more of the truth.
struct NaiveSums {
    /// Base rates without write rates.
    plain: Tariffs,
    /// Base rates.
    base: Tariffs,
    recorded_hits: Cost,
    own_hits: Cost,
    with_writes: Cost,
}

impl NaiveSums {
    fn new(engine: &EnginePrice) -> Self {
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

    fn add(&mut self, at: Millis, own: Quantities, recorded_hit: u32) {
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

    fn against(&self, fair: Cost) -> Naive {
        Naive {
            cost: self.recorded_hits,
            own_cache: self.own_hits.known - self.recorded_hits.known,
            cache_writes: self.with_writes.known - self.own_hits.known,
            tiers: fair.known - self.with_writes.known,
        }
    }
}
