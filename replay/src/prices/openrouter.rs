//! OpenRouter's models: texts of dollars per token, with overrides by prompt size or time of day.

use events::payload::{Capabilities, Rates, Tier, Window};
use serde_json::value::RawValue;

use super::abilities::{lists, scores, tokens};
use super::gather::{Engine, Gathered, Refusal, Terms};
use super::json::{Object, list, text, whole};
use super::rates::{Scope, Slot, Unit, check_other_charges, read};
use super::{entries, object_at};

const FIELDS: [(&str, Slot); 8] = [
    ("prompt", Slot::Input),
    ("completion", Slot::Output),
    ("input_cache_read", Slot::CacheRead),
    ("input_cache_write", Slot::CacheWrite5m),
    ("input_cache_write_1h", Slot::CacheWrite1h),
    ("internal_reasoning", Slot::Reasoning),
    ("image", Slot::Image),
    ("request", Slot::Request),
];
/// What else a model may charge for whatever it is asked.
const OTHERS: [&str; 5] =
    ["audio", "audio_output", "image_output", "image_token", "input_audio_cache"];
/// Prices of what a request may do without.
const OPTIONAL: [&str; 2] = ["web_search", "discount"];
const CONDITIONS: [&str; 3] = ["min_prompt_tokens", "utc_start", "utc_end"];

/// Takes a list's entries, or a map's by id.
pub(super) fn gather_list(items: &[&RawValue]) -> Gathered {
    let mut gathered = Gathered::default();
    for (raw, index) in items.iter().zip(0_usize..) {
        let place = format!("[{index}]");
        for (_, entry) in entries([(place.as_str(), *raw)].into_iter(), &mut gathered) {
            match entry.get("id").and_then(text) {
                Some(id) => take(&mut gathered, &id, &entry),
                None => gathered.refuse(&place, Refusal::new("id", "", "is missing or no text")),
            }
        }
    }
    gathered
}

/// Takes a map's entries, by id.
pub(super) fn gather<'a>(members: impl Iterator<Item = (&'a str, &'a RawValue)>) -> Gathered {
    let mut gathered = Gathered::default();
    for (id, entry) in entries(members, &mut gathered) {
        take(&mut gathered, id, &entry);
    }
    gathered
}

/// The vendor's own entry is another engine: these prices are OpenRouter's.
fn take(gathered: &mut Gathered, id: &str, entry: &Object<'_>) {
    gathered.take(id, Ok(Engine::spelled(format!("openrouter/{id}"))), terms(entry));
}

fn terms(entry: &Object<'_>) -> Result<Option<Terms>, Refusal> {
    let Some(pricing) = entry.get("pricing") else { return Ok(None) };
    let pricing = object_at("pricing", pricing)?;
    let rates = read(&pricing, "pricing", &FIELDS, Unit::Each, Scope::Base)?;
    check_other_charges(&rates, &pricing, "pricing.", |key| OTHERS.contains(&key))?;
    let (tiers, windows) = overrides(&pricing)?;
    let context = entry.get("context_length").or_else(|| entry.get("context"));
    Ok(Some(Terms {
        context: context.and_then(tokens),
        rates,
        tiers,
        windows,
        capabilities: capabilities(entry),
        quality: entry.get("benchmarks").map(scores).unwrap_or_default(),
    }))
}

/// As answered, or in the shorter form a saved map has.
fn capabilities(entry: &Object<'_>) -> Capabilities {
    let within = |holder: &str, key: &str| entry.object(holder)?.get(key);
    let first = |keys: [&str; 2]| keys.iter().find_map(|key| entry.get(key));
    let parameters = first(["supported_parameters", "params"]);
    let modalities =
        within("architecture", "input_modalities").or_else(|| first(["input_modalities", "in"]));
    let output = within("top_provider", "max_completion_tokens").or_else(|| entry.get("max_out"));
    Capabilities {
        tools: parameters.and_then(|raw| lists(raw, &["tools"])),
        images: modalities.and_then(|raw| lists(raw, &["image"])),
        reasoning: parameters.and_then(|raw| lists(raw, &["reasoning", "include_reasoning"])),
        output: output.and_then(tokens),
    }
}

