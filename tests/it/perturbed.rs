//! Perturbed samples against a short, naive reference: rows dropped, tokens, times and models changed.
//!
//! And the proof that figures come from the ledger: an edited one reports other figures, a damaged one
//! none.

use std::collections::BTreeMap;

use events::admission::Break;
use events::payload::{Finish, Parts};
use proptest::prelude::*;
use proptest::sample::Index;
use replay::fold::Wrong;
use replay::sample::{self, SampleTurn};

use crate::build::folded;
use crate::oracle::{ledger, report_on};

/// Pico-dollars per token: input, output, cache read, cache write.
type Price = [i128; 4];

const OPUS: Price = [5_000_000, 25_000_000, 500_000, 6_250_000];
const SONNET: Price = [3_000_000, 15_000_000, 300_000, 3_750_000];
const HAIKU: Price = [1_000_000, 5_000_000, 100_000, 1_250_000];
const FLASH: Price = [500_000, 3_000_000, 50_000, 83_300];
const DSV32: Price = [252_000, 378_000, 25_200, 252_000];
const OPUS41: Price = [15_000_000, 75_000_000, 1_500_000, 18_750_000];
const GPT55: Price = [5_000_000, 30_000_000, 500_000, 5_000_000];
const GPT55_LONG: Price = [10_000_000, 45_000_000, 1_000_000, 10_000_000];
const GEMINI: Price = [1_250_000, 10_000_000, 125_000, 1_250_000];
const GEMINI_LONG: Price = [2_500_000, 15_000_000, 250_000, 2_500_000];

struct Model {
    price: Price,
    long: Option<(u32, Price)>,
    context: u32,
}

fn model(name: &str) -> Model {
    let plain = |price, context| Model { price, long: None, context };
    match name {
        "opus" => plain(OPUS, 200_000),
        "sonnet" => plain(SONNET, 200_000),
        "haiku" => plain(HAIKU, 200_000),
        "opus41" => plain(OPUS41, 200_000),
        "flash" => plain(FLASH, 1_048_576),
        "dsv32" => plain(DSV32, 128_000),
        "gpt55" => Model { price: GPT55, long: Some((272_000, GPT55_LONG)), context: 1_050_000 },
        "gemini" => Model { price: GEMINI, long: Some((200_000, GEMINI_LONG)), context: 1_048_576 },
        other => panic!("no model {other}"),
    }
}

#[derive(Clone, Copy)]
struct Rules {
    ttl_s: Option<u32>,
    cache: bool,
    one_hour: bool,
}

const DEFAULT: Rules = Rules { ttl_s: Some(300), cache: true, one_hour: false };

fn coin(text: &str) -> u32 {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(text.as_bytes());
    u32::from(digest[0]) << 8 | u32::from(digest[1])
}

fn family(model: &str) -> &'static str {
    [
        ("claude-opus-4-1", "opus41"),
        ("claude-opus", "opus"),
        ("claude-sonnet", "sonnet"),
        ("claude-haiku", "haiku"),
    ]
    .into_iter()
    .find(|(prefix, _)| model.starts_with(prefix))
    .unwrap()
    .1
}

