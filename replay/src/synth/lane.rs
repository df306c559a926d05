//! One lane of synthetic traffic: a main agent or a sub-agent whose prompts grow turn by turn.

use events::bytes::Bytes16;
use events::hash::{Domain, LedgerSecret};
use events::ids::Millis;
use events::payload::{AmendReason, Finish, Name, NameError, Parts};
use events::usage::{Convention, RawUsage, Usage};

use super::desk::By;
use super::dice::{Dice, Draw};
use super::turn::{Answer, Asked, Fate, Sent};

/// What conversations and rows of imported traffic are keyed under.
pub(super) const SOURCE: &str = "synth";

const CLIENTS: [&str; 4] = ["claude-code/2.1.45", "codex/0.98", "opencode/1.2", "my-script"];

/// What a model's provider says of usage, and up to which prompt clients let it grow.
pub(super) struct Model {
    name: &'static str,
    /// The same, by the name of the book's engine.
    pub(super) engine: &'static str,
    /// The profile that prefers it.
    profile: &'static str,
    says: Convention,
    compacts_at: u32,
}

/// The sample book's engines by the names traffic has for them, and one no book knows. The first are
/// used most.
pub(super) static MODELS: [Model; 9] = [
    Model::new("claude-opus-4-5-20251101", Convention::Anthropic, 170_000)
        .by("anthropic/claude-opus-4-5"),
    Model::new("claude-sonnet-4-5-20250929", Convention::Anthropic, 170_000)
        .by("anthropic/claude-sonnet-4-5"),
    Model::new("anthropic/claude-haiku-4-5", Convention::Anthropic, 160_000),
    Model::new("openai/gpt-5.5", Convention::OpenAi, 380_000),
    Model::new("google/gemini-2.5-pro", Convention::OpenAi, 320_000),
    Model::new("google/gemini-3-flash-preview", Convention::OpenAi, 240_000),
    Model::new("openrouter/deepseek/deepseek-v3.2", Convention::OpenAi, 140_000),
    Model::new("claude-opus-4-1-20250805", Convention::Anthropic, 190_000)
        .by("anthropic/claude-opus-4-1"),
    Model::new("acme/unlisted-1", Convention::OpenTelemetry, 100_000),
];

/// Longest gap over which a provider is taken to keep a cache entry.
const CACHE_LIVES: Millis = 300_000;

impl Model {
    /// Its name, as sources have it.
    ///
    /// # Errors
    /// None: the names are constants.
    pub(super) fn name(&self) -> Result<Name<'static>, NameError> {
        Name::new(self.name)
    }

    const fn new(name: &'static str, says: Convention, compacts_at: u32) -> Self {
        Self { name, engine: name, profile: name, says, compacts_at }
    }

    const fn by(self, engine: &'static str) -> Self {
        Self { engine, profile: engine, ..self }
    }

    /// The profile that prefers it.
    pub(super) const fn profile(&self) -> &'static str {
        self.profile
    }

    /// The model of an engine.
    pub(super) fn of_engine(engine: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.engine == engine)
    }

    /// Half of all draws are the first two models.
    fn drawn(dice: Dice) -> &'static Self {
        let drawn = dice.below(Draw::Model, 2 * MODELS.len() as u32) as usize;
        MODELS.get(drawn).unwrap_or(&MODELS[drawn % 2])
    }
}

/// What a lane sends next.
pub(super) struct Prompt {
    /// What is new in it.
    pub(super) news: Parts,
    /// What the client says had been sent before.
    pub(super) prefix: Option<u32>,
    /// Of the prompt: what the provider still holds.
    held: u32,
}

/// A main agent or a sub-agent at work.
pub(super) struct Lane {
    /// Who writes its turns down.
    pub(super) by: By,
    /// The conversation's id at its source.
    session: String,
    /// `main`, or the sub-agent's id at its source.
    agent: String,
    /// The conversation's key.
    pub(super) conversation: Bytes16,
    /// The sub-agent's key.
    pub(super) subagent: Option<Bytes16>,
    /// What sends its turns.
    pub(super) client: Name<'static>,
    /// The turn that waits for its answer.
    pub(super) asked: Option<Asked>,
    /// Turns sent so far.
    seq: u32,
    dice: Dice,
    model: &'static Model,
    hour_writes: bool,
    tells_prefix: bool,
    left: u32,
    spawned: u32,
    prompt: u32,
    output: u32,
    answered: Millis,
}

