//! The real binary, as a person runs it.

use std::path::Path;
use std::process::{Command, Output};

/// Runs ferry without a ledger of anybody's.
fn ferry(arguments: &[&str]) -> Output {
    ferry_at(Path::new("/nowhere/ferry"), arguments)
}

/// Runs ferry on the ledger of a folder.
fn ferry_at(home: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ferry"))
        .args(arguments)
        .env("FERRY_HOME", home)
        .env("FERRY_WITNESS", "off")
        .output()
        .unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    let output = ferry(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn failure(arguments: &[&str]) -> (Option<i32>, String) {
    let output = ferry(arguments);
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn without_times(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match line.split_once("checked in ") {
            Some((before, _)) => out.push_str(&format!("{before}checked in [time]\n")),
            None => out.push_str(&format!("{line}\n")),
        }
    }
    out
}

#[test]
fn the_sample_as_a_table() {
    insta::assert_snapshot!(without_times(&stdout(&["replay", "--sample"])));
}

#[test]
fn rows_broken_down() {
    let by_model = ["replay", "--sample", "--strategy", "recorded", "--by", "model"];
    insta::assert_snapshot!("by_model", without_times(&stdout(&by_model)));
    let by_conversation =
        ["replay", "--sample", "--strategy", "mix:session:0.25:opus,haiku", "--by", "conversation"];
    insta::assert_snapshot!("by_conversation", without_times(&stdout(&by_conversation)));
    let by_day = ["replay", "--sample", "--strategy", "all:haiku", "--by", "day", "--csv"];
    insta::assert_snapshot!("by_day_csv", stdout(&by_day));
}

#[test]
fn json_holds_every_row_of_the_oracle() {
    let report: serde_json::Value =
        serde_json::from_str(&stdout(&["replay", "--sample", "--json"])).unwrap();
    assert_eq!(report["schema"], "ferry.replay/1");
    let expected = include_str!("../golden/oracle.txt");
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), expected.lines().count() - 1);
    for (row, line) in rows.iter().zip(expected.lines().skip(1)) {
        let [label, usd, switches, cached, _, misfits] =
            line.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(row["label"], label);
        assert_eq!(row["cost_usd"], usd, "{label}");
        assert_eq!(row["switches"].to_string(), switches, "{label}");
        assert_eq!(row["cached_share"], cached, "{label}");
        assert_eq!(row["misfits"].to_string(), misfits, "{label}");
        assert_eq!(row["basis"], "list_price");
    }
    let first = &rows[1];
    insta::assert_snapshot!("json_row", serde_json::to_string_pretty(first).unwrap());
}

// Case 74: the same bytes in every process.
#[test]
fn the_digest_is_one_value() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/sample.txt");
    let golden = std::fs::read_to_string(golden).unwrap();
    let published = golden.lines().find_map(|line| line.strip_prefix("report digest: ")).unwrap();
    for _ in 0..3 {
        assert_eq!(stdout(&["replay", "--sample", "--digest"]).trim(), published);
    }
}

#[test]
fn global_cache_rules_are_defaults_that_a_strategy_overrides() {
    let cost = |arguments: &[&str]| -> String {
        let all = [&["replay", "--sample", "--json"], arguments].concat();
        let report: serde_json::Value = serde_json::from_str(&stdout(&all)).unwrap();
        report["rows"][0]["cost_usd"].as_str().unwrap().to_owned()
    };
    assert_eq!(cost(&["--strategy", "all:opus", "--no-cache"]), "30729.975015000000");
    assert_eq!(
        cost(&["--strategy", "all:opus", "--ttl", "3600", "--write", "1h"]),
        "5885.975636500000"
    );
    assert_eq!(cost(&["--strategy", "all:opus", "--ttl", "none"]), "4846.663931000000");
    assert_eq!(cost(&["--strategy", "all:opus@ttl=300", "--ttl", "none"]), "6477.087534250000");
    assert_eq!(cost(&["--strategy", "all:opus@ttl=300", "--no-cache"]), "6477.087534250000");
}

