use super::*;

const fn quality(intelligence: Option<u16>, coding: Option<u16>, agentic: Option<u16>) -> Quality {
    Quality { intelligence, coding, agentic }
}

#[test]
fn an_axis_falls_back_in_its_own_order() {
    let (i, c, a) = (Some(1), Some(2), Some(3));
    let all = quality(i, c, a);
    for axis in Axis::ALL {
        assert_eq!(on_axis(&all, axis), axis.of(&all).map(|score| (score, axis)));
        assert_eq!(on_axis(&Quality::default(), axis), None, "unscored, not zero");
    }
    assert_eq!(on_axis(&quality(i, None, a), Axis::Coding), Some((1, Axis::Intelligence)));
    assert_eq!(on_axis(&quality(None, None, a), Axis::Coding), Some((3, Axis::Agentic)));
    assert_eq!(on_axis(&quality(i, c, None), Axis::Agentic), Some((1, Axis::Intelligence)));
    assert_eq!(on_axis(&quality(None, c, None), Axis::Agentic), Some((2, Axis::Coding)));
    assert_eq!(on_axis(&quality(None, c, a), Axis::Intelligence), Some((2, Axis::Coding)));
    assert_eq!(on_axis(&quality(None, None, a), Axis::Intelligence), Some((3, Axis::Agentic)));
    assert_eq!(on_axis(&quality(None, Some(0), a), Axis::Coding), Some((0, Axis::Coding)));
}

#[test]
fn only_missing_axes_are_filled_and_the_first_to_say_counts() {
    let own = quality(None, Some(500), None);
    let others = [quality(Some(1_001), Some(900), None), quality(Some(400), None, Some(1_000))];
    assert_eq!(fill(own, others), quality(Some(400), Some(500), Some(1_000)));
    assert_eq!(fill(own, []), own);
    assert_eq!(fill(quality(None, Some(1_001), None), others).coding, Some(900), "out of range");
    assert_eq!(fill(quality(None, Some(0), None), others).coding, Some(0), "zero is a score");
}

#[test]
fn a_model_has_one_key_however_it_is_sold() {
    for name in [
        "anthropic/claude-opus-4-5",
        "openrouter/anthropic/claude-opus-4.5",
        "Claude Opus 4.5",
        "claude_opus_4.5:free",
        "x/claude-opus-4.5:nitro:online",
        "claude-opus-4-5-preview-beta-latest-cloud",
        "amazon-bedrock/eu.anthropic.claude-opus-4-5-v1:0",
        "amazon-bedrock/anthropic.claude-opus-4-5-v1",
        "kilo/~anthropic/~claude-opus-4.5-latest",
    ] {
        assert_eq!(key(name), "claude-opus-4-5", "{name}");
    }
    assert_eq!(key("amazon-bedrock/openai.gpt-5.4"), "gpt-5-4");
    assert_eq!(key("minimax/MiniMax-M2.5"), "minimax-m2-5");
    assert_eq!(key("a/qwen2.5-coder:32b"), "qwen2-5-coder-32b", "sizes stay");
    assert_eq!(key("a/gpt-5-mini"), "gpt-5-mini");
    assert_eq!(
        key("a/x-free-thinking"),
        "x-free-thinking",
        "only what stands at the end is packaging"
    );
    assert_eq!(key("openrouter/free"), "free", "nothing but packaging");
    assert_eq!(key("amazon-bedrock/us.deepseek.r1-v1:0"), "us-deepseek-r1-v1-0", "names no model");
    assert_eq!((key(""), key("//"), key("é")), (String::new(), String::new(), String::new()));
}

#[test]
fn dates_stay_and_are_written_in_one_way() {
    for name in [
        "claude-opus-4-5-20251101",
        "vertex/claude-opus-4-5@20251101",
        "claude-opus-4.5-2025-11-01",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
    ] {
        assert_eq!(key(name), "claude-opus-4-5-20251101", "{name}");
    }
    assert_eq!(key("qwen-plus-2025-07-28:thinking"), "qwen-plus-20250728-thinking");
    assert_eq!(undated("claude-opus-4-5-20251101"), Some("claude-opus-4-5"));
    for key in
        ["claude-opus-4-5", "kimi-k2-0905", "m-12345678", "20251101", "qwen-plus-20250728-thinking"]
    {
        assert_eq!(undated(key), None, "{key}");
    }
}

#[test]
fn a_key_is_its_own_key() {
    for name in ["anthropic/claude-opus-4.5:free", "gpt-4o-2024-11-20", "eu.meta.llama3-3-70b-v1:0"]
    {
        assert_eq!(key(&key(name)), key(name));
    }
}

