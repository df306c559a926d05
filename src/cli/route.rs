//! `ferry route simulate`: where a turn would go, and why.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use events::bytes::Bytes;
use events::ids::{LedgerId, Millis, Subject};
use events::log::ReadLog as _;
use events::payload::{Ask, Features, Name, Task, Turn, TurnKind, TurnTier};
use projections::features::{Message, Request, Role, features};
use projections::policy::Rules;
use projections::projection::Projection as _;
use projections::routing::flights::Flight;
use projections::sufficiency::tokens_of_call;
use projections::tokens::longest;
use projections::work::{Size, Work};
use projections::world::World;
use replay::considered::Considered;
use replay::decider::Decider;
use replay::policy_file::PolicyFile;

use super::considered::print;
use super::home::HomeArg;
use super::policy::{in_force, read_policy};
use super::prices::bundled_lists;
use super::print_json;
use crate::failure::Failure;
use crate::store::clock;
use crate::wire::{Wire, detect, read};

/// Upstreams that are taken to be there where no policy names any.
const VENDORS: [&str; 4] = ["anthropic", "google", "openai", "openrouter"];
/// Longest request that is read, in bytes.
const REQUEST_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// See where a turn would go, and why
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ferry route simulate --prompt 'Why does this deadlock?'
  ferry route simulate --request request.json --profile auto-cheap
  ferry route simulate --kind code-change --size large
  ferry route simulate --kind coding --size hard --policy docs/examples/quality.toml --json")]
pub(super) struct Route {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Decide a turn without dispatching it: every engine, and why each is excluded
    Simulate(Simulate),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ferry route simulate --prompt 'Why does this deadlock?'
  ferry route simulate --request request.json --profile auto-cheap
  ferry route simulate --kind code-change --size large
  ferry route simulate --kind coding --size hard --policy docs/examples/quality.toml --json

Where a policy explores, every simulation draws the same: the draw is keyed by the turn, and this one is no turn.")]
struct Simulate {
    #[command(flatten)]
    home: HomeArg,
    #[command(flatten)]
    what: What,
    /// With --kind: how large or hard: small, medium, large; or trivial, simple, moderate, hard
    #[arg(long, value_name = "SIZE", requires = "kind")]
    size: Option<String>,
    /// With --request: the wire it is of, where its shape does not tell: openai-chat, openai-responses,
    /// anthropic-messages
    #[arg(long, value_name = "WIRE", requires = "request")]
    wire: Option<String>,
    /// The profile it is decided under
    #[arg(long, value_name = "NAME", default_value = "auto")]
    profile: String,
    /// Decide by this policy instead of the one in force
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct What {
    /// A request's body, as a client sends it; - reads standard input
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,
    /// A turn of one message
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// A kind of work: code-change, docs, tests, review, ...; or of a turn: coding, chat, data, documentation, vision
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
}

/// What is to be decided.
struct Supposed {
    features: Features,
    kind: Option<TurnKind>,
    work: Option<(Work, Size)>,
    max_output: Option<u32>,
    prompt_tokens_max: u32,
}

impl Route {
    pub(super) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::Simulate(command) => command.run(),
        }
    }
}

impl Simulate {
    fn run(&self) -> Result<(), Failure> {
        let supposed = self.supposed()?;
        let (world, ledger) = self.world()?;
        let (policy, is_supposed) = self.policy(&world)?;
        let mut decider = Decider::given(ledger, bundled_lists()?, policy);
        let considered = consider(&mut decider, &world, &self.profile, &supposed)?;
        let mut out = anstream::stdout().lock();
        if self.json {
            return print_json(&mut out, &considered);
        }
        if is_supposed {
            let vendors = VENDORS.join(", ");
            writeln!(out, "No policy names engines or upstreams: as if {vendors} were there.\n")?;
        }
        print(&mut out, &considered)
    }

    /// The world of the ledger, where there is one.
    fn world(&self) -> Result<(World, LedgerId), Failure> {
        if !self.home.home()?.has_ledger() {
            return Ok((World::genesis(), LedgerId::ZERO));
        }
        self.home.with_ledger(|ledger| {
            let head = ledger.view()?.head().ledger;
            Ok((ledger.world()?, head))
        })
    }

    /// The policy to decide by; true where it names nobody, and vendors are taken to be there.
    fn policy(&self, world: &World) -> Result<(PolicyFile, bool), Failure> {
        let PolicyFile { prices, rules } = match &self.policy {
            Some(path) => read_policy(path)?.1,
            None => in_force(world)?,
        };
        if rules.profiles().all(|(name, _)| name != self.profile) {
            let known: Vec<&str> = rules.profiles().map(|(name, _)| name).collect();
            let problem = format!("'{}' is none of {}", self.profile, known.join(", "));
            return Err(Failure::usage("--profile", problem));
        }
        let profile = rules.profile(&self.profile);
        let names_nobody = profile.engines.is_empty() && profile.upstreams.is_empty();
        let mut policy = rules.policy;
        if names_nobody {
            policy.routing.upstreams = VENDORS.map(str::to_owned).to_vec();
        }
        let rules = Rules::new(policy).map_err(|error| Failure::usage("the policy", error))?;
        Ok((PolicyFile { prices, rules }, names_nobody))
    }

