//! Which benchmark feeds which axis, what models are called, and what is set aside.

use projections::quality::Axis::{self, Agentic, Coding, Intelligence};

/// Benchmarks as they are called where they are published; a text that has to stand in their data set or source, if any;
/// as they are called here, and the axis they feed. The first that fits counts; others feed none: long contexts, charts
/// and security are no axis, and of fewer than three models nothing can be said.
pub(super) const BENCHMARKS: [(&str, &str, &str, Axis); 22] = [
    ("SWE-Bench Pro", "hard-aa", "SWE-Bench Pro, Artificial Analysis' hard part", Coding),
    ("SWE-Bench Pro", "", "SWE-Bench Pro", Coding),
    ("SWE Bench Pro", "", "SWE-Bench Pro", Coding),
    ("SWE-Bench Verified", "", "SWE-Bench Verified", Coding),
    ("SWE-Bench Multilingual", "", "SWE-Bench Multilingual", Coding),
    ("Aider Polyglot", "", "Aider Polyglot", Coding),
    ("SciCode", "", "SciCode", Coding),
    ("LiveCodeBench", "", "LiveCodeBench", Coding),
    ("NL2Repo", "", "NL2Repo", Coding),
    ("Artificial Analysis Coding Index", "", "Artificial Analysis Coding Index", Coding),
    (
        "SWE-Atlas Codebase QnA",
        "artificialanalysis.ai",
        "SWE-Atlas QnA, as Artificial Analysis counts",
        Coding,
    ),
    ("SWE-Atlas Codebase QnA", "", "SWE-Atlas QnA", Coding),
    ("SWE-Atlas Refactoring", "", "SWE-Atlas Refactoring", Coding),
    ("SWE-Atlas Test Writing", "", "SWE-Atlas Test Writing", Coding),
    (
        "Artificial Analysis Coding Agent Index",
        "",
        "Artificial Analysis Coding Agent Index",
        Agentic,
    ),
    ("Terminal-Bench", "", "Terminal-Bench 2.1", Agentic),
    ("Terminal-Bench 2.1", "", "Terminal-Bench 2.1", Agentic),
    ("Terminal Bench 2.1", "", "Terminal-Bench 2.1", Agentic),
    ("Terminal-Bench Hard", "", "Terminal-Bench Hard", Agentic),
    ("Claw-eval", "", "Claw-eval", Agentic),
    ("GPQA Diamond", "", "GPQA Diamond", Intelligence),
    ("Humanity’s Last Exam", "", "Humanity's Last Exam", Intelligence),
];

/// LLMRouterBench's data sets. Left out: its SWE-Bench, which puts GPT-5 below Gemini 2.5 Flash, and LiveMathBench,
/// which puts Gemini 2.5 Pro last of 13: neither agrees with anything else.
pub(super) const ROUTER_BENCH_SETS: [(&str, &str, Axis); 8] = [
    ("LiveCodeBench", "LiveCodeBench", Coding),
    ("Tau2", "Tau2", Agentic),
    ("GPQA", "GPQA Diamond", Intelligence),
    ("HLE", "Humanity's Last Exam", Intelligence),
    ("MMLU-Pro", "MMLU-Pro", Intelligence),
    ("ArenaHard", "ArenaHard", Intelligence),
    ("SimpleQA", "SimpleQA", Intelligence),
    ("AIME", "AIME", Intelligence),
];