#[test]
fn the_author_is_the_part_before_the_model() {
    assert_eq!(author_of("openrouter/anthropic/claude-x"), Some("anthropic"));
    assert_eq!(author_of("kilo/~anthropic/claude-latest"), Some("anthropic"));
    assert_eq!(author_of("zai/glm-4.7"), Some("zai"));
    assert_eq!(author_of("amazon-bedrock/us.meta.llama3-3-70b-v1:0"), Some("meta"));
    assert_eq!(author_of("openrouter/openai/gpt-5.4"), Some("openai"));
    assert_eq!(author_of("gpt-5.4"), None);
}

#[test]
fn what_is_never_chosen() {
    for engine in [
        "openrouter/~anthropic/claude-opus-latest",
        "anthropic/~claude-latest",
        "~openai/gpt-latest",
        "openai/gpt-5:batch",
        "openrouter/stealth/m",
        "stealth/m",
        "kilo/stealth/claude-opus-4.6",
        "openrouter/auto",
        "openrouter/openrouter/auto",
        "kilo/openrouter/free",
        "openai/text-embedding-3-small",
        "mistral/mistral-embed",
        "openai/gpt-image-2",
        "google/gemini-2.5-flash-preview-tts",
        "openai/whisper-1",
    ] {
        assert!(is_never_selectable(engine), "{engine}");
    }
    for engine in [
        "openrouter/anthropic/claude-opus-4.5",
        "openrouter/openai/gpt-oss-20b:free",
        "anthropic/claude-opus-4-5",
        "acme/batch",
        "acme/a~b",
        "acme/stealth",
        "acme/openrouter",
        "acme/imagery-7b",
        "local",
    ] {
        assert!(!is_never_selectable(engine), "{engine}");
    }
}

const CONFIGURED: [u16; 4] = [0, 400, 600, 720];

/// So many scores that rise evenly between the bands of the market the rule was measured in.
fn market(count: u16) -> Vec<u16> {
    let bands = [50_u32, 266, 458, 599, 900];
    let at = |index: u16| {
        let place = u32::from(index) * 4;
        let (band, rest) = (place / u32::from(count), place % u32::from(count));
        let (from, to) = (bands[band as usize], bands[band as usize + 1]);
        u16::try_from(from + (to - from) * rest / u32::from(count)).unwrap()
    };
    (0..count).map(at).collect()
}

// 347 models had bands of 26.6, 45.8 and 59.9 against floors of 40, 60 and 72: taken always, they would have
// lowered every tier.
#[test]
fn a_market_with_enough_models_lowers_no_floor() {
    let scores = market(347);
    let bands = [1, 2, 3].map(|tier| scores[347 * tier / 4]);
    for (band, measured) in bands.into_iter().zip([266, 458, 599]) {
        assert!(band.abs_diff(measured) <= 3, "{bands:?}");
    }
    assert_eq!(floors(&scores, CONFIGURED), CONFIGURED);
}

#[test]
fn a_thin_market_lowers_the_floors_nobody_passes() {
    assert_eq!(floors(&[100, 300, 500, 650], CONFIGURED), [0, 300, 500, 650]);
    // Three pass 40, one passes 60, none passes 72.
    assert_eq!(floors(&[100, 410, 420, 610], CONFIGURED), [0, 400, 420, 610]);
    assert_eq!(
        floors(&[900, 900], CONFIGURED),
        CONFIGURED,
        "a band above a floor does not raise it"
    );
    assert_eq!(floors(&[900, 900, 900], CONFIGURED), CONFIGURED);
    assert_eq!(floors(&[350], CONFIGURED), [0, 350, 350, 350]);
    assert_eq!(floors(&[], CONFIGURED), [0; 4]);
    assert_eq!(
        floors(&[720, 720, 720], CONFIGURED),
        CONFIGURED,
        "a floor admits what is equal to it"
    );
}

#[test]
fn ceilings_follow_the_market_and_are_only_tightened() {
    let prices: Vec<u32> = (1..=10).collect();
    assert_eq!(ceilings(&prices, [None; 4]), [3, 5, 8, 9].map(Some));
    let configured = [Some(1), Some(7), None, Some(9)];
    assert_eq!(ceilings(&prices, configured), [1, 5, 8, 9].map(Some));
    assert_eq!(ceilings(&[7], [None; 4]), [Some(7); 4]);
    assert_eq!(ceilings::<u32>(&[], [None; 4]), [None; 4], "no cap");
    assert_eq!(ceilings(&[], configured), configured);
}
