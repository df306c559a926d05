//! The owner that decides turns: commands given again, many at once, killed in between, and what people are shown.

use std::sync::Arc;

use events::bytes::Bytes;
use events::ids::{Millis, Subject};
use events::log::ReadLog as _;
use events::money::Pico;
use events::payload::{Ask, Ending, Finish, Name, Parts, Turn, TurnClosed, Verdict};
use events::usage::Usage;
use ferry::ledger::{Command, CommandError, Handle, Ledger, Outcome, Queue};
use ferry::store::Home;
use projections::world::World;
use replay::decider::{Attempted, Plan};

use super::driver::engine;
use super::worked::usd;
use crate::build::{counted, subject};
use crate::ledger::killed::{kill, owner_elsewhere};
use crate::ledger::{ferry, owned, says};
use crate::store::{here, made};

const POLICY: &str = "
[routing]
objective = \"ordered\"
engines = [\"acme/big\", \"acme/small\"]
reserve = \"ceiling\"

[prices.rates.\"acme/big\"]
input = \"10\"
output = \"10\"
[prices.rates.\"acme/small\"]
input = \"1\"
output = \"1\"

[budgets.conversation]
scope = \"conversation\"
limit_usd = \"1\"

[budgets.month]
scope = \"all\"
period = \"month\"
limit_usd = \"400\"
zone = \"Europe/Berlin\"
paced = true
";

fn home_with(policy: &str) -> (tempfile::TempDir, Home) {
    let (folder, home) = made();
    set(&home, policy);
    (folder, home)
}

/// Sets a policy as people do.
fn set(home: &Home, policy: &str) -> String {
    says(home, &["policy", "set", &written(home, policy)])
}

/// A policy in a file.
fn written(home: &Home, policy: &str) -> String {
    let file = home.path().join("rules.toml");
    std::fs::write(&file, policy).unwrap();
    file.to_str().unwrap().to_owned()
}

fn name(text: &'static str) -> Name<'static> {
    Name::new(text).unwrap()
}

/// 1,000 prompt tokens and an answer of at most 1,000: a ceiling of $0.02 and 8 pico-dollars.
fn asked(conversation: u8) -> Turn<'static> {
    Turn {
        client: name("pi/1.0"),
        conversation: Bytes([conversation; 16]),
        subagent: None,
        model: name("auto"),
        news: Some(Parts::TEXT),
        prefix_tokens: None,
        source_key: None,
        ask: Some(Ask {
            profile: name("auto"),
            harness: Some(name("pi")),
            project: None,
            kind: None,
            features: counted(1_000),
            prompt_tokens_max: 1_000,
            max_output: Some(1_000),
        }),
    }
}

fn ask(id: Subject, conversation: u8) -> Command<'static> {
    Command::Ask { id, turn: asked(conversation) }
}

fn plan(outcome: Outcome) -> Plan {
    match outcome {
        Outcome::Planned(plan) => plan,
        other => panic!("{other:?}"),
    }
}

fn used(attempt: u16, engine: &'static str, output: u32) -> Attempted<'static> {
    let usage = Usage {
        prompt: Some(1_000),
        cache_read: Some(0),
        cache_write_5m: Some(0),
        cache_write_1h: Some(0),
        output: Some(output),
        ..Usage::default()
    };
    Attempted { usage, finish: Finish::EndTurn, ..Attempted::unknown(attempt, name(engine)) }
}

fn closed(turn: Subject) -> Command<'static> {
    let closed = TurnClosed { ending: Ending::Committed, attempts: 1, bytes_sent: Some(9) };
    Command::CloseTurn { turn, closed }
}

fn run(handle: &Handle, command: &Command<'_>) -> Outcome {
    handle.run(Queue::Turns, command).unwrap()
}

fn spent(handle: &Handle, conversation: u8) -> Pico {
    let of = Bytes([conversation; 16]);
    handle.ask(move |world, _| world.routing.spend.conversation(&of).known).unwrap()
}

// Each command of a turn can be given again, at every moment: what was decided stands, and is answered.
#[test]
fn every_command_of_a_turn_can_be_given_again() {
    let (_folder, home) = home_with(POLICY);
    let owner = owned(&home);
    let handle = owner.handle();
    let turn = subject(1);
    let planned = run(handle, &ask(turn, 1));
    assert_eq!(engine(&plan(planned.clone())), Some("acme/big"));
    let positions = |handle: &Handle| handle.view().positions_about(&turn).unwrap().len();
    assert_eq!((run(handle, &ask(turn, 1)), positions(handle)), (planned, 2));
    let lost = Command::EndAttempt { turn, attempted: Attempted::unknown(0, name("acme/big")) };
    assert!(matches!(run(handle, &lost), Outcome::Written { repeated: false, .. }));
    assert!(matches!(run(handle, &lost), Outcome::Written { repeated: true, .. }));
    assert_eq!(spent(handle, 1), Pico(usd("0.02").0 + 8), "estimated: what was set aside");
    let again = Command::Retry { turn, attempt: 1 };
    let second = run(handle, &again);
    assert_eq!(engine(&plan(second.clone())), Some("acme/small"));
    assert_eq!(run(handle, &again), second);
    let end = Command::EndAttempt { turn, attempted: used(1, "acme/small", 500) };
    assert!(matches!(run(handle, &end), Outcome::Written { repeated: false, .. }));
    assert!(matches!(run(handle, &end), Outcome::Written { repeated: true, .. }));
    assert!(matches!(run(handle, &closed(turn)), Outcome::Written { repeated: false, .. }));
    assert!(matches!(run(handle, &closed(turn)), Outcome::Written { repeated: true, .. }));
    assert_eq!(spent(handle, 1), Pico(usd("0.0215").0 + 8));
    assert_eq!(run(handle, &ask(turn, 1)), Outcome::Planned(plan(run(handle, &ask(turn, 1)))));
    // A figure that comes late takes the estimate's place, once.
    let late = Command::EndAttempt { turn, attempted: used(0, "acme/big", 100) };
    assert!(matches!(run(handle, &late), Outcome::Written { repeated: false, .. }));
    assert!(matches!(run(handle, &late), Outcome::Written { repeated: true, .. }));
    assert_eq!(spent(handle, 1), usd("0.0125"));
    assert!(matches!(
        handle.run(Queue::Turns, &Command::Retry { turn, attempt: 2 }),
        Err(CommandError::Refused(_))
    ));
    assert!(matches!(handle.run(Queue::Turns, &closed(subject(9))), Err(CommandError::Refused(_))));
    owner.close().unwrap();
}

// Sixteen threads at once, and a limit of fifty ceilings: never more than fifty are on their way or spent.
#[test]
fn law_7_many_threads_cannot_overspend() {
    let (_folder, home) = home_with(POLICY);
    let owner = owned(&home);
    let handle = Arc::new(owner.handle().clone());
    let threads: Vec<_> = (0..16_u64)
        .map(|thread| {
            let handle = Arc::clone(&handle);
            std::thread::spawn(move || {
                let mut big = 0;
                for number in 0..8 {
                    let turn = subject(1_000 * (thread + 1) + number);
                    let planned = plan(run(&handle, &ask(turn, 1)));
                    big += usize::from(engine(&planned) == Some("acme/big"));
                }
                big
            })
        })
        .collect();
    let big: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(
        big, 49,
        "49 x 0.02 and what rounding may take; the fiftieth goes to the cheaper one"
    );
    let reserved = handle.ask(|world, _| {
        let open = world.routing.flights.iter().flat_map(|(_, flight)| flight.open.clone());
        open.map(|open| open.reserved.unwrap()).sum::<Pico>()
    });
    assert!(reserved.unwrap() <= usd("1"));
    drop(handle);
    owner.close().unwrap();
}

// The owner is killed with turns on their way. Whoever owns the ledger next settles them, as estimates; the figure that
// comes later still counts.
#[test]
fn orphans_of_a_killed_owner_are_settled_at_the_next_start() {
    let (_folder, home) = home_with(POLICY);
    let child = owner_elsewhere(&home);
    let ledger = Ledger::open(&home, here()).unwrap();
    for number in 1..=3 {
        let planned = ledger.run(Queue::Turns, &ask(subject(number), 1)).unwrap();
        assert_eq!(engine(&plan(planned)), Some("acme/big"));
    }
    kill(child);
    let late = Command::EndAttempt { turn: subject(2), attempted: used(0, "acme/big", 100) };
    // The client takes over: its first act is to settle what the dead one left.
    assert!(matches!(
        ledger.run(Queue::Turns, &late).unwrap(),
        Outcome::Written { repeated: false, .. }
    ));
    let world = ledger.world().unwrap();
    assert_eq!(world.routing.flights.iter().count(), 0);
    let conversation = world.routing.spend.conversation(&Bytes([1; 16])).known;
    assert_eq!(conversation, Pico(2 * (usd("0.02").0 + 8) + usd("0.011").0));
    ledger.close().unwrap();
    let verified = says(&home, &["ledger", "verify"]);
    assert!(verified.contains("digest, signature and payload is good"), "{verified}");
    assert!(
        says(&home, &["replay", "--redecide"])
            .contains("3 dispatches, 0 refusals and 3 charges are equal")
    );
}

// Rules that make no sense are refused where they stand, and leave nothing behind.
#[test]
fn a_policy_that_makes_no_sense_is_named_and_leaves_nothing_behind() {
    let (_folder, home) = made();
    let file = written(&home, "[routing]\nengines = [\"a\"]\nreserve = \"much\"\n");
    for command in ["check", "set"] {
        let failed = ferry(&home).args(["policy", command, &file]).output().unwrap();
        let problem = String::from_utf8(failed.stderr).unwrap();
        assert_eq!(failed.status.code(), Some(2));
        assert!(
            problem.contains("routing.reserve: 'much' is none of expected, ceiling"),
            "{problem}"
        );
    }
    assert_eq!(says(&home, &["policy", "show"]), "# no policy is set: ferry policy set FILE\n");
    // Nor does the owner write what another process sends it.
    let owner = owned(&home);
    let set = |sequence, text| {
        let command = Command::SetPolicy { at: 0, sequence, text };
        owner.handle().run(Queue::Turns, &command)
    };
    for (sequence, text, problem) in [
        (1, "[routing]\nreserve = \"much\"\n", "is none of expected"),
        (1, "# a comment\n[routing]\nlocal = []\n", "not in its canonical form"),
        (2, "[routing]\nlocal = []\n", "were set 0 times"),
    ] {
        let Err(CommandError::Refused(said)) = set(sequence, text) else { panic!("{text}") };
        assert!(said.contains(problem), "{said}");
    }
    owner.close().unwrap();
}

// Signed, numbered, in force from its position on; set again it is in force already.
#[test]
fn a_policy_is_set_shown_and_set_again() {
    let (_folder, home) = made();
    assert!(set(&home, POLICY).starts_with("policy 1 is in force from position "));
    assert!(set(&home, POLICY).starts_with("it is in force already, from position "));
    let shown = says(&home, &["policy", "show"]);
    assert!(shown.starts_with("# policy 1, at position "), "{shown}");
    let again = home.path().join("shown.toml");
    std::fs::write(&again, &shown).unwrap();
    let checked = says(&home, &["policy", "check", again.to_str().unwrap()]);
    assert!(checked.contains("can be followed"), "{checked}");
    assert!(set(&home, &shown).starts_with("it is in force already"), "what is shown can be set");
    let other = POLICY.replace("\"400\"", "\"401\"");
    assert!(set(&home, &other).starts_with("policy 2 is in force"));
    let json: serde_json::Value =
        serde_json::from_str(&says(&home, &["policy", "show", "--json"])).unwrap();
    assert_eq!((&json["sequence"], json["digest"].as_str().unwrap().len()), (&2.into(), 32));
    let verified = says(&home, &["ledger", "verify"]);
    assert!(verified.contains("digest, signature and payload is good"), "{verified}");
}

fn with_turns(home: &Home, from: u64, count: u64) {
    let owner = owned(home);
    for number in from..from + count {
        let turn = subject(number);
        let conversation = u8::try_from(number % 50).unwrap();
        let planned = plan(run(owner.handle(), &ask(turn, conversation)));
        if let Plan::Dispatch { engine, .. } = planned {
            let served = if engine == "acme/big" { "acme/big" } else { "acme/small" };
            let attempted = used(0, served, u32::try_from(number % 900).unwrap());
            run(owner.handle(), &Command::EndAttempt { turn, attempted });
        }
        run(owner.handle(), &closed(turn));
    }
    owner.close().unwrap();
}

// Law 6 as people check it, with the same bytes whether the fold begins at a snapshot or at the first event.
#[test]
fn law_6_redecide_says_the_same_with_and_without_snapshots() {
    let (_folder, home) = home_with(POLICY);
    with_turns(&home, 0, 400);
    assert!(std::fs::read_dir(home.snapshots()).unwrap().count() > 0, "1,600 events back");
    let since = instant_after(&home);
    with_turns(&home, 400, 60);
    let all = says(&home, &["replay", "--redecide", "--since", "2000-01-01"]);
    assert!(
        all.contains("460 dispatches, 0 refusals and 460 charges are equal, byte for byte"),
        "{all}"
    );
    for json in [&[][..], &["--json"], &["--digest"]] {
        let arguments = [&["replay", "--redecide", "--since", &since], json].concat();
        let plain = says(&home, &[&arguments[..], &["--no-snapshots"]].concat());
        assert_eq!(says(&home, &arguments), plain);
    }
    let later = says(&home, &["replay", "--redecide", "--since", &since]);
    assert!(later.contains("60 dispatches, 0 refusals and 60 charges"), "{later}");
    // Each decision is made again under the rules that were in force then; under others it is not made again.
    let other = POLICY.replace("\"400\"", "\"401\"");
    set(&home, &other);
    with_turns(&home, 460, 7);
    let both = says(&home, &["replay", "--redecide", "--since", &since]);
    assert!(both.contains("67 dispatches, 0 refusals and 67 charges"), "{both}");
    let file = written(&home, &other);
    let given = says(&home, &["replay", "--redecide", "--since", &since, "--policy", &file]);
    assert!(given.contains("60 were made under other rules"), "{given}");
    assert!(given.contains("7 dispatches"), "{given}");
}

/// An instant after everything that was taken in so far.
fn instant_after(home: &Home) -> String {
    let owner = owned(home);
    let head = owner.handle().view().head();
    let mut received: Millis = 0;
    owner
        .handle()
        .view()
        .read(head.next - 1, &mut |_, stored| {
            received = events::entry::Entry::split(stored).unwrap().0.received;
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    owner.close().unwrap();
    // The next event is taken in later, not within the same millisecond.
    while ferry::store::clock() <= received {
        std::hint::spin_loop();
    }
    replay::dates::instant(received + 1)
}

#[test]
fn budgets_are_shown_as_they_stand() {
    let (_folder, home) = home_with(POLICY);
    assert!(says(&home, &["budget"]).starts_with("budget"));
    let child = owner_elsewhere(&home);
    let ledger = Ledger::open(&home, here()).unwrap();
    for number in 1..=120 {
        let conversation = if number <= 60 { 1 } else { 2 };
        ledger.run(Queue::Turns, &ask(subject(number), conversation)).unwrap();
    }
    for number in 1..=30 {
        let attempted = used(0, "acme/big", 1_000);
        ledger
            .run(Queue::Turns, &Command::EndAttempt { turn: subject(number), attempted })
            .unwrap();
    }
    let table = says(&home, &["budget"]);
    let json: serde_json::Value =
        serde_json::from_str(&says(&home, &["budget", "--json"])).unwrap();
    ledger.close().unwrap();
    kill(child);
    let month = json.as_array().unwrap().iter().find(|room| room["budget"] == "month").unwrap();
    assert_eq!(month["spent_usd"], "0.600000000000");
    let dollars = |field: &str| month[field].as_str().unwrap().parse::<Pico>().unwrap();
    assert_eq!(dollars("spent_usd") + dollars("reserved_usd") + dollars("free_usd"), usd("400"));
    assert!(month["resets_at"].as_str().unwrap().ends_with("00:00Z"));
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"20\d\d-\d\d-\d\dT\d\d:00:00Z", "[reset]");
    settings.add_filter(r"month, everything: \$[\d.]+ may", "month, everything: $[today] may");
    settings.bind(|| insta::assert_snapshot!("budget", table));
}

// Why a turn went where it went is told with the turn: the engines, the money set aside, the budgets; or the refusal.
#[test]
fn a_recorded_decision_is_explained() {
    let (_folder, home) = home_with(POLICY);
    let owner = owned(&home);
    let turn = subject(1);
    run(owner.handle(), &ask(turn, 1));
    run(owner.handle(), &Command::EndAttempt { turn, attempted: used(0, "acme/big", 100) });
    run(owner.handle(), &closed(turn));
    owner.close().unwrap();
    let told = says(&home, &["explain", &turn.to_string()]);
    for line in [
        "  attempt 0: acme/big (first); $0.020000000008 set aside (ceiling), $0.020000000000 expected, 0 tokens of it from cache",
        "    acme/small $0.002000000000 now, ",
        "    budget conversation of 1.000000000000 a conversation: $0.000000000000 spent, $0.000000000000 set aside",
        "  attempt 0 was charged $0.011000000000 (priced)",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
}

// The owner is killed, prices double, and the figure of a turn it left comes: under `ceiling` it counts no more than was
// set aside, since by the prices of its dispatch it could not come to more. A void that comes late frees the money.
#[test]
fn law_7_holds_for_figures_that_come_after_a_restart() {
    let (_folder, home) = home_with(POLICY);
    let child = owner_elsewhere(&home);
    let ledger = Ledger::open(&home, here()).unwrap();
    for number in 1..=2 {
        ledger.run(Queue::Turns, &ask(subject(number), 1)).unwrap();
    }
    kill(child);
    set(&home, &POLICY.replace("\"10\"", "\"20\""));
    let end = |number: u64, attempted| {
        let command = Command::EndAttempt { turn: subject(number), attempted };
        ledger.run(Queue::Turns, &command).unwrap()
    };
    assert!(matches!(end(1, used(0, "acme/big", 1_000)), Outcome::Written { repeated: false, .. }));
    let never = Attempted { reached_engine: false, ..Attempted::unknown(0, name("acme/big")) };
    assert!(matches!(end(2, never.clone()), Outcome::Written { repeated: false, .. }));
    assert!(matches!(end(2, never), Outcome::Written { repeated: true, .. }));
    let spent = ledger.world().unwrap().routing.spend.conversation(&Bytes([1; 16])).known;
    assert_eq!(spent, Pico(usd("0.02").0 + 8), "not 0.04");
    // What was decided for an attempt is answered though the turn is over.
    let planned = ledger.run(Queue::Turns, &ask(subject(1), 1)).unwrap();
    assert_eq!(engine(&plan(planned)), Some("acme/big"));
    ledger.close().unwrap();
}

#[test]
fn no_limit_is_beyond_what_can_be_written_down() {
    let (_folder, home) = made();
    let file = written(&home, &POLICY.replace("\"400\"", "\"100000000000000000001\""));
    let failed = ferry(&home).args(["policy", "check", &file]).output().unwrap();
    let problem = String::from_utf8(failed.stderr).unwrap();
    assert!(problem.contains("budgets.month.limit_usd"), "{problem}");
}

// A person's word moves the estimate of the engine that served, for turns of that kind, and nothing else does.
#[test]
fn a_persons_word_is_written_once_and_moves_an_estimate() {
    let (_folder, home) = home_with(POLICY);
    let owner = owned(&home);
    let labels = |handle: &Handle| handle.ask(|world, _| said(world)).unwrap();
    let turn = subject(1);
    run(owner.handle(), &ask(turn, 1));
    let judge = |verdict| Command::Judge { at: 1, turn, verdict };
    let early = owner.handle().run(Queue::Turns, &judge(Verdict::Good));
    assert!(matches!(early, Err(CommandError::Refused(_))), "there is no answer yet");
    // Whatever a provider calls the model: it is the engine that was asked.
    run(owner.handle(), &Command::EndAttempt { turn, attempted: used(0, "big-20260101", 100) });
    run(owner.handle(), &closed(turn));
    assert_eq!(labels(owner.handle()), [], "to be served is no evidence");
    assert!(matches!(
        run(owner.handle(), &judge(Verdict::Good)),
        Outcome::Written { repeated: false, .. }
    ));
    assert!(matches!(
        run(owner.handle(), &judge(Verdict::Good)),
        Outcome::Written { repeated: true, .. }
    ));
    assert_eq!(labels(owner.handle()), [("acme/big".to_owned(), (1_000, 0))]);
    // Who says otherwise takes back what they said before.
    for (verdict, expected) in [
        (Verdict::Bad, (0, 1_000)),
        (Verdict::Good, (1_000, 0)),
        (Verdict::Bad, (0, 1_000)),
        (Verdict::Good, (1_000, 0)),
    ] {
        run(owner.handle(), &judge(verdict));
        assert_eq!(labels(owner.handle()), [("acme/big".to_owned(), expected)]);
    }
    owner.close().unwrap();
    assert!(says(&home, &["feedback", &turn.to_string(), "bad"]).starts_with("bad written at"));
    assert!(
        says(&home, &["feedback", &turn.to_string(), "bad"]).starts_with("bad was said already")
    );
}

/// The words that count, by engine: good and bad, in thousandths.
fn said(world: &World) -> Vec<(String, (u64, u64))> {
    let labels = world.routing.learned.labels();
    let sums = labels.map(|(engine, kinds)| {
        let all = kinds.values().map(|labels| labels.at(0));
        let sum = all.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        (engine.clone(), sum)
    });
    sums.collect()
}
