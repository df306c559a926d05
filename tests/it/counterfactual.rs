//! Policies that decide the sample's week again: every turn, over hundreds of engines, twice the same.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn decided() -> Value {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples");
    let policies =
        ["cheap", "balanced", "quality"].map(|name| examples.join(format!("{name}.toml")));
    let output = Command::new(env!("CARGO_BIN_EXE_ferry"))
        .args(["replay", "--sample", "--memory", "--json", "--policy"])
        .args(policies)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

// 49,334 turns by three policies over more than 300 engines, beside the oracle's rows; again, and the digests are equal.
#[test]
fn the_examples_decide_the_whole_week_twice_the_same() {
    let second = std::thread::spawn(decided);
    let (report, again) = (decided(), second.join().unwrap());
    assert_eq!(report["digest"], again["digest"]);
    assert_eq!(report, again);
    assert_eq!(report["rows"].as_array().unwrap().len(), 18, "the oracle's rows are beside them");
    let policies = report["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 3);
    let cost = |policy: &Value| {
        assert_eq!(policy["cost_incomplete"], false);
        policy["cost_usd"].as_str().unwrap().parse::<events::money::Pico>().unwrap()
    };
    for policy in policies {
        let decided = &policy["decided"];
        assert_eq!((&decided["turns"], &decided["refused"]), (&49_334.into(), &0.into()));
        assert_eq!(policy["turns"], 49_334);
        assert!(decided["engines"].as_u64().unwrap() > 300, "{}", decided["engines"]);
        let known = decided["terms_known"].as_array().unwrap();
        assert_eq!(known[1].as_u64().unwrap(), 49_334 * 17);
        assert!(known[0].as_u64().unwrap() * 3 > known[1].as_u64().unwrap(), "a third is known");
        let sum = |field: &str| -> u64 {
            decided[field].as_object().unwrap().values().map(|turns| turns.as_u64().unwrap()).sum()
        };
        assert_eq!([sum("tiers"), sum("choices"), sum("served_by")], [49_334; 3]);
    }
    assert!(cost(&policies[0]) < cost(&policies[1]), "cheap is cheaper than balanced");
    assert!(cost(&policies[1]) < cost(&policies[2]), "and that than quality");
}
