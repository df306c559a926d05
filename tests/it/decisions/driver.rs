//! A ledger in memory whose turns are decided: what an owner does, one command a batch.

use events::batch::Author;
use events::bytes::Bytes;
use events::event::Events;
use events::hash::engine_subject;
use events::ids::{Millis, Subject};
use events::kind::KindTable;
use events::log::{Log as _, ReadLog as _};
use events::memory::MemoryLog;
use events::money::Pico;
use events::payload::{
    Ask, Capabilities, Charge, Ending, FaultClass, Features, Feedback, Finish, Name, Parts, Price,
    Quality, Rates, Stream, Tier, Turn, TurnClosed, TurnKind, Verdict,
};
use events::rate::Rate;
use events::usage::Usage;
use projections::budgets::{Instance, Room};
use projections::policy::{Policy, Rules};
use projections::projection::{Context, Projection as _};
use projections::routing::flights::Flight;
use projections::world::World;
use replay::considered::Considered;
use replay::decider::{Attempted, Decider, Fault, Lists, Plan, close, orphaned};
use replay::effective_book::PricePolicy;
use replay::policy_file::PolicyFile;

use crate::build::{LEDGER, admitted, key, opened_by, subject};

/// What a turn asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    pub(crate) conversation: u8,
    pub(crate) harness: Option<&'static str>,
    pub(crate) project: Option<&'static str>,
    pub(crate) profile: &'static str,
    pub(crate) prompt: u32,
    pub(crate) max_output: u32,
    /// What it is like, besides its length.
    pub(crate) features: Features,
    pub(crate) kind: Option<TurnKind>,
}

impl Default for Wants {
    fn default() -> Self {
        let (harness, project) = (Some("pi"), Some("atlas"));
        Self {
            conversation: 1,
            harness,
            project,
            profile: "auto",
            prompt: 1_000,
            max_output: 1_000,
            features: Features { images: Some(0), ..Features::default() },
            kind: None,
        }
    }
}

pub(crate) struct Driver {
    pub(crate) log: MemoryLog,
    pub(crate) world: World,
    pub(crate) decider: Decider,
    pub(crate) now: Millis,
    looked_at: Option<Considered>,
    policy: Policy,
    rules: Rules,
    author: Author,
    people: Author,
    kinds: KindTable,
    turns: u64,
}

pub(crate) fn decider(policy: &Policy) -> Decider {
    let rules = Rules::new(policy.clone()).unwrap();
    let policy = PolicyFile { prices: PricePolicy::default(), rules };
    // No prices besides the ledger's own.
    Decider::given(LEDGER, Lists::none(), policy)
}

pub(crate) fn rates(input: &str, output: &str, read: Option<&str>, write: Option<&str>) -> Rates {
    let rate = |text: &str| Some(Rate::per_million(text).unwrap());
    Rates {
        input: rate(input),
        output: rate(output),
        cache_read: read.and_then(rate),
        cache_write_5m: write.and_then(rate),
        ..Rates::default()
    }
}