impl Lane {
    /// The main agent of a new session.
    ///
    /// # Errors
    /// None: the names are constants.
    pub(super) fn main(number: u64, dice: Dice, secret: &LedgerSecret) -> Result<Self, NameError> {
        let dice = dice.of(number);
        let session = format!("s{number}");
        let conversation =
            secret.digest16(Domain::Conversation, &[SOURCE.as_bytes(), session.as_bytes()]);
        let client = CLIENTS[dice.below(Draw::Client, CLIENTS.len() as u32) as usize];
        Ok(Self {
            by: if dice.one_in(Draw::Origin, 4) { By::Second } else { By::Proxy },
            session,
            agent: "main".to_owned(),
            conversation,
            subagent: None,
            client: Name::new(client)?,
            seq: 0,
            asked: None,
            dice,
            model: Model::drawn(dice),
            hour_writes: dice.one_in(Draw::HourWrites, 6),
            tells_prefix: !dice.one_in(Draw::TellsPrefix, 10),
            left: dice.skewed(Draw::Turns, 3, 7),
            spawned: 0,
            prompt: 0,
            output: 0,
            answered: 0,
        })
    }

    /// A sub-agent of this lane.
    pub(super) fn spawn(&mut self, secret: &LedgerSecret) -> Self {
        self.spawned += 1;
        let agent = format!("sub{}", self.spawned);
        let parts = [SOURCE.as_bytes(), self.session.as_bytes(), agent.as_bytes()];
        let dice = self.dice.of(u64::from(u32::MAX) + u64::from(self.spawned));
        Self {
            session: self.session.clone(),
            subagent: Some(secret.digest16(Domain::Subagent, &parts)),
            agent,
            seq: 0,
            asked: None,
            dice,
            model: if dice.one_in(Draw::Model, 3) { self.model } else { &MODELS[2] },
            left: dice.skewed(Draw::Turns, 2, 4),
            spawned: 0,
            prompt: 0,
            output: 0,
            answered: 0,
            ..*self
        }
    }

