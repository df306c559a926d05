//! The real binary, as a person runs it.

use std::process::{Command, Output};

fn ferry(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ferry")).args(arguments).output().unwrap()
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
    std::fs::write(path, r#"{"source":"mine"}"#).unwrap();
    let (code, message) = failure(&["replay", "--sample", "--prices", path]);
    assert_eq!(code, Some(2));
    assert!(message.contains("not a price book: missing field `dated`"), "{message}");
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
    assert_eq!(failure(&["replay"]).0, Some(2));
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
