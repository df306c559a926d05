//! Agent-turn CSV.

use super::*;

fn csv(rows: &str) -> Vec<Result<Seen, String>> {
    let options = Options { start: START, ..Options::default() };
    let (rows, summary) = read_all(format!("{HEADER}{rows}").as_bytes(), &options);
    assert_eq!(summary.format, Format::AgentTurnsCsv);
    rows
}

#[test]
fn a_csv_row_is_the_turn_the_sample_makes_of_it() {
    let rows = csv("0001,main,1,19,claude-opus-4-5-20251101,72762,71168,296,9.19,12,u,R,KTU\n");
    let seen = rows[0].as_ref().unwrap();
    assert_eq!((seen.at, seen.answered_at), (START + 19_000, START + 28_190));
    assert_eq!((seen.row.as_str(), seen.conversation.as_str()), ("0001|main|1", "0001"));
    assert_eq!((seen.subagent.as_deref(), seen.latency_ms), (None, Some(9_190)));
    let (all, mark) = (Parts::THINKING | Parts::TEXT | Parts::TOOL_USE, UsageMarks::default());
    assert_eq!((seen.parts, seen.usage.marks), ([Some(Parts::TOOL_RESULT), Some(all)], mark));
    let bundled = sample::turns().unwrap();
    let same = bundled.iter().find(|turn| turn.trace == "0001" && turn.seq == 1).unwrap();
    assert_eq!((same.prompt, same.prefix, same.output), (72_762, 71_168, 296));
    assert!(seen.turn.contains("source_key: Some(Text(\"0001|main|1\"))"), "{}", seen.turn);
    for (path, count) in [("cached_tok", 71_168), ("in_tok", 72_762), ("out_tok", 296)] {
        assert!(seen.result.contains(&format!("Text(\"{path}\"), {count}")), "{}", seen.result);
    }
}

#[test]
fn columns_are_found_by_name_behind_a_byte_order_mark() {
    let text = "\u{feff}out_kinds,in_kinds,stop,api_s,out_tok,cached_tok,in_tok,model,t_s,seq,agent,\
                trace,extra\r\nT,T,e,1.5,3,0,10,m,0,0,sub-1,t9,ignored\r\n\r\n";
    let (rows, summary) = read_all(text.as_bytes(), &Options::default());
    let seen = rows[0].as_ref().unwrap();
    assert_eq!((seen.row.as_str(), seen.subagent.as_deref()), ("t9|sub-1|0", Some("sub-1")));
    assert_eq!((seen.latency_ms, seen.finish), (Some(1_500), Finish::EndTurn));
    assert_eq!((summary.rows, summary.format), (1, Format::AgentTurnsCsv));
}

#[test]
fn bad_csv_rows_are_named_and_the_rest_is_read() {
    let good = "t,main,7,0,m,10,0,1,0,0,,T,T\n";
    let bad = [
        ("t,main,x,0,m,10,0,1,0,0,,T,T", "seq: 'x' is no number"),
        ("t,main,0,-1,m,10,0,1,0,0,,T,T", "t_s: '-1' is no number of seconds"),
        ("t,main,0,0,m,1e3,0,1,0,0,,T,T", "in_tok: '1e3' is no number of tokens"),
        ("t,main,0,0,m,10,11,1,0,0,,T,T", "cached_tok: '11' is more than the 10 of in_tok"),
        ("t,main,0,0,m,10,0,4294967295,0,0,,T,T", "out_tok: '4294967295' is no number of tokens"),
        ("t,main,0,0,m,10,0,1,0.0001,0,,T,T", "api_s: '0.0001' is finer than a millisecond"),
        ("t,main,0,0,m,10,0,1,0,0,z,T,T", "stop: 'z' is none of u (tool use), e (end), or empty"),
        ("t,main,0,0,m,10,0,1,0,0,,T,TX", "out_kinds: 'TX' holds other letters than T, R, U, K"),
        (",main,0,0,m,10,0,1,0,0,,T,T", "trace is missing"),
        ("t,main,0,0,,10,0,1,0,0,,T,T", "model is missing"),
        (
            "t,main,0,0,m\u{e9},10,0,1,0,0,,T,T",
            "model: 'm\u{e9}' is no name: 1 to 128 bytes of printable ASCII",
        ),
        ("t,main,0,0,m,10,0,1", "8 cells, the header has 13"),
        ("t,main,0,0,m,10,0,1,0,0,,T,T,T", "14 cells, the header has 13"),
        ("\"t,main,0,0,m,10,0,1,0,0,,T,T", "1 cells, the header has 13"),
    ];
    for (row, problem) in bad {
        let rows = csv(&format!("{row}\n{good}"));
        assert_eq!(rows.len(), 2, "{row}");
        assert_eq!(rows[0].as_ref().unwrap_err(), &format!("line 2: {problem}"));
        assert_eq!(rows[1].as_ref().unwrap().row, "t|main|7");
    }
    let torn = csv("t,main,7,0,m,10,0,1,0,0,,T,T\nt,main,8,0,m,10,0");
    assert_eq!(refusals(torn), ["line 3: 7 cells, the header has 13"]);
    assert_eq!(refusals(csv(HEADER)), ["line 2: seq: 'seq' is no number"]);
}

#[test]
fn the_bundled_week_reads_as_csv() {
    let mut text = HEADER.to_owned();
    let turns = sample::turns().unwrap();
    for turn in &turns {
        let stop = match turn.finish {
            Finish::ToolUse => "u",
            Finish::EndTurn => "e",
            _ => "",
        };
        let sample::SampleTurn {
            trace, agent, seq, start_s, model, prompt, prefix, output, ..
        } = turn;
        let (whole, part) = (turn.api_ms / 1_000, turn.api_ms % 1_000 / 10);
        text += &format!(
            "{trace},{agent},{seq},{start_s},{model},{prompt},{prefix},{output},{whole}.{part:02},0,{stop},T,T\n"
        );
    }
    let (rows, summary) =
        read_all(text.as_bytes(), &Options { start: START, ..Options::default() });
    assert_eq!((summary.rows, summary.refused), (49_334, 0));
    for (row, turn) in rows.iter().zip(&turns) {
        let seen = row.as_ref().unwrap();
        assert_eq!(seen.at, START + u64::from(turn.start_s) * 1_000);
        assert_eq!(seen.latency_ms, Some(turn.api_ms));
        assert_eq!((seen.usage.prompt, seen.usage.output), (Some(turn.prompt), Some(turn.output)));
    }
}