/// Models under another name than the table's. A name that floats stands for what it stood for on the figure's day.
pub(super) const RENAMED: [(&str, &str); 22] = [
    ("anthropic/claude-opus-4-0", "anthropic/claude-opus-4"),
    ("anthropic/claude-opus-4-20250514", "anthropic/claude-opus-4"),
    ("anthropic/claude-sonnet-4-0", "anthropic/claude-sonnet-4"),
    ("anthropic/claude-sonnet-4-20250514", "anthropic/claude-sonnet-4"),
    ("deepseek/deepseek-chat", "deepseek/deepseek-v3.2-exp"),
    ("deepseek/deepseek-reasoner", "deepseek/deepseek-v3.2-exp"),
    ("mistral/codestral-latest", "mistral/codestral-2501"),
    ("mistral/mistral-medium-latest", "mistral/mistral-medium-2604"),
    ("openai/gpt-4o", "openai/gpt-4o-2024-08-06"),
    ("Claude-sonnet-4", "anthropic/claude-sonnet-4"),
    ("DeepSeek-R1-0528", "deepseek/deepseek-r1-0528"),
    ("DeepSeek-V3-0324", "deepseek/deepseek-v3-0324"),
    ("DeepSeek-V3.1-Terminus", "deepseek/deepseek-v3.1-terminus"),
    ("Gemini-2.5-flash", "google/gemini-2.5-flash"),
    ("Gemini-2.5-pro", "google/gemini-2.5-pro"),
    ("GLM-4.6", "zhipuai/glm-4.6"),
    ("GPT-5-medium", "openai/gpt-5"),
    ("GPT-5-chat", "openai/gpt-5-chat"),
    ("Intern-S1", "internlm/intern-s1"),
    ("Kimi-K2-0905", "moonshotai/kimi-k2-0905"),
    ("Qwen3-235B-2507", "alibaba/qwen3-235b-a22b-2507"),
    ("Qwen3-235B-Thinking-2507", "alibaba/qwen3-235b-a22b-thinking-2507"),
];

/// Other names the same weights are sold under.
pub(super) const NAMES: [(&str, &[&str]); 20] = [
    ("alibaba/qwen3-235b-a22b-2507", &["qwen3-235b-a22b-instruct-2507"]),
    ("alibaba/qwen3-coder-30b-a3b-instruct", &["qwen3-coder-30b-a3b"]),
    (
        "alibaba/qwen3-coder-480b-a35b-instruct",
        &["qwen3-coder", "qwen3-coder-480b", "qwen3-coder-480b-a35b"],
    ),
    ("anthropic/claude-3-5-haiku-20241022", &["claude-3-5-haiku", "claude-haiku-3-5"]),
    ("anthropic/claude-3-5-sonnet-20241022", &["claude-3-5-sonnet-v2"]),
    ("anthropic/claude-3-7-sonnet-20250219", &["claude-sonnet-3-7"]),
    ("anthropic/claude-opus-4", &["claude-opus-4-0"]),
    ("anthropic/claude-sonnet-4", &["claude-sonnet-4-0"]),
    ("cohere/command-a-03-2025", &["command-a"]),
    ("deepseek/deepseek-v3-0324", &["deepseek-chat-v3-0324"]),
    ("meta/llama-3.3-70b-instruct", &["llama-3.3-70b", "llama3-3-70b-instruct", "llama3.3-70b"]),
    (
        "meta/llama-4-maverick-17b-instruct",
        &["llama-4-maverick", "llama4-maverick-17b-instruct", "llama-4-maverick-17b-128e-instruct"],
    ),
    ("mistral/devstral-2512", &["devstral-2-123b-instruct-2512", "devstral-2-123b"]),
    (
        "mistral/mistral-large-2512",
        &["mistral-large-3", "mistral-large-3-675b-instruct", "mistral-large-3-675b-instruct-2512"],
    ),
    ("mistral/mistral-medium-2505", &["mistral-medium-3"]),
    ("mistral/mistral-medium-2604", &["mistral-medium-3.5", "mistral-medium-3.5-128b"]),
    ("mistral/mistral-small-2603", &["mistral-small-4"]),
    ("moonshotai/kimi-k2-0905", &["kimi-k2-instruct-0905"]),
    ("openai/gpt-4o-2024-08-06", &["gpt-4o"]),
    ("sakana/fugu-ultra", &["fugu-ultra-20260615"]),
];