/// (cost in pico-dollars, switches, hit tokens, misfits), row by row in the oracle's order.
fn naive(
    rows: &[SampleTurn],
    choose: impl Fn(&SampleTurn) -> &'static str,
    rules: Rules,
) -> (i128, u64, u64, u64) {
    let mut rows: Vec<&SampleTurn> = rows.iter().collect();
    rows.sort_by_key(|row| (row.trace.clone(), row.start_s, row.agent.clone(), row.seq));
    let mut warm: BTreeMap<(String, String, &str), (u32, u32)> = BTreeMap::new();
    let mut last: BTreeMap<(String, String), &str> = BTreeMap::new();
    let (mut cost, mut switches, mut hits, mut misfits) = (0, 0, 0, 0);
    for row in rows {
        let name = choose(row);
        let lane = (row.trace.clone(), row.agent.clone());
        if last.insert(lane.clone(), name).is_some_and(|before| before != name) {
            switches += 1;
        }
        let model = model(name);
        let [input, output, read, mut write] = match model.long {
            Some((above, long)) if row.prompt > above => long,
            _ => model.price,
        };
        if rules.one_hour {
            write = write * 8 / 5;
        }
        let key = (lane.0, lane.1, name);
        let hit = match warm.get(&key) {
            Some((at, prompt)) if rules.ttl_s.is_none_or(|ttl| row.start_s - at <= ttl) => {
                row.prefix.min(*prompt)
            }
            _ => 0,
        };
        let (prompt, out) = (i128::from(row.prompt), i128::from(row.output));
        if rules.cache {
            cost += i128::from(hit) * read + (prompt - i128::from(hit)) * write + out * output;
            hits += u64::from(hit);
            warm.insert(key, (row.start_s, row.prompt));
        } else {
            cost += prompt * input + out * output;
        }
        misfits += u64::from(row.prompt + row.output > model.context);
    }
    (cost, switches, hits, misfits)
}

/// The 18 rows in the book's order.
fn naive_rows(rows: &[SampleTurn]) -> Vec<(i128, u64, u64, u64)> {
    let all = |name: &'static str, rules| naive(rows, move |_| name, rules);
    let turn_coin = |row: &SampleTurn| coin(&format!("{}|{}|{}", row.trace, row.agent, row.seq));
    let session_coin = |row: &SampleTurn| coin(&format!("{}|{}", row.trace, row.agent));
    let pick = |strong: bool| if strong { "opus" } else { "haiku" };
    let for_tools = |cheap: &'static str| {
        naive(
            rows,
            move |row| if row.news.contains(Parts::TOOL_RESULT) { cheap } else { "opus" },
            DEFAULT,
        )
    };
    vec![
        all("opus", Rules { cache: false, ..DEFAULT }),
        all("opus", DEFAULT),
        all("opus", Rules { ttl_s: Some(3600), ..DEFAULT }),
        all("opus", Rules { ttl_s: Some(3600), one_hour: true, ..DEFAULT }),
        all("opus", Rules { ttl_s: None, ..DEFAULT }),
        all("sonnet", DEFAULT),
        all("haiku", DEFAULT),
        all("flash", DEFAULT),
        all("dsv32", DEFAULT),
        naive(rows, |row| pick(turn_coin(row) < 32_768), DEFAULT),
        naive(rows, |row| pick(session_coin(row) < 32_768), DEFAULT),
        naive(rows, |row| pick(turn_coin(row) * 10 < 65_536), DEFAULT),
        naive(rows, |row| pick(session_coin(row) * 10 < 65_536), DEFAULT),
        for_tools("haiku"),
        for_tools("flash"),
        naive(rows, |row| family(&row.model), DEFAULT),
        all("gpt55", DEFAULT),
        all("gemini", DEFAULT),
    ]
}

fn found_rows(turns: &[SampleTurn]) -> Vec<(i128, u64, u64, u64)> {
    let (log, head) = ledger(turns);
    let rows = report_on(&log, &head).rows;
    rows.iter()
        .map(|row| {
            let sums = &row.sums;
            (sums.cost().amount().unwrap().0, sums.switches, sums.cache_read_tokens, sums.misfits)
        })
        .collect()
}

