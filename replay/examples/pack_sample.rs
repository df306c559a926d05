//! Packs the agent-turn CSV into the columns the sample is bundled as.
//!
//! `cargo run -p replay --example pack_sample < claude_code_agent_turns.csv > replay/sample/week.msgpack`

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Write as _, stdin, stdout};

use events::payload::{Finish, Parts};
use replay::sample::{TraceFile, WeekFile};

fn main() -> Result<(), Box<dyn Error>> {
    let mut traces: BTreeMap<String, TraceFile> = BTreeMap::new();
    let mut models = Vec::new();
    for row in csv::Reader::from_reader(stdin()).deserialize() {
        let row: BTreeMap<String, String> = row?;
        let get = |column: &str| row.get(column).map(String::as_str).ok_or(format!("no {column}"));
        let number = |column: &str| -> Result<u32, Box<dyn Error>> { Ok(get(column)?.parse()?) };
        let name = get("trace")?.to_owned();
        let trace = traces
            .entry(name.clone())
            .or_insert_with(|| TraceFile { name, ..TraceFile::default() });
        trace.agent.push(index_of(&mut trace.agents, get("agent")?)?);
        trace.seq.push(number("seq")?);
        trace.start_s.push(number("t_s")?);
        trace.model.push(index_of(&mut models, get("model")?)?);
        let prompt = number("in_tok")?;
        trace.prompt.push(prompt);
        trace.fresh.push(prompt.checked_sub(number("cached_tok")?).ok_or("cached_tok > in_tok")?);
        trace.output.push(number("out_tok")?);
        trace.api_cs.push(hundredths(get("api_s")?)?);
        trace.finish.push(match get("stop")? {
            "u" => Finish::ToolUse,
            "e" => Finish::EndTurn,
            "" => Finish::Unknown,
            other => return Err(format!("stop '{other}'").into()),
        });
        trace.news.push(parts(get("in_kinds")?)?);
        trace.parts.push(parts(get("out_kinds")?)?);
    }
    let week = WeekFile { models, traces: traces.into_values().collect() };
    Ok(stdout().write_all(&rmp_serde::to_vec(&week)?)?)
}

fn index_of(names: &mut Vec<String>, name: &str) -> Result<u32, Box<dyn Error>> {
    let index = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    Ok(u32::try_from(index)?)
}

fn hundredths(seconds: &str) -> Result<u32, Box<dyn Error>> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    if fraction.len() > 2 {
        return Err(format!("api_s '{seconds}' is finer than a hundredth").into());
    }
    Ok(whole.parse::<u32>()? * 100 + format!("{fraction:0<2}").parse::<u32>()?)
}

fn parts(letters: &str) -> Result<Parts, Box<dyn Error>> {
    letters.chars().try_fold(Parts::default(), |parts, letter| {
        Ok(parts
            | match letter {
                'T' => Parts::TEXT,
                'R' => Parts::TOOL_RESULT,
                'U' => Parts::TOOL_USE,
                'K' => Parts::THINKING,
                other => return Err(format!("kind '{other}'").into()),
            })
    })
}
