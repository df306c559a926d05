//! Every profile of the specification, figure by figure.

use super::*;

/// In hundredths, of medium work.
fn row(profile: &Profile) -> [u16; 8] {
    RATED.map(|work| profile.prior(work, Size::Medium).unwrap().0 / 10)
}

fn of(model: &str) -> Profile {
    profile(model, "").unwrap_or_else(|| panic!("{model} has no profile"))
}

type Fixed = (&'static str, &'static str, char, [u16; 8], Option<Strength>);

const CODE: Option<Strength> = Some(Strength::Code);
const REASONING: Option<Strength> = Some(Strength::Reasoning);

#[rustfmt::skip]
const FIXED: [Fixed; 22] = [
    ("claude-opus-4-1", "claude-opus", 'L', [92, 92, 93, 90, 90, 88, 90, 88], None),
    ("claude-sonnet-4-5", "claude-sonnet", 'L', [88, 87, 86, 86, 86, 84, 82, 84], None),
    ("claude-haiku-4-5", "claude-haiku", 'S', [72, 70, 66, 78, 76, 82, 68, 78], None),
    ("gpt-5.1-codex-mini", "codex-mini", 'M', [78, 72, 64, 66, 78, 76, 60, 62], CODE),
    ("gpt-5-codex", "codex", 'L', [92, 86, 76, 72, 90, 80, 70, 70], CODE),
    ("gpt5-nano", "gpt-5-nano", 'S', [62, 58, 55, 70, 66, 72, 55, 70], None),
    ("gpt-5-mini", "gpt-5-mini", 'M', [76, 74, 72, 78, 78, 80, 72, 80], None),
    ("gpt-5.5", "gpt-5", 'L', [90, 88, 88, 84, 88, 82, 88, 86], None),
    ("gemini-2.5-flash-lite", "gemini-flash-lite", 'S', [62, 58, 55, 72, 65, 74, 58, 78], None),
    ("gemini-2.5-pro", "gemini-pro", 'L', [84, 84, 86, 84, 82, 80, 88, 88], None),
    ("gemini-2.5-flash", "gemini-flash", 'M', [74, 72, 72, 78, 76, 80, 76, 84], None),
    ("deepseek-reasoner", "deepseek-r1", 'L', [80, 82, 84, 72, 76, 66, 82, 74], REASONING),
    ("deepseek-v4-pro", "deepseek-v4-pro", 'L', [86, 84, 86, 82, 84, 80, 84, 82], None),
    ("deepseek-v4-flash", "deepseek-v4", 'M', [82, 78, 78, 80, 80, 80, 78, 80], None),
    ("deepseek-chat", "deepseek-v3", 'M', [78, 74, 74, 78, 76, 78, 74, 78], None),
    ("nemotron-ultra-253b", "nemotron-ultra", 'L', [80, 80, 80, 82, 78, 80, 80, 80], None),
    ("nemotron-nano-9b-v2", "nemotron-nano", 'S', [60, 58, 55, 70, 62, 72, 55, 66], None),
    ("nemotron", "nemotron-super", 'M', [72, 72, 70, 78, 72, 80, 72, 76], None),
    ("glm-4.7-flash", "glm-flash", 'M', [72, 66, 64, 72, 70, 74, 64, 74], None),
    ("glm-4.5-air", "glm-air", 'M', [76, 72, 72, 74, 74, 76, 70, 76], None),
    ("glm-4.6", "glm-4.x", 'L', [84, 78, 78, 78, 80, 76, 76, 80], None),
    ("moonshotai/kimi-k2", "kimi", 'L', [84, 80, 80, 82, 80, 76, 82, 82], None),
];

#[test]
fn every_fixed_row_is_as_specified() {
    for (model, family, class, priors, credits) in FIXED {
        let profile = of(model);
        assert_eq!(profile.family, family, "{model}");
        assert_eq!(profile.class, class_of(class), "{model}");
        assert_eq!(row(&profile), priors, "{model}");
        assert_eq!(profile.credits, credits, "{model}");
    }
}

fn class_of(initial: char) -> Class {
    let is_it = |class: &Class| class.label().to_uppercase().starts_with(initial);
    Class::ALL.into_iter().find(is_it).unwrap()
}

