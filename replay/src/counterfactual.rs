//! What a policy would have decided: recorded turns, one after another, in a world of the policy's own.
//!
//! Of a turn only what was recorded is known: counts, not words. Its cache, holds, budgets and experience are the
//! policy's, not those of what happened; what engines are said to be is as of the newest prices.

use std::collections::BTreeMap;

use events::bytes::Bytes;
use events::event::Body;
use events::hash::{Domain, Hasher};
use events::ids::{AuthorId, Digest, Subject};
use events::payload::{
    Ask, CacheTtl, Charge, ChargeBasis, Choice, Dispatch, DispatchResult, Ending, Features, Finish,
    Name, NameError, Parts, RawPairs, Turn, TurnClosed, TurnTier,
};
use events::usage::Usage;
use projections::book::Book;
use projections::cache::{CacheRules, LaneCache};
use projections::classify::TERMS;
use projections::cost::{PartKind, Quantities};
use projections::decide::Decision;
use projections::gather::{Call, Window};
use projections::projection::{Context, Projection as _};
use projections::routing::habits::ttl_ms;
use projections::tariffs::Tariffs;
use projections::world::World;
use serde::Serialize;

use crate::decider::Decider;
use crate::policy_file::PolicyFileError;

/// Turns after which the world's tables are settled.
const SETTLED_EVERY: usize = 4_096;
/// The profile that turns are decided under.
const PROFILE: &str = "auto";

/// Why turns were not decided again.
#[derive(Debug, thiserror::Error)]
pub enum CounterfactualError {
    /// The policy makes no sense to this ferry.
    #[error(transparent)]
    Policy(#[from] PolicyFileError),
    /// A name of the program's own is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A decision does not decode. No build that passes its tests meets this.
    #[error(transparent)]
    Decode(#[from] rmp_serde::decode::Error),
}

/// What a policy decided, all turns together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// Turns that were decided.
    pub turns: u64,
    /// Of them: refused.
    pub refused: u64,
    /// Turns that were not decided: nobody knows how long their prompts were.
    pub unknown_prompts: u64,
    /// Engines that were looked at for each.
    pub engines: u64,
    /// Of the terms of their scores: how many were known, of how many.
    pub terms_known: (u64, u64),
    /// Turns by the tier they were served at.
    pub tiers: BTreeMap<&'static str, u64>,
    /// Turns by how their engine came to be chosen.
    pub choices: BTreeMap<&'static str, u64>,
    /// Turns by engine.
    pub served_by: BTreeMap<String, u64>,
    /// Digest over every decision's event.
    pub digest: Digest,
}

impl Decided {
    const NOTHING: Self = Self {
        turns: 0,
        refused: 0,
        unknown_prompts: 0,
        engines: 0,
        terms_known: (0, 0),
        tiers: BTreeMap::new(),
        choices: BTreeMap::new(),
        served_by: BTreeMap::new(),
        digest: Digest::ZERO,
    };
}

/// Where a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Went {
    /// The engine, by its place among [`Chosen::engines`].
    pub engine: u32,
    /// How long its cache writes are kept.
    pub ttl: CacheTtl,
}

/// The engine each call of a window goes to.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The engines.
    pub engines: Vec<Tariffs>,
    /// By call; `None` for calls that were not decided, or refused.
    pub by_call: Vec<Option<Went>>,
    /// All turns together.
    pub decided: Decided,
}

/// Lets a decider decide a window's served calls, in the order they arrived.
///
/// # Errors
/// [`CounterfactualError`].
pub fn choose(
    window: &Window,
    book: &Book,
    decider: Decider,
    seen: &mut dyn FnMut(),
) -> Result<Chosen, CounterfactualError> {
    let mut order: Vec<usize> =
        (0..window.calls.len()).filter(|index| window.calls[*index].served).collect();
    order.sort_by_key(|index| (window.calls[*index].at, window.calls[*index].turn));
    let mut variant = Variant::new(window, book, decider);
    for (done, index) in order.into_iter().enumerate() {
        variant.decide(index)?;
        if done % SETTLED_EVERY == 0 {
            variant.world.settle();
        }
        seen();
    }
    Ok(variant.finish())
}

/// What a lane has sent so far.
#[derive(Clone, Default)]
struct Sent {
    cache: LaneCache,
    messages: u32,
    loop_depth: u16,
}

struct Variant<'w> {
    window: &'w Window,
    decider: Decider,
    world: World,
    lanes: BTreeMap<u32, Sent>,
    places: BTreeMap<String, u32>,
    chosen: Chosen,
    hasher: Hasher,
}