#[derive(Clone, Debug)]
enum Change {
    Drop,
    Prompt(u32),
    Prefix(u32),
    Output(u32),
    Start(u32),
    Model(&'static str),
    News(u8),
}

fn change() -> impl Strategy<Value = Change> {
    let models = [
        "claude-opus-4-1-20250805",
        "claude-opus-4-6",
        "claude-sonnet-4-20250514",
        "claude-haiku-4-5-20251001",
    ];
    prop_oneof![
        Just(Change::Drop),
        (0_u32..1_200_000).prop_map(Change::Prompt),
        (0_u32..400_000).prop_map(Change::Prefix),
        (0_u32..50_000).prop_map(Change::Output),
        (0_u32..4_000).prop_map(Change::Start),
        prop::sample::select(models.to_vec()).prop_map(Change::Model),
        (0_u8..16).prop_map(Change::News),
    ]
}

/// Some of the sample's traces, changed here and there. Two calls of one agent never start together:
/// which of them came first would be anybody's guess.
fn perturbed(
    all: &[SampleTurn],
    traces: &[Index],
    changes: Vec<(Index, Change)>,
) -> Vec<SampleTurn> {
    let mut names: Vec<&str> = all.iter().map(|turn| turn.trace.as_str()).collect();
    names.dedup();
    let chosen: Vec<&str> = traces.iter().map(|index| *index.get(&names)).collect();
    let mut turns: Vec<SampleTurn> =
        all.iter().filter(|turn| chosen.contains(&turn.trace.as_str())).cloned().collect();
    for (index, change) in changes {
        if turns.len() < 2 {
            break;
        }
        let at = index.index(turns.len());
        let turn = &mut turns[at];
        match change {
            Change::Drop => {
                turns.remove(at);
                continue;
            }
            Change::Prompt(prompt) => turn.prompt = prompt,
            Change::Prefix(prefix) => turn.prefix = prefix,
            Change::Output(output) => turn.output = output,
            Change::Start(start) => turn.start_s = start,
            Change::Model(model) => turn.model = model.to_owned(),
            Change::News(news) => turn.news = Parts(news),
        }
        turn.prefix = turn.prefix.min(turn.prompt);
    }
    let mut seen = std::collections::BTreeSet::new();
    turns.retain(|turn| seen.insert((turn.trace.clone(), turn.agent.clone(), turn.start_s)));
    turns
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn perturbed_samples_agree_with_a_naive_reference(
        traces in prop::collection::vec(any::<Index>(), 1..5),
        changes in prop::collection::vec((any::<Index>(), change()), 0..60),
    ) {
        let turns = perturbed(&ALL, &traces, changes);
        prop_assert_eq!(found_rows(&turns), naive_rows(&turns));
    }
}

static ALL: std::sync::LazyLock<Vec<SampleTurn>> =
    std::sync::LazyLock::new(|| sample::turns().unwrap());

fn few() -> Vec<SampleTurn> {
    ALL.iter().filter(|turn| turn.trace.as_str() < "0004").cloned().collect()
}

#[test]
fn the_naive_reference_agrees_on_the_whole_week() {
    assert_eq!(found_rows(&ALL), naive_rows(&ALL));
}

// The figures come from the ledger: editing it, properly signed, changes them.
#[test]
fn an_edited_ledger_reports_other_figures() {
    let (log, head) = ledger(&few());
    let before = report_on(&log, &head);
    let mut edited = few();
    edited[5].output += 1_000;
    edited[6].finish = Finish::Length;
    let (log, head) = ledger(&edited);
    let after = report_on(&log, &head);
    let cost = |report: &replay::report::Report| report.rows[1].sums.cost().amount().unwrap();
    assert_eq!((cost(&after) - cost(&before)).0, 1_000 * OPUS[1]);
    assert_ne!(before.digest, after.digest);
    assert_ne!(before.ledger.link, after.ledger.link);
}

// And damaging it between import and report leaves no report at all.
#[test]
fn a_damaged_ledger_reports_nothing() {
    let (mut log, head) = ledger(&few());
    let (first, bytes) = log.stored_mut().iter_mut().nth(3).unwrap();
    let first = *first;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let fault = folded(&log, &head).unwrap_err();
    assert_eq!(fault.at, first);
    assert!(matches!(fault.what, Wrong::Break(Break::Damaged(_))), "{fault}");
}