    fn supposed(&self) -> Result<Supposed, Failure> {
        match (&self.what.request, &self.what.prompt, &self.what.kind) {
            (Some(path), ..) => {
                let body = body_of(path)?;
                let context = || format!("reading {}", path.display());
                let wire = self.wire(&body).map_err(|error| Failure::usage(context(), error))?;
                let request =
                    read(wire, &body).map_err(|error| Failure::usage(context(), error))?;
                Ok(of_request(&request))
            }
            (None, Some(prompt), _) => Ok(of_request(&said(prompt))),
            (None, None, Some(kind)) => of_kind(kind, self.size.as_deref().unwrap_or("medium")),
            // The group asks for one of them.
            (None, None, None) => Ok(of_request(&said(""))),
        }
    }

    fn wire(&self, body: &[u8]) -> Result<Wire, String> {
        let Some(label) = &self.wire else {
            return detect(body).map_err(|error| error.to_string());
        };
        Wire::ALL.into_iter().find(|wire| wire.label() == label).ok_or_else(|| {
            let known = Wire::ALL.map(Wire::label).join(", ");
            format!("--wire '{label}' is none of {known}")
        })
    }
}

fn body_of(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error| Failure::usage(format!("reading {}", path.display()), error);
    let mut body = Vec::new();
    if path.as_os_str() == "-" {
        if std::io::stdin().is_terminal() {
            let problem = "standard input is a terminal; pipe a request in";
            return Err(Failure::usage("reading standard input", problem));
        }
        std::io::stdin().take(REQUEST_BYTES_MAX).read_to_end(&mut body).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(REQUEST_BYTES_MAX).read_to_end(&mut body).map_err(failed)?;
    }
    Ok(body)
}

fn said(prompt: &str) -> Request<'_> {
    Request {
        model: "auto".into(),
        messages: vec![Message::text(Role::User, prompt)],
        tools: Vec::new(),
        effort: events::payload::Effort::Unasked,
        max_output: None,
        stream: false,
    }
}

fn of_request(request: &Request<'_>) -> Supposed {
    let features = features(request);
    let prompt_tokens_max = longest(&features);
    let (kind, work, max_output) = (None, None, request.max_output);
    Supposed { features, kind, work, max_output, prompt_tokens_max }
}

/// A turn or order of a kind, of which only its usual length is known.
fn of_kind(kind: &str, size: &str) -> Result<Supposed, Failure> {
    let task = Task::ALL.iter().copied().find(|task| task.label() == kind);
    let work = Work::parse(kind);
    if task.is_none() && work.is_none() {
        let tasks = Task::ALL.iter().map(|task| task.label());
        let known: Vec<&str> = tasks.chain(Work::ALL.map(Work::label)).collect();
        let problem = format!("'{kind}' is none of {}", known.join(", "));
        return Err(Failure::usage("--kind", problem));
    }
    let (tier, size) = hardness(size)?;
    let (prompt, output) = tokens_of_call(size, 0);
    let task = task.or_else(|| work.map(task_of)).unwrap_or(Task::Chat);
    let features = Features { prompt_tokens: Some(prompt), images: Some(0), ..Features::default() };
    Ok(Supposed {
        features,
        kind: Some(TurnKind { task, tier }),
        work: work.map(|work| (work, size)),
        max_output: Some(output),
        prompt_tokens_max: prompt.saturating_mul(2),
    })
}

fn hardness(text: &str) -> Result<(TurnTier, Size), Failure> {
    let tier = TurnTier::ALL.iter().copied().find(|tier| tier.label() == text);
    let size_of = |tier: TurnTier| match tier {
        TurnTier::Trivial | TurnTier::Simple => Size::Small,
        TurnTier::Moderate => Size::Medium,
        TurnTier::Hard => Size::Large,
    };
    let tier_of = |size: Size| match size {
        Size::Small => TurnTier::Simple,
        Size::Medium => TurnTier::Moderate,
        Size::Large => TurnTier::Hard,
    };
    let of_tier = tier.map(|tier| (tier, size_of(tier)));
    of_tier.or_else(|| Size::parse(text).map(|size| (tier_of(size), size))).ok_or_else(|| {
        let problem = "is none of small, medium, large, trivial, simple, moderate, hard";
        Failure::usage("--size", format!("'{text}' {problem}"))
    })
}

/// What a turn that does an order's work is taken for.
const fn task_of(work: Work) -> Task {
    match work {
        Work::CodeChange | Work::Tests => Task::Coding,
        Work::Docs => Task::Documentation,
        Work::Research => Task::Data,
        Work::Image | Work::Video => Task::Vision,
        _ => Task::Chat,
    }
}

fn consider(
    decider: &mut Decider,
    world: &World,
    profile: &str,
    supposed: &Supposed,
) -> Result<Considered, Failure> {
    let now: Millis = clock();
    let turn: Subject = Bytes([0; 16]);
    let name = |text| Name::new(text).map_err(|error| Failure::usage("--profile", error));
    let said = Turn {
        client: name("ferry")?,
        conversation: turn,
        subagent: None,
        model: name(profile)?,
        news: None,
        prefix_tokens: None,
        source_key: None,
        ask: Some(Ask {
            profile: name(profile)?,
            harness: None,
            project: None,
            kind: supposed.kind,
            features: supposed.features,
            prompt_tokens_max: supposed.prompt_tokens_max,
            max_output: supposed.max_output,
        }),
    };
    let Some(flight) = Flight::supposed(&said, now) else {
        return Err(Failure::usage("--request", "asks for nothing"));
    };
    let seen =
        decider.considered(world, (&turn, &flight), now, supposed.work, |decision, making| {
            Considered::new(&decision, making)
        });
    seen.map_err(|error| Failure::usage("following the policy", error))
}