#[test]
fn other_prices_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prices.json");
    std::fs::write(
        &path,
        r#"{"source":"mine","dated":"2026-02-01","unit":"USD per 1,000,000 tokens",
            "engines":{"anthropic/claude-opus-4-5":{"input":"10","output":"50"}}}"#,
    )
    .unwrap();
    let path = path.to_str().unwrap();
    // A book without rows of its own compares what was used most.
    let text = stdout(&["replay", "--sample", "--prices", path]);
    insta::assert_snapshot!("other_prices", without_times(&text));
    for (text, problem) in [
        (r#"{"source":"mine","engines":{}}"#, "not a price book: missing field `dated`"),
        (r#"{"source":"mine"}"#, "no price list of a known format; known are models.dev"),
    ] {
        std::fs::write(path, text).unwrap();
        let (code, message) = failure(&["replay", "--sample", "--prices", path]);
        assert_eq!(code, Some(2));
        assert!(message.contains(problem), "{message}");
    }
    let (code, message) = failure(&["replay", "--sample", "--prices", "/nowhere/prices.json"]);
    assert_eq!(code, Some(2));
    assert!(message.contains("reading prices from /nowhere/prices.json"), "{message}");
}

#[test]
fn a_plot_is_one_svg_with_every_label() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("week.svg");
    stdout(&["replay", "--sample", "--plot", path.to_str().unwrap()]);
    let svg = std::fs::read_to_string(&path).unwrap();
    assert!(svg.starts_with("<svg"));
    for text in
        ["all opus, no cache", "$30,730", "tool-result turn flash, else opus", "$1,500", "01-11"]
    {
        assert!(svg.contains(text), "{text}");
    }
    let (code, message) = failure(&["replay", "--sample", "--plot", "/nowhere/week.svg"]);
    assert_eq!(code, Some(2));
    assert!(message.starts_with("ferry: drawing /nowhere/week.svg"), "{message}");
}