    /// The model it asks for.
    pub(super) const fn model(&self) -> &'static Model {
        self.model
    }

    /// Tokens of the prompt it sent last.
    pub(super) const fn prompt(&self) -> u32 {
        self.prompt
    }

    /// True when it has sent its last turn.
    pub(super) const fn is_over(&self) -> bool {
        self.left == 0
    }

    /// The dice of its next turn.
    pub(super) const fn turn_dice(&self) -> Dice {
        self.dice.of(self.seq as u64)
    }

    /// Composes the next prompt: mostly the last one and its answer, with something new behind it.
    pub(super) fn compose(&mut self, now: Millis) -> Prompt {
        let (dice, last) = (self.turn_dice(), self.prompt);
        let grown = last + self.output + dice.skewed(Draw::News, 120, 7);
        let begins = self.seq == 0;
        if !begins && dice.one_in(Draw::SwitchesModel, 80) {
            self.model = Model::drawn(dice);
        }
        let compacts = grown > self.model.compacts_at || dice.one_in(Draw::Compacts, 300);
        let (prompt, shared) = if begins {
            (dice.skewed(Draw::Opening, 4_000, 4), 0)
        } else if compacts {
            (grown / 6 + 2_000, last.min(2_000))
        } else if dice.one_in(Draw::EditsHistory, 40) {
            (grown, last / 2)
        } else {
            (grown, last)
        };
        self.prompt = prompt;
        let is_warm = now.saturating_sub(self.answered) <= CACHE_LIVES;
        let said = self.tells_prefix && !dice.one_in(Draw::HidesPrefix, 50);
        Prompt {
            news: if begins || self.is_after_pause(dice) {
                Parts::TEXT
            } else {
                Parts::TOOL_RESULT
            },
            prefix: said.then_some(shared),
            held: if is_warm { shared / 64 * 64 } else { 0 },
        }
    }

    /// The turn's id at its source.
    pub(super) fn row(&self) -> String {
        format!("{}|{}|{}", self.session, self.agent, self.seq)
    }

    /// The prompt is sent: what it waits for.
    pub(super) fn send(&mut self, prompt: &Prompt, sent: Sent) -> Asked {
        let dice = self.turn_dice();
        self.seq += 1;
        self.left -= 1;
        Asked::begin(sent, (prompt.held, self.model), dice, self.by == By::Proxy)
    }

    /// The whole answer to a turn comes.
    pub(super) fn answer(&mut self, asked: &Asked, now: Millis) -> Answer {
        let dice = asked.dice;
        self.output = dice.skewed(Draw::Output, 40, 6);
        self.answered = now;
        let wants_tool = self.left > 0 && !self.is_after_pause(self.turn_dice());
        let (parts, finish) = if wants_tool {
            (Parts::TOOL_USE | Parts::THINKING, Finish::ToolUse)
        } else {
            (Parts::TEXT, Finish::EndTurn)
        };
        let (raw, later) = self.figures(asked);
        let usage = raw.normalise(asked.served.says);
        Answer { usage, raw, later, parts: Some(parts), finish }
    }

    /// No answer comes; what the provider may hold of the prompt is not counted on.
    pub(super) const fn lose(&mut self) {
        self.output = 0;
        self.answered = 0;
    }

    /// Bytes of its last answer, roughly.
    pub(super) fn answer_bytes(&self) -> u64 {
        300 + 4 * u64::from(self.output)
    }

    /// What is said of usage with the answer, and what becomes known later.
    fn figures(&self, asked: &Asked) -> (RawUsage, Option<(Usage, AmendReason)>) {
        let whole = self.said(asked, self.output);
        if asked.is_amended() {
            let later = whole.normalise(asked.served.says);
            return match self.by {
                // Clients' own records of a message grow while it streams.
                By::Second => {
                    (self.said(asked, self.output / 3), Some((later, AmendReason::SourceGrew)))
                }
                _ => (RawUsage::default(), Some((later, AmendReason::ProviderFinal))),
            };
        }
        match asked.fate {
            Fate::Unmetered => (RawUsage::default(), None),
            _ => (whole, None),
        }
    }

    fn said(&self, asked: &Asked, output: u32) -> RawUsage {
        let [prompt, read, output] = [self.prompt, asked.held, output].map(i64::from);
        match asked.served.says {
            Convention::Anthropic => {
                let stray = i64::from(asked.dice.below(Draw::Stray, 12)).min(prompt - read);
                let written = prompt - read - stray;
                let (five, hour) = if self.hour_writes { (0, written) } else { (written, 0) };
                RawUsage::from_pairs([
                    ("cache_creation.ephemeral_1h_input_tokens", hour),
                    ("cache_creation.ephemeral_5m_input_tokens", five),
                    ("cache_creation_input_tokens", written),
                    ("cache_read_input_tokens", read),
                    ("input_tokens", stray),
                    ("output_tokens", output),
                ])
            }
            Convention::OpenAi => RawUsage::from_pairs([
                ("completion_tokens", output),
                ("completion_tokens_details.reasoning_tokens", asked.reasoning(output)),
                ("prompt_tokens", prompt),
                ("prompt_tokens_details.cached_tokens", read),
            ]),
            Convention::Codex => RawUsage::from_pairs([
                ("cached_input_tokens", read),
                ("input_tokens", prompt),
                ("output_tokens", output),
                ("reasoning_output_tokens", asked.reasoning(output)),
            ]),
            // It says nothing of its cache: how the prompt splits is unknown.
            Convention::OpenTelemetry => RawUsage::from_pairs([
                ("gen_ai.usage.input_tokens", prompt),
                ("gen_ai.usage.output_tokens", output),
            ]),
        }
    }

    /// From an answer to the next turn: mostly a tool's run, now and then a person's pause, which may
    /// outlive the cache.
    pub(super) fn pause(&self) -> Millis {
        let dice = self.turn_dice();
        let (low, doublings) = if self.is_after_pause(dice) { (20_000, 7) } else { (400, 6) };
        Millis::from(dice.skewed(Draw::Pause, low, doublings))
    }

    /// True when a main agent's turn with these dice follows a person's pause.
    fn is_after_pause(&self, dice: Dice) -> bool {
        self.subagent.is_none() && dice.one_in(Draw::PauseKind, 14)
    }
}
