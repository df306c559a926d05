//! `ferry policy`: the rules in force, and new ones.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use events::limits::POLICY_BYTES_MAX;
use projections::in_force::InForce;
use projections::policy::upstream_of;
use projections::projection::Projection as _;
use projections::world::World;
use replay::dates::instant;
use replay::decider::Ruling;
use replay::policy_file::{PolicyFile, canonical, nearest, read};
use serde::Serialize;

use super::home::HomeArg;
use super::prices::bundled_lists;
use super::print_json;
use crate::failure::Failure;
use crate::ledger::{Command as Asked, Outcome, Queue};
use crate::store::clock;

/// Look at the rules in force, check new ones, and set them
#[derive(Debug, Args)]
#[command(
    after_help = "A policy is one TOML: who takes turns, budgets, profiles, prices, engines (docs/policy.md).
Set, it is signed and in force from its place in the ledger on.

Examples:
  ferry policy check policy.toml
  ferry policy set policy.toml
  ferry policy show > policy.toml
  ferry policy show --json"
)]
pub(super) struct PolicyCommand {
    #[command(flatten)]
    home: HomeArg,
    /// Print as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the rules in force
    Show,
    /// Check a policy without setting it
    Check {
        /// The policy
        file: PathBuf,
    },
    /// Sign a policy and put it in force
    Set {
        /// The policy
        file: PathBuf,
    },
}

#[derive(Serialize)]
struct Shown<'w> {
    sequence: u32,
    position: u64,
    since: String,
    digest: String,
    text: &'w str,
}

impl<'w> Shown<'w> {
    fn of(policy: &'w InForce) -> Result<Self, Failure> {
        let digest = digest_of(parsed("the policy in force", &policy.text)?)?;
        let (sequence, position) = (policy.sequence, policy.seq);
        Ok(Self { sequence, position, since: instant(policy.since), digest, text: &policy.text })
    }
}

impl PolicyCommand {
    pub(super) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::Show => self.show(),
            Command::Check { file } => self.check(file),
            Command::Set { file } => self.set(file),
        }
    }

    fn show(&self) -> Result<(), Failure> {
        let world = self.home.with_ledger(|ledger| Ok(ledger.world()?))?;
        let mut out = anstream::stdout().lock();
        let Some(policy) = world.policies.ledger() else {
            if self.json {
                return print_json(&mut out, &None::<Shown<'_>>);
            }
            writeln!(out, "# no policy is set: ferry policy set FILE")?;
            return Ok(());
        };
        let shown = Shown::of(policy)?;
        if self.json {
            return print_json(&mut out, &shown);
        }
        let Shown { sequence, position, since, digest, text } = shown;
        writeln!(out, "# policy {sequence}, at position {position}, since {since}, {digest}")?;
        write!(out, "{text}")?;
        Ok(())
    }

    fn check(&self, file: &Path) -> Result<(), Failure> {
        let (text, policy) = read_policy(file)?;
        let world = if self.home.home()?.has_ledger() {
            self.home.with_ledger(|ledger| Ok(ledger.world()?))?
        } else {
            World::genesis()
        };
        followed(&world, &policy)?;
        let mut out = anstream::stdout().lock();
        let digest = digest_of(policy)?;
        if self.json {
            let checked = serde_json::json!({ "digest": digest, "text": text });
            return print_json(&mut out, &checked);
        }
        writeln!(out, "{} can be followed; digest {digest}", file.display())?;
        Ok(())
    }

    fn set(&self, file: &Path) -> Result<(), Failure> {
        let (text, policy) = read_policy(file)?;
        let (set, sequence) = self.home.with_ledger(|ledger| {
            let world = ledger.world()?;
            followed(&world, &policy)?;
            let before = world.policies.ledger().map_or(0, |policy| policy.sequence);
            let sequence = before.saturating_add(1);
            let command = Asked::SetPolicy { at: clock(), sequence, text: &text };
            Ok((ledger.run(Queue::Turns, &command)?, sequence))
        })?;
        let mut out = anstream::stdout().lock();
        let Outcome::Written { first, repeated } = set else { return Ok(()) };
        let digest = digest_of(policy)?;
        if self.json {
            let json = serde_json::json!({
                "position": first, "digest": digest, "was_in_force": repeated,
            });
            return print_json(&mut out, &json);
        }
        if repeated {
            writeln!(out, "it is in force already, from position {first} on; digest {digest}")?;
        } else {
            writeln!(
                out,
                "policy {sequence} is in force from position {first} on; digest {digest}"
            )?;
        }
        Ok(())
    }
}