impl<'w> Variant<'w> {
    fn new(window: &'w Window, book: &Book, decider: Decider) -> Self {
        let world = World { book: book.clone(), ..World::genesis() };
        let chosen = Chosen {
            engines: Vec::new(),
            by_call: vec![None; window.calls.len()],
            decided: Decided::NOTHING,
        };
        let (lanes, places) = (BTreeMap::new(), BTreeMap::new());
        let hasher = Hasher::new(Domain::Decision);
        Self { window, decider, world, lanes, places, chosen, hasher }
    }

    fn decide(&mut self, index: usize) -> Result<(), CounterfactualError> {
        let call = &self.window.calls[index];
        let features = self.features(index);
        if call.prompt.get().is_none() {
            self.chosen.decided.unknown_prompts += 1;
            return Ok(());
        }
        let turn = turn_of(call, ask(call, features)?)?;
        self.tell(call, &Body::Turn(turn));
        if let Some((engine, ttl)) = self.dispatch(call)? {
            let went = self.place(&engine)?.map(|engine| Went { engine, ttl });
            self.chosen.by_call[index] = went;
            self.answer(call, &engine, went)?;
        }
        let closed = TurnClosed { ending: Ending::Committed, attempts: 1, bytes_sent: None };
        self.tell(call, &Body::TurnClosed(closed));
        Ok(())
    }

    /// What is known of a recorded request: counts, and what follows from them.
    fn features(&mut self, index: usize) -> Features {
        let call = &self.window.calls[index];
        let next = self.window.calls.get(index + 1).filter(|next| next.lane == call.lane);
        let is_told = call.news != Parts::default();
        let continues = call.news.contains(Parts::TOOL_RESULT);
        let lane = self.lanes.entry(call.lane).or_default();
        lane.messages = lane.messages.saturating_add(if continues { 0 } else { 1 });
        lane.loop_depth = if continues { lane.loop_depth.saturating_add(2) } else { 0 };
        let (messages, loop_depth) = (lane.messages, lane.loop_depth);
        // The answer is a message of the next request.
        lane.messages = messages.saturating_add(1);
        let (prompt, prefix) = (call.prompt.get(), call.prefix.get());
        // Whoever gets results, or calls in answer, had tools on offer.
        let calls_tools = next.is_some_and(|next| next.news.contains(Parts::TOOL_RESULT));
        Features {
            prompt_tokens: prompt,
            new_tokens: prompt.zip(prefix).map(|(prompt, prefix)| prompt.saturating_sub(prefix)),
            depth: Some(messages),
            tools: (continues || calls_tools).then_some(1),
            continues: is_told.then_some(continues),
            loop_depth: is_told.then_some(loop_depth),
            images: call.images.get(),
            ..Features::default()
        }
    }

    fn dispatch(&mut self, call: &Call) -> Result<Option<(String, CacheTtl)>, CounterfactualError> {
        let (hasher, decided) = (&mut self.hasher, &mut self.chosen.decided);
        let mut body = None;
        self.decider.decided(&self.world, &call.turn, call.at, |decision| {
            body = Some(owned(hasher, decided, &decision));
        })?;
        let Some(Some((engine, dispatch))) = body else { return Ok(None) };
        // The world is told what was decided as every ledger's is.
        let event: Dispatch<'_> = rmp_serde::from_slice(&dispatch)?;
        let (context, ttl) = (context(call), event.cache_ttl);
        self.world.routing.apply(&context, &Body::Dispatch(event));
        Ok(Some((engine, ttl)))
    }

    /// The place of an engine among those chosen.
    fn place(&mut self, engine: &str) -> Result<Option<u32>, CounterfactualError> {
        if let Some(place) = self.places.get(engine) {
            return Ok(Some(*place));
        }
        let market = self.decider.market(&self.world)?;
        let Some(tariffs) = market.tariffs(engine) else { return Ok(None) };
        let Ok(place) = u32::try_from(self.chosen.engines.len()) else { return Ok(None) };
        self.chosen.engines.push(tariffs);
        self.places.insert(engine.to_owned(), place);
        Ok(Some(place))
    }