#[test]
fn mistakes_get_one_line_and_exit_code_2() {
    let strategy = |text| failure(&["replay", "--sample", "--strategy", text]);
    let (code, message) = strategy("all:opsu");
    assert_eq!(code, Some(2));
    assert_eq!(
        message,
        "ferry: pricing strategies: strategy 'all:opsu': the price book has no 'opsu'; did you mean opus?\n"
    );
    let (code, message) = strategy("cheapest");
    assert_eq!(code, Some(2));
    assert!(message.contains("'cheapest' is no strategy; write all:MODEL"), "{message}");
    let (code, message) = failure(&["replay"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        message,
        "ferry: the ledger: there is no ledger in /nowhere/ferry; run ferry init\n"
    );
    assert_eq!(failure(&["replay", "--sample", "--ttl", "soon"]).0, Some(2));
}

#[test]
fn help_has_examples_and_completions_know_the_commands() {
    let help = stdout(&["replay", "--help"]);
    assert!(help.contains("Examples:") && help.contains("ferry replay --sample --plot week.svg"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout(&["completions", shell]).contains("replay"), "{shell}");
    }
}

/// A ledger in a folder of its own.
struct Ledger(tempfile::TempDir);

impl Ledger {
    fn new() -> Self {
        let ledger = Self(tempfile::tempdir().unwrap());
        assert!(ledger.says(&["init"]).starts_with("A new ledger in "));
        ledger
    }

    fn home(&self) -> std::path::PathBuf {
        self.0.path().join("home")
    }

    fn says(&self, arguments: &[&str]) -> String {
        let output = ferry_at(&self.home(), arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.says(&[arguments, &["--json"]].concat())).unwrap()
    }

    fn fails(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = ferry_at(&self.home(), arguments);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

const TURNS: &str = r#"{"id":"1","conversation":"c","model":"gpt-5.5","at":"2026-02-01T00:00:00Z","usage":{"prompt_tokens":1000,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":0}},"convention":"openai"}
{"id":"2","conversation":"c","model":"gpt-5.5","at":"2026-02-01T00:01:00Z","usage":{"prompt_tokens":2000,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":900}},"convention":"openai"}
{"id":"3","model":"nobody/knows-1","at":"2026-02-03T00:00:00Z","usage":{"prompt_tokens":5,"completion_tokens":1},"convention":"openai"}
{"id":"4","at":"2026-02-03T00:00:00Z"}
"#;

#[test]
fn a_ledger_of_ones_own_from_init_to_replay() {
    let ledger = Ledger::new();
    assert_eq!(ledger.fails(&["init"]).0, Some(2), "a ledger is made once");
    let nothing = ledger.says(&["replay"]);
    assert!(nothing.contains("No turns in this window: ferry import traffic FILE"), "{nothing}");
    let file = ledger.file("turns.jsonl", TURNS);
    let dry = ledger.says(&["import", "traffic", "--dry-run", &file]);
    assert!(
        dry.contains("4 rows, 3 turns, 1 refused")
            && dry.contains("turns.jsonl:4: model is missing"),
        "{dry}"
    );
    let first = ledger.json(&["import", "traffic", &file]);
    assert_eq!((&first[0]["turns"], &first[0]["refused"]), (&3.into(), &1.into()));
    let before = ledger.json(&["replay"]);
    let again = ledger.json(&["import", "traffic", &file, &file]);
    for outcome in again.as_array().unwrap() {
        assert_eq!((&outcome["turns"], &outcome["repeated"]), (&0.into(), &3.into()));
    }
    let after = ledger.json(&["replay"]);
    assert_eq!(before["rows"], after["rows"], "importing again changes no figure");
    let recorded = &after["rows"][0];
    // 1,000 uncached; 1,100 uncached and 900 read; outputs; the third has no price.
    assert_eq!(recorded["cost_at_least_usd"], "0.011850000000");
    assert_eq!((&recorded["unknown_price"], &recorded["as_reported"]), (&1.into(), &2.into()));
    let one_day = ledger.json(&["replay", "--since", "2026-02-03", "--until", "2026-02-04"]);
    assert_eq!(one_day["window"]["turns"], 1);
    assert_eq!(ledger.fails(&["replay", "--since", "soon"]).0, Some(2));
}

#[test]
fn the_ledger_itself_can_be_looked_at() {
    let ledger = Ledger::new();
    let file = ledger.file("turns.jsonl", TURNS);
    ledger.says(&["import", "traffic", &file]);
    let tail = ledger.says(&["ledger", "tail", "-n", "3"]);
    let kinds: Vec<&str> =
        tail.lines().map(|line| line.split_whitespace().nth(2).unwrap()).collect();
    assert_eq!(kinds, ["turn", "result", "import"]);
    let event = ledger.json(&["ledger", "show", "5"]);
    assert_eq!(
        (&event["kind"], &event["says"]["usage"]["prompt"]),
        (&"result".into(), &1000.into())
    );
    assert_eq!(event["says"]["finish"], "unknown");
    assert_eq!(ledger.fails(&["ledger", "show", "99"]).0, Some(2));
    assert!(
        ledger.says(&["ledger", "verify"]).starts_with("11 events in 3 batches: every position")
    );
    let head = ledger.json(&["ledger", "head"]);
    assert_eq!((&head["next"], &head["vouched"]["next"]), (&11.into(), &11.into()));
    let keys = ledger.json(&["keys", "list"]);
    let streams: std::collections::BTreeSet<&str> =
        keys.as_array().unwrap().iter().map(|key| key["stream"].as_str().unwrap()).collect();
    assert_eq!(streams, ["agent", "node", "people", "proxy"].into());
    let export = ledger.0.path().join("export.ferry");
    ledger.says(&["ledger", "export", export.to_str().unwrap()]);
    assert!(std::fs::metadata(&export).unwrap().len() > 1_000);
    assert_eq!(
        ledger.fails(&["ledger", "export", export.to_str().unwrap()]).0,
        Some(2),
        "nothing is overwritten"
    );
    // Nothing personal and nothing secret stands in it: no id in clear, no key.
    let bytes = std::fs::read(&export).unwrap();
    for entry in std::fs::read_dir(ledger.home().join("keys")).unwrap() {
        let key = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(32).any(|window| window == key));
    }
}

#[test]
fn a_rotten_copy_is_named_and_an_older_store_refused() {
    let ledger = Ledger::new();
    let file = ledger.file("turns.jsonl", TURNS);
    ledger.says(&["import", "traffic", &file]);
    let home = ledger.home();
    let copy = home.to_str().unwrap();
    assert!(
        ledger
            .says(&["ledger", "verify", "--copy", copy])
            .contains("vouches for everything before 11")
    );
    std::os::unix::fs::symlink("/dev/zero", home.join("ledger/endless")).unwrap();
    let (code, message) = ledger.fails(&["ledger", "verify", "--copy", copy]);
    assert_eq!(code, Some(3));
    assert!(message.contains("neither a file nor a folder"), "{message}");
    std::fs::remove_dir_all(home.join("ledger")).unwrap();
    let (code, message) = ledger.fails(&["ledger", "verify", "--copy", copy]);
    assert!(code == Some(2) || code == Some(3) || code == Some(4), "{message}");
    std::fs::create_dir(home.join("ledger")).unwrap();
    let (code, message) = ledger.fails(&["ledger", "verify", "--copy", copy]);
    assert_eq!(code, Some(4));
    assert!(message.contains("rolled back"), "{message}");
    let (code, message) = ledger.fails(&["replay"]);
    assert_eq!(code, Some(4));
    assert!(message.contains("RolledBack: the store ends at position 0"), "{message}");
    assert!(message.contains("vouches for everything before 11"), "{message}");
}

#[test]
fn keys_are_drawn_rotated_and_revoked() {
    let ledger = Ledger::new();
    let file = ledger.file("turns.jsonl", TURNS);
    let active = |stream: &str| -> Vec<String> {
        let keys = ledger.json(&["keys", "list"]);
        let keys = keys.as_array().unwrap().iter();
        keys.filter(|key| key["stream"] == stream && key["active"] == true)
            .map(|key| key["key"].as_str().unwrap().to_owned())
            .collect()
    };
    let before = active("proxy");
    let rotated = ledger.json(&["keys", "rotate", "proxy"]);
    assert_eq!(active("proxy"), [rotated["key"].as_str().unwrap()]);
    assert_ne!(active("proxy"), before);
    // The new key writes, and what it writes counts.
    ledger.says(&["import", "traffic", &file]);
    assert_eq!(ledger.json(&["replay"])["window"]["turns"], 3);
    assert_eq!(ledger.json(&["ledger", "verify"])["without_effect"], 0);
    let other = ledger.0.path().join("other.key");
    let enrolled = ledger.json(&["keys", "new", "proxy", other.to_str().unwrap()]);
    assert_eq!(std::fs::metadata(&other).unwrap().len(), 32);
    assert_eq!(ledger.fails(&["keys", "new", "proxy", other.to_str().unwrap()]).0, Some(2));
    assert_eq!(active("proxy").len(), 2);
    let key = enrolled["key"].as_str().unwrap();
    ledger.says(&["keys", "revoke", key]);
    assert_eq!(active("proxy").len(), 1);
    let (code, message) = ledger.fails(&["keys", "revoke", key]);
    assert_eq!(code, Some(2));
    assert!(message.contains("it is retired already"), "{message}");
    let (code, message) = ledger.fails(&["keys", "rotate", "node"]);
    assert_eq!(code, Some(2));
    assert!(message.contains("signs the heads"), "{message}");
    assert_eq!(ledger.fails(&["keys", "revoke", "abc"]).0, Some(2));
    assert_eq!(ledger.fails(&["keys", "revoke", &active("node")[0]]).0, Some(2));
}

#[test]
fn a_rotation_that_was_cut_short_is_finished_or_waits_for_the_next() {
    let ledger = Ledger::new();
    let keys = ledger.home().join("keys");
    // Drawn, and the ledger never heard of it.
    let old = std::fs::read(keys.join("agent.key")).unwrap();
    std::fs::copy(keys.join("agent.key"), keys.join("proxy.key.next")).unwrap();
    let drawn = keys.join("agent.key.next");
    std::fs::copy(keys.join("agent.key"), &drawn).unwrap();
    std::fs::write(&drawn, [7; 32]).unwrap();
    ledger.says(&["ledger", "head"]);
    assert!(drawn.exists(), "it waits");
    assert_eq!(std::fs::read(keys.join("agent.key")).unwrap(), old);
    // The ledger has heard of this one: it takes its place.
    assert_eq!(std::fs::read(keys.join("proxy.key")).unwrap(), old);
    ledger.says(&["keys", "rotate", "agent"]);
    assert_eq!(std::fs::read(keys.join("agent.key")).unwrap(), [7; 32]);
}

#[test]
fn the_doctor_says_what_is_wrong() {
    use std::os::unix::fs::PermissionsExt as _;
    let ledger = Ledger::new();
    let checks = ledger.json(&["doctor"]);
    let states: Vec<(&str, &str)> = checks
        .as_array()
        .unwrap()
        .iter()
        .map(|check| (check["what"].as_str().unwrap(), check["state"].as_str().unwrap()))
        .filter(|(what, _)| *what != "disk")
        .collect();
    assert_eq!(
        states,
        ["version", "folder", "keys", "ledger", "witness", "clock"].map(|what| (what, "ok"))
    );
    let key = ledger.home().join("keys/node.key");
    std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o640)).unwrap();
    let output = ferry_at(&ledger.home(), &["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    let says = String::from_utf8(output.stdout).unwrap();
    assert!(says.contains("others may read it; run chmod 600 on it"), "{says}");
    assert!(!says.contains('\u{1b}'), "no colours where nobody sees them");
    assert_eq!(ferry(&["doctor"]).status.code(), Some(1));
}

#[test]
fn a_lost_store_is_repaired_by_accepting_the_loss() {
    let ledger = Ledger::new();
    let file = ledger.file("turns.jsonl", TURNS);
    ledger.says(&["import", "traffic", &file]);
    std::fs::remove_dir_all(ledger.home().join("ledger")).unwrap();
    assert_eq!(ledger.fails(&["ledger", "repair"]).0, Some(2), "acceptance has to be said");
    let says = ledger.says(&["ledger", "repair", "--accept-loss"]);
    assert!(says.contains("positions 0 to 10 are gone; a finding in the ledger says so"), "{says}");
    assert!(ledger.says(&["ledger", "repair", "--accept-loss"]).contains("nothing to repair"));
}

#[test]
fn a_synthetic_ledger_has_the_same_bytes_for_the_same_seed() {
    let link = |seed: &str| {
        stdout(&["bench", "synth", "--turns", "500", "--seed", seed])
            .lines()
            .last()
            .unwrap()
            .to_owned()
    };
    assert_eq!(link("7"), link("7"));
    assert_ne!(link("7"), link("8"));
}

#[test]
fn the_sample_in_memory_is_the_sample_on_disk() {
    let digest = |more: &[&str]| stdout(&[&["replay", "--sample", "--digest"], more].concat());
    assert_eq!(digest(&[]), digest(&["--memory"]));
}
