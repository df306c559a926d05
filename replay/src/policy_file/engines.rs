//! `[engines.NAME]`: what people know of an engine that lists do not say.

use std::collections::BTreeMap;

use events::payload::Quality;
use projections::policy::EngineFacts;
use projections::profiles::{Class, Strength};
use serde::Deserialize;

use super::figures::score;
use super::{PolicyFileError, word};

pub(super) type EngineFiles = BTreeMap<String, EngineFile>;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct EngineFile {
    tools: Option<bool>,
    images: Option<bool>,
    context_tokens: Option<u32>,
    output_tokens: Option<u32>,
    intelligence: Option<String>,
    coding: Option<String>,
    agentic: Option<String>,
    class: Option<String>,
    strengths: Vec<String>,
}

pub(super) fn read(files: EngineFiles) -> Result<BTreeMap<String, EngineFacts>, PolicyFileError> {
    files.into_iter().map(|(name, file)| Ok((name.clone(), facts(&name, &file)?))).collect()
}

fn facts(name: &str, file: &EngineFile) -> Result<EngineFacts, PolicyFileError> {
    let of = |key: &str| format!("engines.{name}.{key}");
    let scored = |key: &str, text: &Option<String>| {
        text.as_ref().map(|text| score(&of(key), text)).transpose()
    };
    let classes = Class::ALL.map(|class| (class.label(), class));
    let strengths = Strength::ALL.map(|strength| (strength.label(), strength));
    let class = file.class.as_ref().map(|text| word(&of("class"), text, &classes)).transpose()?;
    let strengths: Result<_, PolicyFileError> =
        file.strengths.iter().map(|text| word(&of("strengths"), text, &strengths)).collect();
    Ok(EngineFacts {
        tools: file.tools,
        images: file.images,
        context: file.context_tokens,
        output: file.output_tokens,
        quality: Quality {
            intelligence: scored("intelligence", &file.intelligence)?,
            coding: scored("coding", &file.coding)?,
            agentic: scored("agentic", &file.agentic)?,
        },
        class,
        strengths: strengths?,
    })
}
