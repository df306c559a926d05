use events::payload::Rates;
use projections::book::EnginePrice;
use projections::projection::Projection as _;
use projections::quality::on_axis;

use super::*;
use crate::default_book::default_book;
use crate::effective_book::{PricePolicy, book_of, effective};

fn table(models: &str) -> Result<QualityTable, QualityTableError> {
    let json = format!(r#"{{"dated":"2026-07-02","about":"test","models":[{models}]}}"#);
    QualityTable::parse(json.as_bytes())
}

fn row(model: &str, rest: &str, coding: &str) -> String {
    let figure = r#"{"benchmark":"b","score":"1","source":"s"}"#;
    format!(r#"{{"model":"{model}"{rest},"coding":{{"score":"{coding}","from":[{figure}]}}}}"#)
}

fn coding(table: &QualityTable, engine: &str) -> Option<u16> {
    table.of(engine)?.quality.coding
}

#[test]
fn a_row_is_found_by_any_name_of_its_model() {
    let rows = [
        row("anthropic/claude-x-4-5-20251101", "", "60"),
        row("lab/coder-30b-instruct", r#","names":["coder-30b"]"#, "50.5"),
    ];
    let table = table(&rows.join(",")).unwrap();
    for engine in [
        "anthropic/claude-x-4-5-20251101",
        "openrouter/anthropic/claude-x-4.5",
        "vertex/claude-x-4-5@20251101",
        "bedrock/eu.anthropic.claude-x-4-5-20251101-v1:0",
        "seller/Claude-X-4.5:free",
    ] {
        assert_eq!(coding(&table, engine), Some(600), "{engine}");
    }
    assert_eq!(
        coding(&table, "anthropic/claude-x-4-5-20250301"),
        None,
        "an earlier model of that name"
    );
    assert_eq!(coding(&table, "openrouter/lab/coder-30b"), Some(505));
    for other in ["lab/coder", "lab/coder-7b", "anthropic/claude-x-4", "coder", ""] {
        assert_eq!(coding(&table, other), None, "{other}");
    }
}

#[test]
fn a_date_nobody_scores_is_left_out_and_one_date_stands_for_none() {
    let rows = [
        ("lab/m", "10"),
        ("lab/m-20240513", "20"),
        ("lab/n-20240513", "30"),
        ("lab/n-20241120", "40"),
    ];
    let rows: Vec<String> = rows.iter().map(|(model, score)| row(model, "", score)).collect();
    let table = table(&rows.join(",")).unwrap();
    assert_eq!(coding(&table, "x/m-2024-05-13"), Some(200));
    assert_eq!(coding(&table, "x/m-2025-01-01"), Some(100));
    assert_eq!(coding(&table, "x/m"), Some(100));
    assert_eq!(coding(&table, "x/n"), None, "which of the two?");
    let named = row("lab/o-20240513", r#","names":["o"]"#, "50");
    let table = self::table(&named).unwrap();
    assert_eq!(coding(&table, "x/o"), Some(500));
    assert_eq!(coding(&table, "x/o-20241120"), None, "the undated name stands for another date");
}

#[test]
fn rows_of_one_name_are_told_apart_by_their_makers_or_not_at_all() {
    let table = table(
        &[row("a/m", "", "10"), row("b/m", "", "20"), row("b/M", "", "30"), row("c/m", "", "40")]
            .join(","),
    );
    let table = table.unwrap();
    assert_eq!(coding(&table, "a/m"), Some(100));
    assert_eq!(coding(&table, "openrouter/c/m:free"), Some(400));
    assert_eq!(coding(&table, "openrouter/b/m"), None, "two rows of that maker");
    assert_eq!(coding(&table, "seller/m"), None);
    assert_eq!(coding(&table, "m"), None);
}

#[test]
fn a_broken_table_is_refused_by_row() {
    let problem = |models: &str| table(models).unwrap_err().to_string();
    let twice = [row("a/m", "", "1"), row("a/m", "", "1")].join(",");
    assert_eq!(problem(&twice), "a/m: stands twice");
    assert_eq!(problem(&row("a/m", "", "100.1")), "a/m: has a score out of 0 to 100");
    assert_eq!(problem(&row("m", "", "1")), "m: is no 'maker/model'");
    assert_eq!(problem(r#"{"model":"a/m"}"#), "a/m: has no score");
    assert_eq!(
        problem(r#"{"model":"a/m","coding":{"score":"1","from":[]}}"#),
        "a/m: has a score without figures"
    );
    assert!(problem(&row("a/m", r#","price":1"#, "1")).contains("unknown field `price`"));
    let undated = QualityTable::parse(br#"{"dated":"today","about":"","models":[]}"#).unwrap_err();
    assert!(matches!(undated, QualityTableError::Row { .. }));
}

#[test]
fn only_missing_axes_are_filled_and_it_is_known_which() {
    let table = table(&row("a/m", "", "60")).unwrap();
    let list = crate::prices::parse(
        br#"[{"id":"a/m","pricing":{"prompt":"1"},"benchmarks":{"intelligence":30}},
            {"id":"b/m","pricing":{"prompt":"1"},"benchmarks":{"coding":60}},{"id":"b/other","pricing":{"prompt":"1"}}]"#,
    )
    .unwrap();
    let book = table.fill(book_of(&list));
    let of = |engine: &str| book.engine(engine).unwrap().quality;
    let [a, b, other] = ["openrouter/a/m", "openrouter/b/m", "openrouter/b/other"];
    assert_eq!((of(a).intelligence, of(a).coding, of(a).agentic), (Some(300), Some(600), None));
    let says = |book: &Book, engine, axis| match table.provenance(book, engine, axis) {
        Some(Provenance::Table(row)) => row.model.clone(),
        Some(Provenance::Price(source)) => source.to_owned(),
        None => "nobody".to_owned(),
    };
    assert_eq!(says(&book, a, Axis::Coding), "a/m");
    assert_eq!(says(&book, a, Axis::Intelligence), "OpenRouter");
    assert_eq!(says(&book, a, Axis::Agentic), "nobody");
    assert_eq!(says(&book, b, Axis::Coding), "OpenRouter", "though the table says the same");
    assert_eq!(says(&book, other, Axis::Coding), "nobody");
    let again = table.fill(book.clone());
    assert_eq!(again, book);
    assert_eq!(says(&again, a, Axis::Coding), "a/m");
    // A newer price of the engine says for itself.
    let newer = EnginePrice { seq: Some(7), ..book_of(&list).engine(a).unwrap().clone() };
    let book = book.with([newer]);
    assert_eq!(
        (book.engine(a).unwrap().quality.coding, book.is_filled(a, Axis::Coding)),
        (None, false)
    );
    let restored = Book::restore(&table.fill(book.clone()).snapshot()).unwrap();
    assert!(!restored.is_filled(a, Axis::Coding), "no part of the state");
}

#[test]
fn rates_of_ones_own_leave_what_the_engine_can_do() {
    let list = default_book().unwrap();
    let engine = "anthropic/claude-opus-4-5";
    let policy = PricePolicy {
        rates: [(engine.to_owned(), Rates::default())].into(),
        ..PricePolicy::default()
    };
    let book = bundled().unwrap().fill(effective(&Book::genesis(), &list, &policy));
    let price = book.engine(engine).unwrap();
    assert_eq!(price.source, "policy");
    assert_eq!(price.capabilities, list.engine(engine).unwrap().capabilities);
    assert!(price.quality.coding.is_some());
}

#[test]
fn the_bundled_table_is_the_one_that_was_packed() {
    let table = bundled().unwrap();
    assert_eq!(table.dated(), "2026-07-02");
    assert!(table.about().contains("pack_quality"));
    let count = |axis: Axis| table.rows().filter(|row| axis.of(&row.quality).is_some()).count();
    assert_eq!(Axis::ALL.map(count), [14, 90, 42]);
    assert_eq!(
        table.digest().to_string(),
        "9d0ea411cb32f66321eff931e52559456b2e59e1aa64b10d5d5dc16c1be76471"
    );
    for row in table.rows() {
        assert_eq!(table.of(&row.model), Some(row), "each row is found by its own name");
        for axis in Axis::ALL {
            assert_eq!(axis.of(&row.quality).is_some(), !row.figures(axis).is_empty());
            for figure in row.figures(axis) {
                assert!(figure.source.starts_with("https://"), "{figure:?}");
                assert!(tenths(&figure.score).is_some(), "{figure:?}");
            }
        }
    }
}

#[test]
fn larger_and_newer_models_come_out_better() {
    let table = bundled().unwrap();
    for (better, worse) in [
        ("anthropic/claude-opus-4-8", "anthropic/claude-opus-4-6"),
        ("anthropic/claude-opus-4-6", "anthropic/claude-opus-4-5"),
        ("anthropic/claude-opus-4-5", "anthropic/claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5"),
        ("anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4"),
        ("openai/gpt-5.5", "openai/gpt-5"),
        ("openai/gpt-5", "openai/gpt-4.1"),
        ("google/gemini-2.5-pro", "google/gemini-2.5-flash"),
        ("google/gemini-2.5-flash", "google/gemini-2.5-flash-lite"),
        ("zai/glm-5.1", "zai/glm-4.6"),
        ("moonshotai/kimi-k2.6", "moonshotai/kimi-k2-0905"),
    ] {
        let [better_by, worse_by] = [better, worse].map(|engine| coding(&table, engine).unwrap());
        assert!(better_by > worse_by, "{better} {better_by}, {worse} {worse_by}");
    }
    for unscored in
        ["openai/gpt-5-mini", "openai/gpt-5-nano", "openai/gpt-5.2", "anthropic/claude-sonnet-5"]
    {
        assert_eq!(table.of(unscored).map(|row| row.model.as_str()), None, "nobody says");
    }
    let best = table.rows().filter_map(|row| row.quality.coding).max();
    assert!(best.is_some_and(|best| (780..=850).contains(&best)));
}

#[test]
fn the_default_book_is_filled() {
    let table = bundled().unwrap();
    let book = table.fill(book_of(&default_book().unwrap()));
    let counted = |start: &str| {
        let engines = || book.engines().filter(|price| price.engine.starts_with(start));
        let axes = Axis::ALL
            .map(|axis| engines().filter(|price| axis.of(&price.quality).is_some()).count());
        let any = engines().filter(|price| on_axis(&price.quality, Axis::Coding).is_some()).count();
        (engines().count(), axes, any)
    };
    let sold: BTreeSet<&str> =
        book.engines().filter_map(|price| Some(table.of(&price.engine)?.model.as_str())).collect();
    let unsold: Vec<&str> =
        table.rows().map(|row| row.model.as_str()).filter(|model| !sold.contains(model)).collect();
    assert_eq!(unsold, ["internlm/intern-s1", "sakana/fugu"]);
    assert_eq!(counted(""), (4_894, [199, 1_616, 771], 1_616));
    assert_eq!(counted("openrouter/"), (333, [13, 83, 41], 83));
}
