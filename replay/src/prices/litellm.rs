//! LiteLLM's cost map: flat keys, dollars per token, image or request.

use std::collections::BTreeMap;

use events::payload::{Capabilities, Quality, Rates, Tier};
use serde_json::value::RawValue;

use super::abilities::{flag, tokens};
use super::gather::{Engine, Gathered, Refusal, Terms};
use super::json::{Object, list, text, whole};
use super::rates::{Scope, Slot, Unit, check_other_charges, rate};
use super::{entries, object_at};

/// Keys and what they are; a key that begins another stands after it.
const FIELDS: [(&str, Slot); 8] = [
    ("cache_creation_input_token_cost_above_1hr", Slot::CacheWrite1h),
    ("cache_creation_input_token_cost", Slot::CacheWrite5m),
    ("cache_read_input_token_cost", Slot::CacheRead),
    ("input_cost_per_image", Slot::Image),
    ("input_cost_per_request", Slot::Request),
    ("input_cost_per_token", Slot::Input),
    ("output_cost_per_reasoning_token", Slot::Reasoning),
    ("output_cost_per_token", Slot::Output),
];
/// The entry that documents the format: its zeros are no prices.
const SAMPLE: &str = "sample_spec";

/// Takes a map's entries, by model.
pub(super) fn gather<'a>(members: impl Iterator<Item = (&'a str, &'a RawValue)>) -> Gathered {
    let mut gathered = Gathered::default();
    for (key, entry) in entries(members.filter(|(key, _)| *key != SAMPLE), &mut gathered) {
        gathered.take(key, engine(key, &entry), terms(&entry));
    }
    gathered
}

fn engine(key: &str, entry: &Object<'_>) -> Result<Engine, Refusal> {
    if key.contains('/') {
        return Ok(Engine::spelled(key.to_owned()));
    }
    let provider = entry.get("litellm_provider").and_then(text).ok_or_else(|| {
        Refusal::new("litellm_provider", "", "is missing, and the key names no provider")
    })?;
    Ok(Engine { name: format!("{provider}/{key}"), is_spelled: false })
}

fn terms(entry: &Object<'_>) -> Result<Option<Terms>, Refusal> {
    if let Some(raw) = entry.get("off_peak_pricing") {
        return Err(Refusal::new("off_peak_pricing", raw.get(), "is not understood"));
    }
    let mut rates = Rates::default();
    let mut tiers: BTreeMap<u32, Rates> = BTreeMap::new();
    for (key, raw) in entry.iter() {
        match place(key)? {
            Some((slot, None)) => {
                *slot.of(&mut rates) = rate(key, raw, Unit::Each, Scope::Base)?;
            }
            Some((slot, Some(from))) => {
                let tier = tiers.entry(from).or_default();
                *slot.of(tier) = rate(key, raw, Unit::Each, Scope::Override)?;
            }
            None => {}
        }
    }
    if let Some(raw) = entry.get("tiered_pricing") {
        if !tiers.is_empty() {
            let problem = "stands beside rates above a number of tokens";
            return Err(Refusal::new("tiered_pricing", raw.get(), problem));
        }
        tiers = ranges(raw, &mut rates)?;
    }
    check_other_charges(&rates, entry, "", is_other)?;
    let tiers = tiers.into_iter().map(|(from_prompt, rates)| Tier { from_prompt, rates });
    Ok(Some(Terms {
        context: entry.get("max_input_tokens").and_then(tokens),
        rates,
        tiers: tiers.collect(),
        windows: Vec::new(),
        capabilities: Capabilities {
            tools: entry.get("supports_function_calling").and_then(flag),
            images: entry.get("supports_vision").and_then(flag),
            reasoning: entry.get("supports_reasoning").and_then(flag),
            output: entry.get("max_output_tokens").and_then(tokens),
        },
        quality: Quality::default(),
    }))
}

