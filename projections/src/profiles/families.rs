//! The families of models there are profiles for, by how their names are told apart.

use super::scaled::Offsets;
use super::words::{Billions, Name};
use super::{Class, Strength};
use Class::{Large, Medium, Small};

/// A family of models.
pub(super) struct Family {
    pub(super) label: &'static str,
    /// Whether a model is one of the family, unless an earlier family has it.
    pub(super) matches: fn(&Name) -> bool,
    pub(super) makes: Makes,
    pub(super) credits: Option<Strength>,
}

/// How the priors of a family come about.
pub(super) enum Makes {
    /// Hundredths, in the order of [`super::RATED`].
    Fixed(Class, [u8; 8]),
    /// By the number of parameters.
    Scaled {
        offsets: Offsets,
        /// Hundredths that all offsets are higher for a model.
        shift: fn(&Name) -> i16,
        /// The parameters of a model whose name states none.
        default_size: fn(&Name) -> Option<Billions>,
    },
}

impl Family {
    const fn fixed(
        label: &'static str,
        class: Class,
        hundredths: [u8; 8],
        matches: fn(&Name) -> bool,
    ) -> Self {
        Self { label, matches, makes: Makes::Fixed(class, hundredths), credits: None }
    }

    const fn scaled(
        label: &'static str,
        offsets: Offsets,
        shift: fn(&Name) -> i16,
        default_size: fn(&Name) -> Option<Billions>,
        matches: fn(&Name) -> bool,
    ) -> Self {
        let makes = Makes::Scaled { offsets, shift, default_size };
        Self { label, matches, makes, credits: None }
    }

    const fn crediting(self, strength: Strength) -> Self {
        Self { credits: Some(strength), ..self }
    }
}

/// Every family; the first that matches a name has it.
#[rustfmt::skip]
pub(super) const FAMILIES: &[Family] = &[
    Family::fixed("claude-opus", Large, [92, 92, 93, 90, 90, 88, 90, 88], |n| n.has("opus")),
    Family::fixed("claude-sonnet", Large, [88, 87, 86, 86, 86, 84, 82, 84], |n| n.has("sonnet")),
    Family::fixed("claude-haiku", Small, [72, 70, 66, 78, 76, 82, 68, 78], |n| n.has("haiku")),

    Family::fixed("codex-mini", Medium, [78, 72, 64, 66, 78, 76, 60, 62], |n| n.contains("codex") && n.has("mini"))
        .crediting(Strength::Code),
    Family::fixed("codex", Large, [92, 86, 76, 72, 90, 80, 70, 70], |n| n.contains("codex"))
        .crediting(Strength::Code),

    Family::fixed("gpt-5-nano", Small, [62, 58, 55, 70, 66, 72, 55, 70], |n| gpt_5(n) && n.has("nano")),
    Family::fixed("gpt-5-mini", Medium, [76, 74, 72, 78, 78, 80, 72, 80], |n| gpt_5(n) && n.has("mini")),
    Family::fixed("gpt-5", Large, [90, 88, 88, 84, 88, 82, 88, 86], gpt_5),

    Family::fixed("gemini-flash-lite", Small, [62, 58, 55, 72, 65, 74, 58, 78], |n| gemini(n) && n.contains("flash-lite")),
    Family::fixed("gemini-pro", Large, [84, 84, 86, 84, 82, 80, 88, 88], |n| gemini(n) && (n.has("pro") || n.has("ultra"))),
    Family::fixed("gemini-flash", Medium, [74, 72, 72, 78, 76, 80, 76, 84], gemini),

    Family::scaled("deepseek-r1-distill", Offsets::REASONER, unshifted, no_default, |n| {
        deepseek(n) && under_100b(n) && (thinks(n) || n.contains("distill"))
    }).crediting(Strength::Reasoning),
    Family::scaled("deepseek-coder", Offsets::CODER, unshifted, no_default, |n| {
        deepseek(n) && under_100b(n) && n.contains("coder")
    }).crediting(Strength::Code),
    Family::scaled("deepseek", Offsets::GENERAL, unshifted, no_default, |n| deepseek(n) && under_100b(n)),
    Family::fixed("deepseek-r1", Large, [80, 82, 84, 72, 76, 66, 82, 74], |n| deepseek(n) && thinks(n))
        .crediting(Strength::Reasoning),
    Family::fixed("deepseek-v4-pro", Large, [86, 84, 86, 82, 84, 80, 84, 82], |n| deepseek(n) && n.has("v4") && n.has("pro")),
    Family::fixed("deepseek-v4", Medium, [82, 78, 78, 80, 80, 80, 78, 80], |n| deepseek(n) && n.has("v4")),
    Family::fixed("deepseek-v3", Medium, [78, 74, 74, 78, 76, 78, 74, 78], deepseek),

    Family::fixed("nemotron-ultra", Large, [80, 80, 80, 82, 78, 80, 80, 80], |n| nemotron(n) && n.has("ultra")),
    Family::fixed("nemotron-nano", Small, [60, 58, 55, 70, 62, 72, 55, 66], |n| nemotron(n) && n.has("nano")),
    Family::fixed("nemotron-super", Medium, [72, 72, 70, 78, 72, 80, 72, 76], |n| {
        nemotron(n) && (n.has("super") || n.size.is_none())
    }),
    Family::scaled("nemotron", Offsets::GENERAL, |_| -4, no_default, nemotron),

    Family::scaled("qwen-coder", Offsets::CODER, qwen_3, qwen_size, |n| qwen(n) && n.contains("coder"))
        .crediting(Strength::Code),
    Family::scaled("qwen-vl", Offsets::SEES, qwen_3, qwen_size, |n| qwen(n) && sees(n)),
    Family::scaled("qwq", Offsets::REASONER, qwen_3, qwen_size, |n| {
        qwen(n) && (n.contains("qwq") || n.contains("thinking"))
    }).crediting(Strength::Reasoning),
    Family::scaled("qwen", Offsets::QWEN, qwen_3, qwen_size, qwen),

    Family::fixed("glm-flash", Medium, [72, 66, 64, 72, 70, 74, 64, 74], |n| glm(n) && n.has("flash")),
    Family::fixed("glm-air", Medium, [76, 72, 72, 74, 74, 76, 70, 76], |n| glm(n) && n.has("air")),
    Family::scaled("glm", Offsets::GENERAL, unshifted, no_default, |n| glm(n) && under_100b(n)),
    Family::fixed("glm-4.x", Large, [84, 78, 78, 78, 80, 76, 76, 80], glm),

    Family::fixed("kimi", Large, [84, 80, 80, 82, 80, 76, 82, 82], |n| n.contains("kimi")),

    Family::scaled("codestral", Offsets::CODER, unshifted, |_| billions(22), |n| n.contains("codestral"))
        .crediting(Strength::Code),
    Family::scaled("devstral", Offsets::CODER, unshifted, |_| billions(24), |n| n.contains("devstral"))
        .crediting(Strength::Code),

    Family::scaled("magistral", Offsets::REASONER, unshifted, |_| billions(24), |n| n.contains("magistral"))
        .crediting(Strength::Reasoning),
    Family::scaled("mistral", Offsets::MISTRAL, unshifted, mistral_size, |n| {
        ["mistral", "mixtral", "ministral"].iter().any(|name| n.contains(name))
    }),

    Family::scaled("llama", Offsets::LLAMA, unshifted, llama_size, |n| {
        n.any(|word| word.starts_with("llama") || word.starts_with("codellama"))
    }),
];