fn overrides(pricing: &Object<'_>) -> Result<(Vec<Tier>, Vec<Window>), Refusal> {
    let (mut tiers, mut windows) = (Vec::new(), Vec::new());
    let Some(raw) = pricing.get("overrides") else { return Ok((tiers, windows)) };
    let Some(items) = list(raw) else {
        return Err(Refusal::new("pricing.overrides", raw.get(), "is no list"));
    };
    for (raw, index) in items.into_iter().zip(0_usize..) {
        let at = format!("pricing.overrides[{index}]");
        let entry = object_at(&at, raw)?;
        if let Some((key, raw)) = entry.iter().find(|(key, _)| !is_known(key)) {
            let problem = "may be a condition ferry does not know";
            return Err(Refusal::new(format!("{at}.{key}"), raw.get(), problem));
        }
        let rates = read(&entry, &at, &FIELDS, Unit::Each, Scope::Override)?;
        match CONDITIONS.map(|key| entry.get(key)) {
            [Some(tokens), None, None] => {
                let problem = "is no number of tokens";
                let from_prompt = whole(tokens).ok_or_else(|| {
                    Refusal::new(format!("{at}.min_prompt_tokens"), tokens.get(), problem)
                })?;
                tiers.push(Tier { from_prompt, rates });
            }
            [None, Some(from), Some(to)] => {
                let window = window(&at, from, to, rates)?;
                check_window(&at, raw, &window, &tiers, &windows)?;
                windows.push(window);
            }
            _ => {
                let problem = "needs min_prompt_tokens, or utc_start with utc_end, and not both";
                return Err(Refusal::new(&at, raw.get(), problem));
            }
        }
    }
    windows.sort_by_key(|window| window.from_minute);
    Ok((inherited(tiers), windows))
}

fn is_known(key: &str) -> bool {
    FIELDS.iter().any(|(field, _)| *field == key)
        || [&OTHERS[..], &OPTIONAL, &CONDITIONS].iter().any(|keys| keys.contains(&key))
}

fn window(at: &str, from: &RawValue, to: &RawValue, rates: Rates) -> Result<Window, Refusal> {
    let minute = |key: &str, raw: &RawValue, last: u32| {
        let time = whole(raw).filter(|time| time % 100 < 60 && *time <= last);
        let time = time.and_then(|time| u16::try_from(time % 2400).ok()).ok_or_else(|| {
            Refusal::new(format!("{at}.{key}"), raw.get(), "is no time of day as HHMM")
        })?;
        Ok(time / 100 * 60 + time % 100)
    };
    let from_minute = minute("utc_start", from, 2359)?;
    let to_minute = minute("utc_end", to, 2400)?;
    Ok(Window { from_minute, to_minute, rates })
}

/// OpenRouter lets the later override win, rate by rate. Ferry has one window at a time, and a tier
/// goes before it: where the two could differ, the entry is refused.
fn check_window(
    at: &str,
    raw: &RawValue,
    window: &Window,
    tiers: &[Tier],
    windows: &[Window],
) -> Result<(), Refusal> {
    let problem = if window.from_minute == window.to_minute {
        "begins when it ends"
    } else if windows.iter().any(|other| overlaps(window, other)) {
        "overlaps another time of day"
    } else if tiers.iter().any(|tier| share_a_rate(tier.rates, window.rates)) {
        "stands after a tier of the same rates, which ferry lets go first"
    } else {
        return Ok(());
    };
    Err(Refusal::new(at, raw.get(), problem))
}

fn overlaps(a: &Window, b: &Window) -> bool {
    let holds = |window: &Window, minute: u16| {
        let (from, to) = (window.from_minute, window.to_minute);
        if from <= to { (from..to).contains(&minute) } else { minute >= from || minute < to }
    };
    holds(a, b.from_minute) || holds(b, a.from_minute)
}

fn share_a_rate(a: Rates, b: Rates) -> bool {
    Slot::ALL.iter().any(|slot| slot.get(a).is_some() && slot.get(b).is_some())
}

/// Every tier a prompt reaches applies: one that says nothing of a rate leaves it to the tier below.
fn inherited(mut tiers: Vec<Tier>) -> Vec<Tier> {
    tiers.sort_by_key(|tier| tier.from_prompt);
    let mut below = Rates::default();
    for tier in &mut tiers {
        for slot in Slot::ALL {
            let rate = slot.of(&mut tier.rates);
            *rate = rate.or(slot.get(below));
        }
        below = tier.rates;
    }
    tiers
}