/// What a key is a rate of, and from which prompt on. Other service tiers (`_batches`, `_priority`,
/// `_flex`) and cache writes that last longer than an hour are none of ours.
fn place(key: &str) -> Result<Option<(Slot, Option<u32>)>, Refusal> {
    let found = FIELDS.iter().find_map(|(field, slot)| Some((slot, key.strip_prefix(field)?)));
    let Some((slot, rest)) = found else { return Ok(None) };
    if rest.is_empty() {
        return Ok(Some((*slot, None)));
    }
    let above = rest.strip_prefix("_above_").and_then(|rest| rest.strip_suffix("_tokens"));
    let Some(above) = above.filter(|above| !above.contains("hr")) else { return Ok(None) };
    let (number, factor) = above.strip_suffix('k').map_or((above, 1), |number| (number, 1000));
    let above =
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse::<u32>().ok());
    let from = above.flatten().and_then(|above| above.checked_mul(factor)?.checked_add(1));
    let problem = "begins above a number of tokens ferry cannot read";
    from.map(|from| Some((*slot, Some(from)))).ok_or_else(|| Refusal::new(key, "", problem))
}

/// True for a charge in another unit than those of [`FIELDS`].
fn is_other(key: &str) -> bool {
    let is_ours = |rest: &str| !rest.starts_with("_token");
    let ours = |field: &str| key.strip_prefix(field).is_some_and(is_ours);
    key.contains("cost") && !FIELDS.iter().any(|(field, _)| ours(field))
}

/// Ranges of the prompt, each with the rates of the whole request: a request of exactly a range's end
/// is still in it. The first range's rates are the base.
fn ranges(raw: &RawValue, base: &mut Rates) -> Result<BTreeMap<u32, Rates>, Refusal> {
    let Some(items) = list(raw).filter(|items| !items.is_empty()) else {
        return Err(Refusal::new("tiered_pricing", raw.get(), "is no list of ranges"));
    };
    let mut tiers = BTreeMap::new();
    let (mut end, mut first) = (0, Rates::default());
    for (raw, index) in items.into_iter().zip(0_usize..) {
        let at = format!("tiered_pricing[{index}]");
        let (from, to, rates) = range(&at, raw)?;
        if from != end || to <= from {
            let problem = "does not go on where the range before it ends";
            return Err(Refusal::new(format!("{at}.range"), raw.get(), problem));
        }
        end = to;
        if index == 0 {
            first = rates;
            continue;
        }
        if Slot::ALL.iter().any(|slot| slot.get(rates).is_some() != slot.get(first).is_some()) {
            let problem = "does not state the rates the first range states";
            return Err(Refusal::new(at, raw.get(), problem));
        }
        tiers.insert(from.saturating_add(1), rates);
    }
    for slot in Slot::ALL {
        let (stated, of_range) = (slot.of(base), slot.get(first));
        if stated.is_some() && of_range.is_some() && *stated != of_range {
            let problem = "has a first range of other rates than the entry";
            return Err(Refusal::new("tiered_pricing", raw.get(), problem));
        }
        *stated = stated.or(of_range);
    }
    Ok(tiers)
}

fn range(at: &str, raw: &RawValue) -> Result<(u32, u32, Rates), Refusal> {
    let item = object_at(at, raw)?;
    let bounds = item.get("range").and_then(list).unwrap_or_default();
    let [Some(from), Some(to)] = [0, 1].map(|index| bounds.get(index).and_then(|raw| whole(raw)))
    else {
        return Err(Refusal::new(format!("{at}.range"), raw.get(), "is no pair of token counts"));
    };
    let mut rates = Rates::default();
    for (key, raw) in item.iter() {
        match place(key)? {
            Some((slot, None)) => {
                let field = format!("{at}.{key}");
                *slot.of(&mut rates) = rate(&field, raw, Unit::Each, Scope::Override)?;
            }
            Some((_, Some(_))) => {
                let problem = "has a threshold inside a range";
                return Err(Refusal::new(format!("{at}.{key}"), raw.get(), problem));
            }
            None => {}
        }
    }
    Ok((from, to, rates))
}