/// An engine that does everything well.
pub(crate) fn listed(engine: &'static str, rates: Rates) -> Price<'static> {
    Price {
        engine: Name::new(engine).unwrap(),
        context: Some(1_000_000),
        rates,
        tiers: Vec::new(),
        windows: Vec::new(),
        capabilities: Capabilities::default(),
        quality: Quality { coding: Some(800), intelligence: Some(800), agentic: Some(800) },
        source: Name::new("test").unwrap(),
    }
}

impl Driver {
    pub(crate) fn new(policy: &Policy, now: Millis) -> Self {
        let log = opened_by(&[(Stream::Proxy, 2), (Stream::People, 4)]);
        let kinds = KindTable::current();
        let world = replay::fold::verify(&log, &kinds, None).unwrap().world;
        Self {
            log,
            world,
            decider: decider(policy),
            now,
            looked_at: None,
            policy: policy.clone(),
            rules: Rules::new(policy.clone()).unwrap(),
            author: crate::build::author(2),
            people: crate::build::author(4),
            kinds,
            turns: 0,
        }
    }

    /// Tells the world, as every fold will be told, and appends.
    fn write(&mut self, events: Events) {
        self.write_as(2, events);
    }

    fn write_as(&mut self, seed: u8, events: Events) {
        for (seq, event) in (self.log.head().next..).zip(events.iter()) {
            let body = event.decode(&self.kinds).unwrap();
            let context = Context {
                seq,
                author: key(seed).public(),
                written_by: self.kinds.get(event.kind).map(|spec| spec.written_by),
                received: self.now,
                at: event.at,
                subject: event.subject,
            };
            self.decider.saw(&self.world, &context, &body);
            self.world.tell(&context, &body);
        }
        self.world.settle();
        let author = if seed == 2 { &mut self.author } else { &mut self.people };
        if let Some(batch) = author.seal(events) {
            self.log.append(&[admitted(batch)], self.now).unwrap();
        }
    }

    pub(crate) fn price(&mut self, engine: &'static str, rates: Rates, tiers: Vec<Tier>) {
        self.list(&Price { tiers, ..listed(engine, rates) });
    }

    /// An engine is listed.
    pub(crate) fn list(&mut self, price: &Price<'_>) {
        let engine = price.engine.as_str();
        let mut events = Events::new();
        events.push(self.now, engine_subject(engine), price).unwrap();
        self.write(events);
    }

    /// A turn arrives.
    pub(crate) fn ask(&mut self, wants: Wants) -> (Subject, Plan) {
        self.turns += 1;
        let turn = subject(self.turns);
        let name = |text: &'static str| Name::new(text).unwrap();
        let said = Turn {
            client: name("pi/1.0"),
            conversation: Bytes([wants.conversation; 16]),
            subagent: None,
            model: name("auto"),
            news: Some(Parts::TEXT),
            prefix_tokens: None,
            source_key: None,
            ask: Some(Ask {
                profile: name(wants.profile),
                harness: wants.harness.map(name),
                project: wants.project.map(name),
                kind: wants.kind,
                features: Features { prompt_tokens: Some(wants.prompt), ..wants.features },
                prompt_tokens_max: wants.prompt + wants.prompt / 4,
                max_output: Some(wants.max_output),
            }),
        };
        let mut events = Events::new();
        events.push(self.now, turn, &said).unwrap();
        self.write(events);
        (turn, self.retry(&turn))
    }

    /// Another attempt of a turn.
    pub(crate) fn retry(&mut self, turn: &Subject) -> Plan {
        self.looked_at = Some(self.would_consider(turn));
        let mut events = Events::new();
        let plan =
            self.decider.dispatch(&self.world, turn, self.now, &mut events).unwrap().unwrap();
        self.write(events);
        plan
    }

    /// A person judges an answer of an engine.
    pub(crate) fn judge(
        &mut self,
        turn: &Subject,
        engine: &'static str,
        kind: TurnKind,
        verdict: Verdict,
    ) {
        let feedback = Feedback {
            verdict,
            attempt: 0,
            engine: Name::new(engine).unwrap(),
            kind: Some(kind),
            harness: None,
            replaces: None,
        };
        let mut events = Events::new();
        events.push(self.now, *turn, &feedback).unwrap();
        self.write_as(4, events);
    }

    /// What the newest decision looked at.
    pub(crate) fn considered(&self) -> Considered {
        self.looked_at.clone().unwrap()
    }

    /// What deciding a turn in flight looks at now.
    pub(crate) fn would_consider(&mut self, turn: &Subject) -> Considered {
        let flight = self.world.routing.flights.get(turn).unwrap().clone();
        let of = (turn, &flight);
        self.decider
            .considered(&self.world, of, self.now, None, |decision, making| {
                Considered::new(&decision, making)
            })
            .unwrap()
    }

    pub(crate) fn flight(&self, turn: &Subject) -> Option<&Flight> {
        self.world.routing.flights.get(turn)
    }

    /// The oldest attempt of a turn that has not ended, ends.
    pub(crate) fn end(&mut self, turn: &Subject, end: End) -> Option<Charge> {
        let engine = self.flight(turn)?.open.first()?.engine.clone();
        self.end_as(turn, &engine, end)
    }

    /// The same, served under a name of the provider's own.
    pub(crate) fn end_as(&mut self, turn: &Subject, served: &str, end: End) -> Option<Charge> {
        let flight = self.world.routing.flights.get(turn)?;
        let open = flight.open.first()?;
        let usage = match end {
            End::Used { prompt, output, read } => Usage {
                prompt: Some(prompt),
                output: Some(output),
                cache_read: Some(read.min(prompt)),
                cache_write_5m: Some(0),
                cache_write_1h: Some(0),
                ..Usage::default()
            },
            End::Broke(_, prompt) => {
                Usage { prompt: Some(prompt), output: Some(7), ..Usage::default() }
            }
            _ => Usage::default(),
        };
        let attempted = Attempted {
            usage,
            finish: Finish::EndTurn,
            first_ms: usage.output.map(|_| 200),
            latency_ms: usage.output.map(|output| 200 + 10 * output),
            reported: match end {
                End::Reported(pico) => Some(Pico(pico)),
                _ => None,
            },
            reached_engine: !matches!(end, End::NeverSent),
            fault: match end {
                End::Failed(class, retry_after_ms) => {
                    Some(Fault { class, status: None, retry_after_ms })
                }
                End::Broke(class, _) => Some(Fault { class, status: None, retry_after_ms: None }),
                _ => None,
            },
            ..Attempted::unknown(open.attempt, Name::new(served).unwrap())
        };
        let mut events = Events::new();
        let of = (turn, flight, open);
        let charge = self.decider.end(&self.world, of, self.now, &attempted, &mut events).unwrap();
        self.write(events);
        Some(charge)
    }

    /// The client has its end, or has hung up.
    pub(crate) fn close(&mut self, turn: &Subject) {
        let Some(flight) = self.flight(turn).cloned() else { return };
        let closed =
            TurnClosed { ending: Ending::Committed, attempts: flight.attempts(), bytes_sent: None };
        let mut events = Events::new();
        let decider = Some(&mut self.decider);
        close(&self.world, decider, (turn, &flight), self.now, &closed, &mut events).unwrap();
        self.write(events);
    }

    /// The owner dies, and another takes its place: from a snapshot, with its orphans settled.
    pub(crate) fn restart(&mut self) {
        self.world = World::restore(&self.world.snapshot()).unwrap();
        self.world.settle();
        self.decider = decider(&self.policy);
        let orphans: Vec<_> = self
            .world
            .routing
            .flights
            .iter()
            .map(|(turn, flight)| (*turn, flight.clone()))
            .collect();
        for (turn, flight) in orphans {
            let mut events = Events::new();
            let (decider, of) = (Some(&mut self.decider), (&turn, &flight));
            close(&self.world, decider, of, self.now, &orphaned(&flight), &mut events).unwrap();
            self.write(events);
        }
    }

    /// How the budget of a name stands for one of the things it counts.
    pub(crate) fn room(&self, name: &str, instance: &Instance) -> Room<'_> {
        let rule = self.rules.budgets("auto").iter().find(|rule| rule.name == name);
        Room::of(&self.world.routing, rule.unwrap(), instance, self.now)
    }

    /// Folds the log from its first event: law 2.
    pub(crate) fn check_folds(&self) {
        let folded = replay::fold::verify(&self.log, &self.kinds, None).unwrap();
        assert_eq!(folded.world.digest(), self.world.digest());
        assert_eq!(folded.head.ledger, LEDGER);
    }
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// With usage.
    Used { prompt: u32, output: u32, read: u32 },
    /// The provider says what it cost.
    Reported(i128),
    /// Nobody knows what it used.
    Lost,
    /// Not a byte reached the engine.
    NeverSent,
    /// The engine failed, and asks to be left alone for so long.
    Failed(FaultClass, Option<u32>),
    /// The same, after it had begun to answer a prompt of so many tokens.
    Broke(FaultClass, u32),
}

/// The engine of a plan.
pub(crate) fn engine(plan: &Plan) -> Option<&str> {
    match plan {
        Plan::Dispatch { engine, .. } => Some(engine),
        Plan::Refused { .. } => None,
    }
}