/// Figures that are set aside: how the model begins, the benchmark (all of them if empty) and why.
pub(super) const SET_ASIDE: [(&str, &str, &str); 10] = [
    (
        "deepreinforce/",
        "",
        "nobody but the maker: models of 9 and 35 billion parameters above Claude Sonnet 4",
    ),
    ("anthropic/claude-sonnet-4", "LiveCodeBench", WITHOUT_THINKING),
    ("anthropic/claude-sonnet-4", "GPQA Diamond", WITHOUT_THINKING),
    ("anthropic/claude-sonnet-4", "Humanity's Last Exam", WITHOUT_THINKING),
    ("anthropic/claude-sonnet-4", "MMLU-Pro", WITHOUT_THINKING),
    ("anthropic/claude-sonnet-4", "AIME", WITHOUT_THINKING),
    ("anthropic/claude-sonnet-4", "ArenaHard", WITHOUT_THINKING),
    ("anthropic/claude-sonnet-4", "SimpleQA", WITHOUT_THINKING),
    (
        "openai/gpt-5.2",
        "SWE-Bench Pro",
        "12 points below GPT-5 on the same list, and nothing else is known",
    ),
    (
        "zhipuai/glm-4.6",
        "SWE-Bench Pro",
        "a quarter of what its other figures let expect, and below GLM-4.5",
    ),
];

const WITHOUT_THINKING: &str = "LLMRouterBench ran it without thinking, among models that think";

/// Families, best first: a table in which one comes out below the next, by more than `NEAR`, is not made.
pub(super) const ORDER: [&[&str]; 10] = [
    &[
        "anthropic/claude-opus-4-8",
        "anthropic/claude-opus-4-6",
        "anthropic/claude-opus-4-5-20251101",
        "anthropic/claude-sonnet-4-5",
        "anthropic/claude-haiku-4-5",
    ],
    &[
        "anthropic/claude-opus-4-7",
        "anthropic/claude-opus-4-6",
        "anthropic/claude-opus-4",
        "anthropic/claude-sonnet-4",
    ],
    &[
        "anthropic/claude-sonnet-4-6",
        "anthropic/claude-sonnet-4-5",
        "anthropic/claude-sonnet-4",
        "anthropic/claude-3-5-sonnet-20241022",
        "anthropic/claude-3-5-haiku-20241022",
    ],
    &[
        "openai/gpt-5.5",
        "openai/gpt-5.4",
        "openai/gpt-5",
        "openai/gpt-4.1",
        "openai/gpt-4.1-mini",
        "openai/gpt-4.1-nano",
    ],
    &[
        "openai/gpt-5.3-codex",
        "openai/gpt-5.2-codex",
        "openai/gpt-5-codex",
        "openai/gpt-4o-2024-08-06",
        "openai/gpt-4o-mini",
    ],
    &[
        "google/gemini-3.1-pro-preview",
        "google/gemini-3-pro-preview",
        "google/gemini-2.5-pro",
        "google/gemini-2.5-flash",
        "google/gemini-2.5-flash-lite",
    ],
    &[
        "zhipuai/glm-5.1",
        "zhipuai/glm-5",
        "zhipuai/glm-4.7",
        "zhipuai/glm-4.6",
        "zhipuai/glm-4.5",
        "zhipuai/glm-4.5-air",
    ],
    &[
        "deepseek/deepseek-v4-pro",
        "deepseek/deepseek-v4-flash",
        "deepseek/deepseek-v3.2-exp",
        "deepseek/deepseek-v3.1-terminus",
        "deepseek/deepseek-v3-0324",
    ],
    &[
        "moonshotai/kimi-k2.6",
        "moonshotai/kimi-k2.5",
        "moonshotai/kimi-k2-thinking",
        "moonshotai/kimi-k2-0905",
    ],
    &[
        "alibaba/qwen3.5-397b-a17b",
        "alibaba/qwen3-coder-480b-a35b-instruct",
        "alibaba/qwen3-coder-30b-a3b-instruct",
        "alibaba/qwen3-32b",
    ],
];