#[rustfmt::skip]
const COMPUTED: [(&str, &str, [u16; 8]); 17] = [
    ("qwen2.5:7b", "qwen ~7b", [58, 55, 54, 62, 56, 62, 54, 60]),
    ("qwen2.5:14b", "qwen ~14b", [66, 63, 62, 70, 64, 70, 62, 68]),
    ("qwen2.5:32b", "qwen ~32b", [74, 71, 70, 78, 72, 78, 70, 76]),
    ("qwen2.5:72b", "qwen ~72b", [80, 77, 76, 84, 78, 84, 76, 82]),
    ("qwen3:14b", "qwen ~14b", [68, 65, 64, 72, 66, 72, 64, 70]),
    ("qwen3-30b-a3b", "qwen ~9.5b", [64, 61, 60, 68, 62, 68, 60, 66]),
    ("qwen3-235b-a22b", "qwen ~72b", [82, 79, 78, 86, 80, 86, 78, 84]),
    ("qwen2.5-coder:7b", "qwen-coder ~7b", [66, 56, 50, 52, 64, 56, 48, 52]),
    ("qwen2.5-coder:32b", "qwen-coder ~32b", [82, 72, 66, 68, 80, 72, 64, 68]),
    ("qwen2.5-vl-7b", "qwen-vl ~7b", [52, 54, 53, 56, 54, 58, 54, 58]),
    ("qwen2.5vl:72b", "qwen-vl ~72b", [74, 76, 75, 78, 76, 80, 76, 80]),
    ("qwq:32b", "qwq ~32b", [76, 77, 78, 70, 72, 68, 76, 71]),
    ("llama3.1:8b", "llama ~8b", [56, 58, 58, 62, 57, 60, 58, 60]),
    ("llama-3.3-70b", "llama ~70b", [76, 78, 78, 82, 77, 80, 78, 80]),
    ("mistral-large", "mistral ~123b", [80, 81, 80, 83, 81, 83, 80, 85]),
    ("codestral", "codestral ~22b", [78, 68, 62, 64, 76, 68, 60, 64]),
    ("nemotron-70b", "nemotron ~70b", [76, 74, 73, 78, 74, 78, 73, 76]),
];

#[test]
fn every_computed_row_is_as_specified() {
    for (model, family, priors) in COMPUTED {
        let profile = of(model);
        assert_eq!((&*profile.family, row(&profile)), (family, priors), "{model}");
    }
}

#[test]
fn names_lead_to_their_families() {
    let cases = [
        ("sonnet[1m]", Some("claude-sonnet")),
        ("us.anthropic.claude-opus-4-1-v1:0", Some("claude-opus")),
        ("anthropic/claude-3.5-haiku", Some("claude-haiku")),
        ("us.deepseek.r1-v1:0", Some("deepseek-r1")),
        ("deepseek-chat", Some("deepseek-v3")),
        ("deepseek-v3:671b", Some("deepseek-v3")),
        ("deepseek-r1:671b", Some("deepseek-r1")),
        ("deepseek-r1-distill-qwen-32b", Some("deepseek-r1-distill ~32b")),
        ("deepseek-r1:8b", Some("deepseek-r1-distill ~8b")),
        ("deepseek-coder:6.7b", Some("deepseek-coder ~6.7b")),
        ("deepseek-llm-7b", Some("deepseek ~7b")),
        ("llama-3.1-nemotron-70b", Some("nemotron ~70b")),
        ("nemotron-3-super-120b-a12b", Some("nemotron-super")),
        ("gpt-5-codex", Some("codex")),
        ("qwen-max", Some("qwen ~200b")),
        ("qwen-plus", Some("qwen ~72b")),
        ("qwen3-coder", Some("qwen-coder ~14b")),
        ("qwen3-coder-plus", Some("qwen-coder ~72b")),
        ("qwen3-4b-thinking-2507", Some("qwq ~4b")),
        ("glm-4-9b", Some("glm ~9b")),
        ("glm-4.5-355b-a32b", Some("glm-4.x")),
        ("devstral", Some("devstral ~24b")),
        ("devstral:22b", Some("devstral ~22b")),
        ("magistral", Some("magistral ~24b")),
        ("mistral-medium-3.1", Some("mistral ~60b")),
        ("mistral-small-3.2", Some("mistral ~24b")),
        ("mistral-nemo", Some("mistral ~12b")),
        ("mixtral", Some("mistral ~25b")),
        ("mixtral:8x7b", Some("mistral ~21b")),
        ("ministral", Some("mistral ~8b")),
        ("mistral", Some("mistral ~7b")),
        ("llama3.1", Some("llama ~8b")),
        ("llama4:maverick", Some("llama ~100b")),
        ("llama-4-scout", Some("llama ~60b")),
        ("codellama:13b", Some("llama ~13b")),
        ("ollama", None),
        ("claude", None),
        ("gpt-4o", None),
        ("", None),
    ];
    for (model, family) in cases {
        let found = profile(model, "").map(|profile| profile.family);
        assert_eq!(found.as_deref(), family, "{model}");
    }
}