/// What is in force; nothing is said before rules are set.
pub(super) fn in_force(world: &World) -> Result<PolicyFile, Failure> {
    let text = world.policies.ledger().map_or("", |policy| policy.text.as_str());
    parsed("following the policy in force", text)
}

/// A policy of a file: its canonical form, and what it says.
pub(super) fn read_policy(path: &Path) -> Result<(String, PolicyFile), Failure> {
    let context = || format!("reading {}", path.display());
    let length = std::fs::metadata(path).map_err(|error| Failure::usage(context(), error))?.len();
    // Comments are not kept: a file may be longer than what it says.
    if length > 16 * POLICY_BYTES_MAX as u64 {
        let problem =
            format!("{length} bytes: a policy has at most {POLICY_BYTES_MAX}, comments apart");
        return Err(Failure::usage(context(), problem));
    }
    let text = std::fs::read_to_string(path).map_err(|error| Failure::usage(context(), error))?;
    // Read as it stands, so that what is wrong with it is named where it stands.
    let policy = parsed(&context(), &text)?;
    let text = canonical(&text).map_err(|error| Failure::usage(context(), error))?;
    Ok((text, policy))
}

/// The digest decisions made under a policy keep: of its prices too, and of the lists that come with ferry.
fn digest_of(policy: PolicyFile) -> Result<String, Failure> {
    Ok(Ruling::of(policy, &bundled_lists()?).rules.digest.to_string())
}

/// What names stand for has to be there, and so have upstreams.
fn followed(world: &World, policy: &PolicyFile) -> Result<(), Failure> {
    let book = bundled_lists()?.book(&world.book, &policy.prices);
    if let Some((alias, engine)) = policy.prices.lost_alias(&book) {
        let problem = format!("there is no engine '{engine}'; ferry models list finds them");
        return Err(Failure::usage(format!("prices.aliases.{alias}"), problem));
    }
    let rules = &policy.rules;
    let known: BTreeSet<&str> = book
        .engines()
        .map(|price| &price.engine)
        .chain(rules.policy.routing.facts.keys())
        .map(|engine| upstream_of(engine))
        .collect();
    let profiles = rules.profiles().map(|(_, profile)| profile).chain([rules.other()]);
    for upstream in profiles.flat_map(|profile| &profile.upstreams) {
        if !known.contains(upstream.as_str()) {
            let near = nearest(upstream, known.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
            let problem = format!(
                "'{upstream}' has no engine in the price book, and no [engines.\"{upstream}/…\"] tells of one{near}"
            );
            return Err(Failure::usage("upstreams", problem));
        }
    }
    let names_nobody = rules.other().engines.is_empty() && rules.other().upstreams.is_empty();
    if names_nobody {
        anstream::eprintln!(
            "note: routing names no engines and no upstreams: nothing is routed by it"
        );
    }
    for engine in rules.other().engines.iter().filter(|engine| !rules.is_local(engine)) {
        if book.named(engine).or_else(|| book.recorded(engine)).is_none() {
            anstream::eprintln!(
                "note: nobody knows a price of '{engine}'; ferry models list finds names"
            );
        }
    }
    Ok(())
}

fn parsed(context: &str, text: &str) -> Result<PolicyFile, Failure> {
    read(text).map_err(|error| Failure::usage(context.to_owned(), error))
}
