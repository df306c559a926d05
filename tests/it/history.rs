//! A newcomer's own history: sessions of Claude Code and Codex in a made-up home, and what they come to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A home directory with sessions in the usual places.
struct HomeDirectory(TempDir);

const SESSION: &str = "5f0c1111-0000-4000-8000-000000000001";
const CODEX: &str = "c0de1111-0000-4000-8000-000000000001";

/// Seconds of 2026-11-24 after nine, as clients write them.
fn at(second: u64) -> String {
    format!("2026-11-24T09:{:02}:{:02}.000Z", second / 60, second % 60)
}

fn user(uuid: &str, parent: Option<&str>, second: u64, content: &Value) -> Value {
    json!({"parentUuid": parent, "isSidechain": false, "sessionId": SESSION, "type": "user", "cwd": "/home/me/secret",
        "message": {"role": "user", "content": content}, "uuid": uuid, "timestamp": at(second)})
}

fn assistant(
    uuid: &str,
    parent: &str,
    second: u64,
    message: &str,
    model: &str,
    usage: &Value,
) -> Value {
    json!({"parentUuid": parent, "isSidechain": false, "sessionId": SESSION, "type": "assistant",
        "message": {"id": message, "type": "message", "role": "assistant", "model": model,
            "content": [{"type": "text", "text": "never kept"}], "stop_reason": "end_turn", "usage": usage},
        "requestId": format!("req_{message}"), "uuid": uuid, "timestamp": at(second)})
}

fn usage(input: u32, read: u32, written: [u32; 2], output: u32) -> Value {
    json!({"input_tokens": input, "cache_read_input_tokens": read, "output_tokens": output,
        "cache_creation_input_tokens": written[0] + written[1],
        "cache_creation": {"ephemeral_5m_input_tokens": written[0], "ephemeral_1h_input_tokens": written[1]}})
}

const OPUS: &str = "claude-opus-4-5-20251101";

/// Lines of a session: three calls, the second logged once per block, the third by a model nobody prices.
fn claude_lines() -> Vec<Value> {
    let tool_result = json!([{"type": "tool_result", "tool_use_id": "t", "content": "never kept"}]);
    vec![
        json!({"type": "summary", "summary": "never kept", "leafUuid": "x"}),
        user("u1", None, 0, &json!("never kept")),
        assistant("a1", "u1", 4, "m1", OPUS, &usage(10, 0, [9_000, 1_000], 200)),
        user("u2", Some("a1"), 30, &tool_result),
        assistant("a2", "u2", 33, "m2", OPUS, &usage(5, 10_000, [500, 0], 1)),
        assistant("a3", "a2", 36, "m2", OPUS, &usage(5, 10_000, [500, 0], 300)),
        user("u3", Some("a3"), 800, &json!("never kept")),
        assistant("a4", "u3", 805, "m3", "acme-unheard-of", &usage(11_000, 0, [0, 0], 50)),
    ]
}

