//! What orders ask for: kinds of work, their sizes, and the roles that take them.

use serde::Serialize;

/// A kind of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Code is written or mended.
    CodeChange,
    /// Words about the code.
    Docs,
    /// Tests are written.
    Tests,
    /// Somebody's work is judged.
    Review,
    /// Work is cut into orders.
    Plan,
    /// Small upkeep.
    Chore,
    /// Something is found out.
    Research,
    /// Text goes into another language.
    Translate,
    /// Speech becomes text.
    Transcribe,
    /// A picture is made.
    Image,
    /// A film is made.
    Video,
    /// Sound is made.
    Audio,
    /// None of these.
    Other,
}

impl Work {
    /// Every kind, in order.
    pub const ALL: [Self; 13] = [
        Self::CodeChange,
        Self::Docs,
        Self::Tests,
        Self::Review,
        Self::Plan,
        Self::Chore,
        Self::Research,
        Self::Translate,
        Self::Transcribe,
        Self::Image,
        Self::Video,
        Self::Audio,
        Self::Other,
    ];

    /// Its place in [`Work::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The word used in orders, reports and JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::CodeChange => "code-change",
            Self::Docs => "docs",
            Self::Tests => "tests",
            Self::Review => "review",
            Self::Plan => "plan",
            Self::Chore => "chore",
            Self::Research => "research",
            Self::Translate => "translate",
            Self::Transcribe => "transcribe",
            Self::Image => "image",
            Self::Video => "video",
            Self::Audio => "audio",
            Self::Other => "other",
        }
    }

    /// Reads a label; `code` stands for `code-change`.
    #[must_use]
    pub fn parse(label: &str) -> Option<Self> {
        if label.eq_ignore_ascii_case("code") {
            return Some(Self::CodeChange);
        }
        Self::ALL.into_iter().find(|work| label.eq_ignore_ascii_case(work.label()))
    }

    /// Who takes orders of the kind.
    #[must_use]
    pub const fn role(self) -> Role {
        match self {
            Self::Plan => Role::Plan,
            Self::Review => Role::Review,
            Self::Chore => Role::Chore,
            _ => Role::Build,
        }
    }
}

/// How much work an order is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    /// Under 1,500 tokens of order.
    Small,
    /// Under 10,000 tokens of order.
    Medium,
    /// More.
    Large,
}

impl Size {
    /// Every size, smallest first.
    pub const ALL: [Self; 3] = [Self::Small, Self::Medium, Self::Large];

    /// Its place in [`Size::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The word used in orders, reports and JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// Reads a label.
    #[must_use]
    pub fn parse(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|size| label.eq_ignore_ascii_case(size.label()))
    }
}

/// What an engine does in a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Cuts goals into orders.
    Plan,
    /// Does them.
    Build,
    /// Judges what was done.
    Review,
    /// Keeps things tidy.
    Chore,
    /// Tries to find what is wrong.
    Adversary,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 5] =
        [Self::Plan, Self::Build, Self::Review, Self::Chore, Self::Adversary];

    /// The word used in policies, reports and JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Build => "build",
            Self::Review => "review",
            Self::Chore => "chore",
            Self::Adversary => "adversary",
        }
    }

    /// What the improve loop asks of the role, where no order says it.
    #[must_use]
    pub const fn needs(self) -> (Work, Size) {
        match self {
            Self::Plan => (Work::Plan, Size::Large),
            Self::Review | Self::Adversary => (Work::Review, Size::Medium),
            Self::Chore => (Work::Chore, Size::Small),
            Self::Build => (Work::CodeChange, Size::Medium),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_back_in_any_case() {
        for (index, work) in Work::ALL.into_iter().enumerate() {
            assert_eq!(work.index(), index);
            assert_eq!(Work::parse(&work.label().to_uppercase()), Some(work));
        }
        for (index, size) in Size::ALL.into_iter().enumerate() {
            assert_eq!(size.index(), index);
            assert_eq!(Size::parse(size.label()), Some(size));
        }
        assert_eq!(Work::parse("code"), Some(Work::CodeChange));
        assert_eq!(Work::parse("coding"), None);
        assert_eq!(Size::parse(""), None);
    }

    // 3.4: plan -> plan, review -> review, chore -> chore, else build.
    #[test]
    fn three_kinds_have_a_role_of_their_own() {
        for work in Work::ALL {
            let role = match work.label() {
                "plan" => Role::Plan,
                "review" => Role::Review,
                "chore" => Role::Chore,
                _ => Role::Build,
            };
            assert_eq!(work.role(), role, "{work:?}");
        }
    }

    // 3.4: what the loop needs of each role.
    #[test]
    fn each_role_has_its_needs() {
        let needs = Role::ALL.map(|role| {
            let (work, size) = role.needs();
            format!("{}: {} {}", role.label(), size.label(), work.label())
        });
        assert_eq!(
            needs,
            [
                "plan: large plan",
                "build: medium code-change",
                "review: medium review",
                "chore: small chore",
                "adversary: medium review",
            ]
        );
    }
}