#[test]
fn the_engine_name_counts_only_without_a_model() {
    assert_eq!(profile("my-finetune", "sonnet-fast"), None);
    assert_eq!(profile("", "sonnet-fast"), Some(of("sonnet")));
}

#[test]
fn the_coders_and_reasoners_are_credited() {
    let cases = [
        ("deepseek-r1-distill-llama-8b", REASONING),
        ("deepseek-coder-33b", CODE),
        ("deepseek-llm-7b", None),
        ("nemotron-70b", None),
        ("qwen2.5-coder", CODE),
        ("qwen2.5-vl", None),
        ("qwq", REASONING),
        ("qwen2.5", None),
        ("glm-4-9b", None),
        ("codestral", CODE),
        ("devstral", CODE),
        ("magistral", REASONING),
        ("mistral", None),
        ("llama3", None),
    ];
    for (model, credits) in cases {
        assert_eq!(of(model).credits, credits, "{model}");
    }
}

#[test]
fn the_size_of_a_scaled_family_is_its_class() {
    let cases = [
        ("qwen3-30b-a3b", Class::Small),
        ("qwen2.5:14b", Class::Medium),
        ("llama3.1:8b", Class::Small),
        ("llama3.3:70b", Class::Large),
        ("mixtral:8x22b", Class::Medium),
        ("qwen-max", Class::Large),
    ];
    for (model, class) in cases {
        assert_eq!(of(model).class, class, "{model}");
    }
}

#[test]
fn large_work_is_harder_for_smaller_models() {
    let large = |model: &str| RATED.map(|work| of(model).prior(work, Size::Large).unwrap().0 / 10);
    assert_eq!(large("claude-opus"), [92, 92, 93, 90, 90, 88, 90, 88], "large: no harder");
    assert_eq!(large("gpt-5-mini"), [71, 69, 67, 73, 73, 75, 67, 75], "medium: .05");
    assert_eq!(large("claude-haiku"), [62, 60, 56, 68, 66, 72, 58, 68], "small: .10");
    let haiku = of("claude-haiku");
    for work in RATED {
        assert_eq!(haiku.prior(work, Size::Small), haiku.prior(work, Size::Medium));
    }
}

#[test]
fn other_work_is_the_mean_and_media_have_no_prior() {
    assert_eq!(of("claude-opus").prior(Work::Other, Size::Medium), Some(Milli(904)), "7.23 / 8");
    assert_eq!(of("gpt-5-mini").prior(Work::Other, Size::Large), Some(Milli(713)), "6.10 / 8");
    for work in [Work::Transcribe, Work::Image, Work::Video, Work::Audio] {
        assert_eq!(of("claude-opus").prior(work, Size::Small), None);
    }
}

proptest::proptest! {
    #[test]
    fn any_name_gives_an_answer_within_bounds(name in "[a-z0-9.:x/-]{0,30}|\\PC{0,20}") {
        let made = ["", "qwen", "glm-", "deepseek-"].map(|start| format!("{start}{name}"));
        for profile in made.iter().filter_map(|name| profile(name, "")) {
            for prior in profile.priors {
                proptest::prop_assert!((Milli::LEAST..=Milli::MOST).contains(&prior));
            }
        }
    }
}