fn codex_lines() -> Vec<Value> {
    let count = |minute: u64, total: [u64; 4], last: [u64; 4]| {
        let usage = |[input, cached, output, reasoning]: [u64; 4]| {
            json!({"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output,
                "reasoning_output_tokens": reasoning, "total_tokens": input + output})
        };
        json!({"timestamp": at(minute * 60), "type": "event_msg", "payload": {"type": "token_count",
            "info": {"total_token_usage": usage(total), "last_token_usage": usage(last)}, "rate_limits": null}})
    };
    vec![
        json!({"timestamp": at(0), "type": "session_meta", "payload": {"id": CODEX, "model_provider": "openai", "source": "cli"}}),
        json!({"timestamp": at(0), "type": "turn_context", "payload": {"model": "gpt-5.5"}}),
        count(10, [9_000, 0, 300, 100], [9_000, 0, 300, 100]),
        count(11, [9_000, 0, 300, 100], [9_000, 0, 300, 100]),
        count(12, [20_000, 8_000, 500, 150], [11_000, 8_000, 200, 50]),
    ]
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

impl HomeDirectory {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        home.write(
            &format!(".claude/projects/-home-me-work/{SESSION}.jsonl"),
            &text(&claude_lines()),
        );
        let rollout =
            format!(".codex/sessions/2026/11/24/rollout-2026-11-24T09-00-00-{CODEX}.jsonl");
        home.write(&rollout, &text(&codex_lines()));
        home
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn run(&self, ledger: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ferry"));
        for name in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_STATE_HOME", "FERRY_HOME"] {
            command.env_remove(name);
        }
        command.env("HOME", self.0.path()).env("FERRY_WITNESS", "off");
        if ledger != Path::new("") {
            command.env("FERRY_HOME", self.0.path().join(ledger));
        }
        command.args(arguments).output().unwrap()
    }

    fn says(&self, arguments: &[&str]) -> String {
        self.says_at("", arguments)
    }

    fn says_at(&self, ledger: &str, arguments: &[&str]) -> String {
        let output = self.run(Path::new(ledger), arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, ledger: &str, arguments: &[&str]) -> Value {
        let text = self.says_at(ledger, &[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap()
    }
}

/// What depends on keys drawn anew for each ledger.
fn without_ids(text: &str) -> String {
    let word = |text: &str| {
        let word = text.trim_end_matches(',');
        let is_hex = word.len() >= 8 && word.chars().all(|c| c.is_ascii_hexdigit());
        // Some ids are all digits; no count in these texts has as many.
        if is_hex { text.replace(word, "[id]") } else { text.to_owned() }
    };
    let line = |line: &str| {
        line.split(' ').map(word).collect::<Vec<_>>().join(" ").trim_end().to_owned() + "\n"
    };
    text.lines().map(line).collect()
}

#[test]
fn two_commands_lead_to_ones_own_bill() {
    let home = HomeDirectory::new();
    let output = home.run(Path::new(""), &["import", "traffic"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("Claude Code: 1 session in") && told.contains("Codex: 1 session in"),
        "{told}"
    );
    assert!(told.contains("made a new ledger in"), "{told}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("3 rows, 3 new turns") && said.contains("2 rows, 2 new turns"), "{said}");
    let bill = home.says(&["replay"]);
    assert!(bill.contains("5 turns · 2 conversations") && bill.contains("recorded"), "{bill}");
    // 10 + 5 in, 10,000 read, 9,500 written for 5 minutes, 1,000 for an hour, 500 out; Codex: 12,000 in, 8,000 read,
    // 500 out. The third model has no price.
    let report = home.json("", &["replay"]);
    let recorded = &report["rows"][0];
    assert_eq!(recorded["cost_usd"], Value::Null);
    assert_eq!((&recorded["unknown_price"], &recorded["as_reported"]), (&json!(1), &json!(5)));
    assert_eq!(recorded["cost_at_least_usd"], "0.165950000000");
    let again = home.says(&["import", "traffic"]);
    assert!(
        again.contains("0 new turns, 3 known already")
            && again.contains("0 new turns, 2 known already")
    );
    insta::assert_snapshot!("models", home.says(&["models"]));
    insta::assert_snapshot!("turns", without_ids(&home.says(&["turns"])));
}

#[test]
fn a_turn_is_explained_to_the_last_token() {
    let home = HomeDirectory::new();
    home.says(&["import", "traffic"]);
    let turns = home.json("", &["turns"]);
    let id = |message: usize| turns[message]["turn"].as_str().unwrap().to_owned();
    // Newest first: the unpriced one, Codex's two, Claude's two.
    insta::assert_snapshot!("explain", without_ids(&home.says(&["explain", &id(3)])));
    let unknown = home.says(&["explain", "last"]);
    assert!(
        unknown.contains("no price is known: ferry models resolve acme-unheard-of"),
        "{unknown}"
    );
    let explained = home.json("", &["explain", &id(3)[..12]]);
    assert_eq!(explained["turn"], id(3));
    let parts = explained["attempts"][0]["parts"].as_array().unwrap();
    let tokens: u64 = parts[..3].iter().map(|part| part["units"].as_u64().unwrap()).sum();
    assert_eq!(json!(tokens), explained["attempts"][0]["prompt_tokens"], "tokens add up");
    assert_eq!(explained["events"].as_array().unwrap().len(), 2);
    assert_eq!(explained["events"][0]["signature"], "good");
    let output = home.run(Path::new(""), &["explain", "ffffffffffffffffffffffffffffffff"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("no turn has this id; near ones are"), "{message}");
    assert_eq!(
        home.run(Path::new(""), &["explain", "last", "--conversation", "zz"]).status.code(),
        Some(2)
    );
}

#[test]
fn policy_maps_names_and_states_rates_and_subscriptions() {
    let home = HomeDirectory::new();
    home.says(&["import", "traffic"]);
    home.write(
        "policy.toml",
        "[prices.aliases]\n\"acme-unheard-of\" = \"anthropic/claude-opus-4-5\"\n\
         [prices.rates.\"anthropic/claude-opus-4-5\"]\ninput = \"4\"\n\
         [prices.subscriptions.anthropic]\nmonthly_usd = \"200\"\nquota = \"5-hour windows\"\n",
    );
    let policy = home.0.path().join("policy.toml");
    let policy = policy.to_str().unwrap();
    home.says(&["policy", "set", policy]);
    let explained = home.says(&["explain", "last"]);
    assert!(
        explained.contains("priced as anthropic/claude-opus-4-5 (policy; policy)"),
        "{explained}"
    );
    assert!(explained.contains("11000 x $4 a million"), "{explained}");
    assert!(
        explained.contains("a subscription of $200 a month covers it, 5-hour windows"),
        "{explained}"
    );
    let resolved = home.says(&["models", "resolve", "acme-unheard-of"]);
    assert!(
        resolved.starts_with("policy                       anthropic/claude-opus-4-5: used"),
        "{resolved}"
    );
    // Rates of one's own hold for what is recorded under a dated name, too.
    let turns = home.json("", &["turns"]);
    let claude = turns[3]["turn"].as_str().unwrap();
    let explained = home.says(&["explain", claude]);
    assert!(
        explained
            .contains("priced as anthropic/claude-opus-4-5 (vendor's entry without date; policy)"),
        "{explained}"
    );
    assert!(explained.contains("5 x $4 a million"), "{explained}");
    home.write("policy.toml", "[prices.aliases]\nx = \"acme/nothing\"\n");
    let output = home.run(Path::new(""), &["policy", "set", policy]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("prices.aliases.x: there is no engine 'acme/nothing'")
    );
    home.write("policy.toml", "[prices.rates.\"a/b\"]\ninput = \"-1\"\n");
    let output = home.run(Path::new(""), &["policy", "set", policy]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("prices.rates.a/b.input: '-1' is no rate: negative")
    );
}

/// Everything a report says that does not tell of the ledger it was made from.
fn figures(home: &HomeDirectory, ledger: &str) -> Value {
    let mut report = home.json(ledger, &["replay"]);
    for field in ["ledger", "digest"] {
        report.as_object_mut().unwrap().remove(field);
    }
    report
}

// Growing files, copies, halves: whatever comes in whatever order, it is the same history.
#[test]
fn histories_in_any_order_and_in_halves_are_one_history() {
    let home = HomeDirectory::new();
    let lines = claude_lines();
    let file = |name: &str, lines: &[Value]| {
        home.write(&format!("parts/{name}.jsonl"), &text(lines)).to_str().unwrap().to_owned()
    };
    let whole = file("whole", &lines);
    // The second half begins in the middle of a message.
    let (first, second) = (file("first", &lines[..5]), file("second", &lines[5..]));
    let copied: Vec<Value> = lines
        .iter()
        .map(|line| {
            serde_json::from_str(&line.to_string().replace(SESSION, "9999-resumed")).unwrap()
        })
        .collect();
    let copied = file("copied", &copied);
    let orders: [&[&str]; 5] = [
        &[&whole],
        &[&first, &second],
        &[&second, &first],
        &[&first, &whole, &second, &whole],
        &[&copied, &second, &whole, &first],
    ];
    let found: Vec<Value> = orders
        .iter()
        .enumerate()
        .map(|(number, files)| {
            let ledger = format!("ledger-{number}");
            for file in *files {
                home.says_at(&ledger, &["import", "traffic", file]);
            }
            figures(&home, &ledger)
        })
        .collect();
    for (number, figures) in found.iter().enumerate() {
        assert_eq!(figures, &found[0], "order {number}");
    }
    assert_eq!(found[0]["window"]["turns"], 3);
    assert_eq!(found[0]["window"]["conversations"], 1);
}

// Case 58: a day is an interval, and the report says which; both totals come from one ledger.
#[test]
fn case_58_two_day_borders_are_two_stated_intervals() {
    let home = HomeDirectory::new();
    let turn = |id: u32, hour: u32| {
        format!(
            "{{\"id\":{id},\"model\":\"m\",\"at\":\"2026-09-06T{hour}:00:00Z\",\"prompt_tokens\":1}}\n"
        )
    };
    let file = home.write("turns.jsonl", &(turn(1, 15) + &turn(2, 17)));
    home.says(&["import", "traffic", file.to_str().unwrap()]);
    let day = |since: &str, until: &str| {
        let report = home.json("", &["replay", "--since", since, "--until", until]);
        let window = &report["window"];
        let text = |field: &str| window[field].as_str().unwrap().to_owned();
        (window["turns"].as_u64().unwrap(), text("from"), text("until"))
    };
    let utc = ("2026-09-06T00:00:00Z".to_owned(), "2026-09-07T00:00:00Z".to_owned());
    assert_eq!(day("2026-09-06", "2026-09-07"), (2, utc.0, utc.1));
    let shanghai = ("2026-09-05T16:00:00Z".to_owned(), "2026-09-06T16:00:00Z".to_owned());
    assert_eq!(
        day("2026-09-06T00:00:00+08:00", "2026-09-07T00:00:00+08:00"),
        (1, shanghai.0, shanghai.1)
    );
}

// Case 70: rebuilding again gives the same, whatever was derived before.
#[test]
fn case_70_rebuilding_gives_the_same_every_time() {
    let home = HomeDirectory::new();
    home.says(&["import", "traffic"]);
    let rebuilt = || home.json("", &["replay", "--redigest"]);
    let first = rebuilt();
    assert_eq!(first["equal"], true);
    assert_eq!(rebuilt(), first);
    let _ = fs::remove_dir_all(home.0.path().join(".ferry/snapshots"));
    assert_eq!(rebuilt(), first);
}

// One client's folder without a session ferry can read does not keep the other's out.
#[test]
fn an_empty_place_and_a_strange_file_stop_nothing() {
    let home = HomeDirectory::new();
    let session = format!(".claude/projects/-home-me-work/{SESSION}.jsonl");
    home.write(&session, "");
    let said = home.says(&["import", "traffic"]);
    assert!(said.contains("0 rows, 0 new turns") && said.contains("2 rows, 2 new turns"), "{said}");
    home.write(&session, "hello\u{1b}[31m, this is no session\n");
    let said = home.says(&["import", "traffic"]);
    assert!(said.contains("1 rows, 0 new turns") && said.contains("1 refused"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
}

#[test]
fn a_large_session_is_read_with_its_torn_end_named() {
    let home = HomeDirectory::new();
    let filler = "x".repeat(100_000);
    let mut session = String::new();
    let mut parent = None;
    for number in 0..500 {
        let (asks, answers) = (format!("u{number}"), format!("a{number}"));
        session.push_str(&format!(
            "{}\r\n",
            user(&asks, parent.as_deref(), 2 * number, &json!(filler))
        ));
        let message = format!("m{number}");
        let said =
            assistant(&answers, &asks, 2 * number + 1, &message, OPUS, &usage(1, 100, [10, 0], 5));
        session.push_str(&format!("{said}\r\n"));
        parent = Some(answers);
    }
    session.push_str("{\"type\":\"assistant\",\"message\":{\"id\":\"m");
    assert!(session.len() > 50_000_000);
    let path = home.write("large.jsonl", &session);
    let outcome = home.json("", &["import", "traffic", path.to_str().unwrap()]);
    assert_eq!((&outcome[0]["turns"], &outcome[0]["refused"]), (&json!(500), &json!(1)));
    assert!(outcome[0]["refusals"][0].as_str().unwrap().contains("large.jsonl:1001: not JSON"));
}

#[test]
fn prices_are_imported_once_and_a_list_that_shrank_is_not() {
    let home = HomeDirectory::new();
    let list = |count: usize, output: u32| {
        let models: serde_json::Map<String, Value> = (0..count)
            .map(|number| {
                (
                    format!("acme/m{number}"),
                    json!({"cost": {"input": 1, "output": output}, "limit": {"context": 1000}}),
                )
            })
            .collect();
        let text = json!({"_meta": {"date": "2026-07-02"}, "models": models}).to_string();
        home.write(&format!("list-{count}-{output}.json"), &text).to_str().unwrap().to_owned()
    };
    let import = |file: &str| home.json("", &["import", "prices", file]);
    let first = import(&list(300, 2));
    assert_eq!(
        (&first["new"], &first["changed"], &first["dated"]),
        (&json!(300), &json!(0), &json!("2026-07-02"))
    );
    let again = import(&list(300, 2));
    assert_eq!((&again["new"], &again["changed"]), (&json!(0), &json!(0)));
    let tail = home.says(&["ledger", "tail", "-n", "2"]);
    assert_eq!(tail.matches("price-book").count(), 2, "only what is new becomes an event: {tail}");
    let changed = import(&list(300, 3));
    assert_eq!((&changed["new"], &changed["changed"]), (&json!(0), &json!(300)));
    let shrunk = list(200, 3);
    let output = home.run(Path::new(""), &["import", "prices", &shrunk]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("lacks 100 engines it had before (acme/m200, "), "{message}");
    let accepted = home.json("", &["import", "prices", "--accept-shrink", &shrunk]);
    assert_eq!(accepted["missing"], 100);
    let models = home.says(&["models", "list", "acme/m299"]);
    assert!(models.contains("acme/m299"), "what is no longer listed is believed still: {models}");
    assert_eq!(
        home.run(Path::new(""), &["import", "prices", "--dated", "soon", &shrunk]).status.code(),
        Some(2)
    );
}