fn gpt_5(name: &Name) -> bool {
    name.contains("gpt-5") || name.has("gpt5")
}

fn gemini(name: &Name) -> bool {
    name.contains("gemini")
}

fn deepseek(name: &Name) -> bool {
    name.contains("deepseek")
}

fn thinks(name: &Name) -> bool {
    name.has("r1") || name.contains("reasoner")
}

fn nemotron(name: &Name) -> bool {
    name.contains("nemotron")
}

fn qwen(name: &Name) -> bool {
    name.contains("qwen") || name.contains("qwq")
}

/// `qwen2.5-vl`, and `qwen2.5vl` as some registries write it.
fn sees(name: &Name) -> bool {
    name.any(|word| word == "vl" || (word.starts_with("qwen") && word.ends_with("vl")))
}

/// The third generation does what larger models of the second did.
fn qwen_3(name: &Name) -> i16 {
    if name.any(|word| word.starts_with("qwen3")) { 2 } else { 0 }
}

fn glm(name: &Name) -> bool {
    name.contains("glm")
}

fn under_100b(name: &Name) -> bool {
    name.size.is_some_and(|size| size < Billions::of(100))
}

const fn unshifted(_: &Name) -> i16 {
    0
}

/// Of a family that only names with a size are of.
const fn no_default(_: &Name) -> Option<Billions> {
    None
}

const fn billions(size: u32) -> Option<Billions> {
    Some(Billions::of(size))
}

fn qwen_size(name: &Name) -> Option<Billions> {
    first_of(name, &[("max", 200), ("plus", 72)]).or(billions(14))
}

fn mistral_size(name: &Name) -> Option<Billions> {
    first_of(name, &[("large", 123), ("medium", 60), ("small", 24), ("nemo", 12)])
        .or_else(|| name.contains("mixtral").then_some(Billions::of(25)))
        .or_else(|| name.contains("ministral").then_some(Billions::of(8)))
        .or(billions(7))
}

fn llama_size(name: &Name) -> Option<Billions> {
    let is_fourth = name.contains("llama4") || name.contains("llama-4");
    billions(match is_fourth {
        true if name.has("maverick") => 100,
        true => 60,
        false => 8,
    })
}

fn first_of(name: &Name, sizes: &[(&str, u32)]) -> Option<Billions> {
    sizes.iter().find(|(word, _)| name.has(word)).map(|(_, size)| Billions::of(*size))
}