    /// The answer that was recorded, from the engine that would have given it: read from its cache is what the cache
    /// model says.
    fn answer(
        &mut self,
        call: &Call,
        engine: &str,
        went: Option<Went>,
    ) -> Result<(), CounterfactualError> {
        let Some(prompt) = call.prompt.get() else { return Ok(()) };
        let lane = self.lanes.entry(call.lane).or_default();
        let ttl = went.map_or(CacheTtl::FiveMinutes, |went| went.ttl);
        let rules = CacheRules { ttl_ms: Some(ttl_ms(ttl)) };
        let identity = went.map_or(u64::MAX, |went| went.engine.into());
        let hit = lane.cache.serve(rules, identity, call.at, prompt, call.prefix.get());
        let tariffs = went.and_then(|went| self.chosen.engines.get(went.engine as usize));
        let written = |of: CacheTtl, part: PartKind| {
            let states = |tariffs: &Tariffs| tariffs.at(call.at, Some(prompt)).states(part);
            let writes = of == ttl && tariffs.is_some_and(states);
            if writes { prompt - hit.tokens.min(prompt) } else { 0 }
        };
        let usage = Usage {
            prompt: Some(prompt),
            cache_read: Some(hit.tokens),
            cache_write_5m: Some(written(CacheTtl::FiveMinutes, PartKind::CacheWrite5m)),
            cache_write_1h: Some(written(CacheTtl::OneHour, PartKind::CacheWrite1h)),
            output: call.output.get(),
            reasoning: call.reasoning.get(),
            images: call.images.get(),
            marks: call.marks,
        };
        let cost = tariffs.map(|tariffs| tariffs.cost(call.at, &Quantities::reported(&usage)));
        let result = DispatchResult {
            attempt: 0,
            turn_at: call.at,
            engine: Name::new(engine)?,
            usage,
            raw_usage: RawPairs::default(),
            parts: None,
            finish: Finish::Unknown,
            first_ms: None,
            latency_ms: None,
            charge: cost.map(|cost| Charge { basis: ChargeBasis::Priced, cost }),
        };
        self.tell(call, &Body::Result(result));
        Ok(())
    }

    fn tell(&mut self, call: &Call, body: &Body<'_>) {
        self.world.routing.apply(&context(call), body);
    }

    fn finish(mut self) -> Chosen {
        self.chosen.decided.digest = self.hasher.finish();
        self.chosen
    }
}

fn context(call: &Call) -> Context {
    Context {
        seq: 0,
        author: AuthorId::ZERO,
        written_by: None,
        received: call.at,
        at: call.at,
        subject: call.turn,
    }
}

/// Counts a decision, and keeps of it what the next step needs: where the turn went, and the event.
fn owned(
    hasher: &mut Hasher,
    decided: &mut Decided,
    decision: &Decision<'_>,
) -> Option<(String, Vec<u8>)> {
    decided.turns += 1;
    // Writing plain data to memory has no way to fail.
    let (class, encoded, looked_at) = match decision {
        Decision::Dispatch(dispatch) => (
            Some(dispatch.class),
            rmp_serde::to_vec(dispatch).unwrap_or_default(),
            dispatch.looked_at,
        ),
        Decision::Refusal(refusal) => {
            let excluded = refusal.excluded.iter().map(|(_, count)| *count).sum();
            (None, rmp_serde::to_vec(refusal).unwrap_or_default(), excluded)
        }
    };
    hasher.part(&encoded);
    decided.engines = decided.engines.max(looked_at.into());
    if let Some(class) = class {
        let terms = TERMS.len() as u64;
        decided.terms_known.0 += terms - u64::from(class.unknown_terms).min(terms);
        decided.terms_known.1 += terms;
    }
    let Decision::Dispatch(dispatch) = decision else {
        decided.refused += 1;
        return None;
    };
    *decided.tiers.entry(TurnTier::label(dispatch.tier)).or_default() += 1;
    *decided.choices.entry(Choice::label(dispatch.choice)).or_default() += 1;
    let engine = dispatch.engine.as_str().to_owned();
    *decided.served_by.entry(engine.clone()).or_default() += 1;
    Some((engine, encoded))
}

fn ask(call: &Call, features: Features) -> Result<Ask<'static>, NameError> {
    Ok(Ask {
        profile: Name::new(PROFILE)?,
        harness: None,
        project: None,
        kind: None,
        features,
        prompt_tokens_max: call.prompt.get().unwrap_or(0),
        max_output: None,
    })
}

fn turn_of<'a>(call: &Call, ask: Ask<'a>) -> Result<Turn<'a>, NameError> {
    Ok(Turn {
        client: Name::new("recorded")?,
        // Lanes share no cache and no hold; which of a conversation's is its main agent's is not gathered.
        conversation: numbered(call.conversation),
        subagent: Some(numbered(call.lane)),
        model: Name::new(PROFILE)?,
        news: Some(call.news),
        prefix_tokens: call.prefix.get(),
        source_key: None,
        ask: Some(ask),
    })
}

fn numbered(number: u32) -> Subject {
    let mut subject = [0; 16];
    subject[12..].copy_from_slice(&number.to_be_bytes());
    Bytes(subject)
}

#[cfg(test)]
mod tests;
