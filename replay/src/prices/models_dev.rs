//! models.dev: dollars per million tokens, by provider and model.

use events::payload::{Capabilities, Quality, Tier};
use serde_json::value::RawValue;

use super::abilities::{flag, lists, tokens};
use super::gather::{Engine, Gathered, Refusal, Terms};
use super::json::{Object, list, text, whole};
use super::rates::{Scope, Slot, Unit, check_other_charges, read};
use super::{entries, object_at};

const FIELDS: [(&str, Slot); 5] = [
    ("input", Slot::Input),
    ("output", Slot::Output),
    ("cache_read", Slot::CacheRead),
    ("cache_write", Slot::CacheWrite5m),
    ("reasoning", Slot::Reasoning),
];
/// What else a model may charge for.
const OTHERS: [&str; 2] = ["input_audio", "output_audio"];

/// Takes a file's entries: `provider/model` with its terms, or a provider with its models.
pub(super) fn gather<'a>(members: impl Iterator<Item = (&'a str, &'a RawValue)>) -> Gathered {
    let mut gathered = Gathered::default();
    for (name, entry) in entries(members, &mut gathered) {
        match entry.object("models") {
            Some(models) => {
                for (model, entry) in entries(models.iter(), &mut gathered) {
                    take(&mut gathered, &format!("{name}/{model}"), &entry);
                }
            }
            None => take(&mut gathered, name, &entry),
        }
    }
    gathered
}

fn take(gathered: &mut Gathered, name: &str, entry: &Object<'_>) {
    gathered.take(name, Ok(Engine::spelled(name.to_owned())), terms(entry));
}

fn terms(entry: &Object<'_>) -> Result<Option<Terms>, Refusal> {
    let Some(cost) = entry.get("cost") else { return Ok(None) };
    let cost = object_at("cost", cost)?;
    let rates = read(&cost, "cost", &FIELDS, Unit::Million, Scope::Base)?;
    check_other_charges(&rates, &cost, "cost.", |key| OTHERS.contains(&key))?;
    let limit = entry.object("limit");
    let context = limit.and_then(|limit| whole(limit.get("context")?)).filter(|tokens| *tokens > 0);
    Ok(Some(Terms {
        context,
        rates,
        tiers: tiers(&cost)?,
        windows: Vec::new(),
        capabilities: capabilities(entry),
        quality: Quality::default(),
    }))
}

fn capabilities(entry: &Object<'_>) -> Capabilities {
    let of = |holder: &str, key: &str| entry.object(holder)?.get(key);
    Capabilities {
        tools: entry.get("tool_call").and_then(flag),
        images: of("modalities", "input").and_then(|raw| lists(raw, &["image"])),
        reasoning: entry.get("reasoning").and_then(flag),
        output: of("limit", "output").and_then(tokens),
    }
}

fn tiers(cost: &Object<'_>) -> Result<Vec<Tier>, Refusal> {
    let Some(raw) = cost.get("tiers") else { return over_200k(cost) };
    let Some(items) = list(raw) else {
        return Err(Refusal::new("cost.tiers", raw.get(), "is no list"));
    };
    let mut tiers = Vec::new();
    for (raw, index) in items.into_iter().zip(0_usize..) {
        let at = format!("cost.tiers[{index}]");
        let tier = object_at(&at, raw)?;
        let above = above(&tier).ok_or_else(|| {
            let problem = "does not say above how many prompt tokens it applies";
            Refusal::new(&at, raw.get(), problem)
        })?;
        let rates = read(&tier, &at, &FIELDS, Unit::Million, Scope::Override)?;
        tiers.push(Tier { from_prompt: above, rates });
    }
    Ok(tiers)
}

/// The smallest prompt of a tier, which says above how many tokens it applies: `above_context`, or
/// as published `tier: {type: "context", size}`.
fn above(tier: &Object<'_>) -> Option<u32> {
    let size = match tier.object("tier") {
        Some(tier) => {
            tier.get("type").filter(|kind| text(kind).as_deref() == Some("context"))?;
            tier.get("size")?
        }
        None => tier.get("above_context")?,
    };
    whole(size)?.checked_add(1)
}

/// The older way to write one tier. Files that have `tiers` repeat it for old readers, not always at
/// the right size.
fn over_200k(cost: &Object<'_>) -> Result<Vec<Tier>, Refusal> {
    const FIELD: &str = "cost.context_over_200k";
    let Some(raw) = cost.get("context_over_200k") else { return Ok(Vec::new()) };
    let tier = object_at(FIELD, raw)?;
    let rates = read(&tier, FIELD, &FIELDS, Unit::Million, Scope::Override)?;
    Ok(vec![Tier { from_prompt: 200_001, rates }])
}
