//! What one call is held to cost when engines are compared. It is no bill: a subscription's call is free, but scarce.

use std::fmt;

use events::money::Pico;
use events::rate::Rate;
use serde::Serialize;

use crate::work::Size;

/// How an engine is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Paid {
    /// By the month.
    Subscription,
    /// By what is used, in advance.
    Prepaid,
    /// By nobody, within limits.
    FreeTier,
    /// By the power it draws.
    Local,
    /// Nobody said.
    Unknown,
}

/// What kind of money a call takes, least dear first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Economy {
    /// None.
    Free,
    /// Some that is spent already.
    Subscription,
    /// Some that is still there.
    Paid,
}

impl Economy {
    /// The word used in reasons and JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Subscription => "subscription",
            Self::Paid => "paid",
        }
    }
}

/// What an engine's operator says it costs; what is not stated is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// For a call.
    pub per_call: Pico,
    /// For an input token.
    pub input: Rate,
    /// For an output token.
    pub output: Rate,
}

/// An engine's weekly cap and what of it this ISO week has used, in requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Week {
    /// Requests a week.
    pub cap: u32,
    /// Requests of this week.
    pub used: u32,
}

/// What the price of an engine's call goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pricing {
    /// How it is paid for.
    pub paid: Paid,
    /// It runs on a machine of one's own.
    pub local: bool,
    /// It was said to be free, and asked for money or reported a cost.
    pub flagged: bool,
    /// What it is said to cost.
    pub declared: Option<Declared>,
    /// Its weekly cap, if it has one.
    pub week: Option<Week>,
}

/// What a call is held to cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CallPrice {
    /// What engines are compared by.
    pub amount: Pico,
    /// The kind of money.
    pub economy: Economy,
    /// Nobody stated a price.
    pub assumed: bool,
    /// Requests a week, of a subscription with a cap.
    pub weekly_cap: Option<u32>,
}

impl CallPrice {
    const fn new(amount: Pico, economy: Economy) -> Self {
        Self { amount, economy, assumed: false, weekly_cap: None }
    }
}

/// `free`, `subscription $0.065`, `$0.135`, `$0.135 assumed`.
impl fmt::Display for CallPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usd = self.amount.grouped(3);
        match self.economy {
            Economy::Free if self.amount == Pico::ZERO => f.write_str("free"),
            Economy::Subscription => write!(f, "subscription ${usd}"),
            Economy::Free | Economy::Paid => {
                write!(f, "${usd}{}", if self.assumed { " assumed" } else { "" })
            }
        }
    }
}

/// Input and output tokens of a call; the input at least as many thousands as the order needs room for.
#[must_use]
pub const fn tokens_of_call(size: Size, min_context_k: u32) -> (u32, u32) {
    let (input, output) = match size {
        Size::Small => (3_000, 1_000),
        Size::Medium => (12_000, 3_000),
        Size::Large => (48_000, 10_000),
    };
    let needed = min_context_k.saturating_mul(1_000);
    (if needed > input { needed } else { input }, output)
}

/// Assumed of an input token: $5 per million.
pub const ASSUMED_INPUT: Pico = Pico(5_000_000);
/// Assumed of an output token: $25 per million.
pub const ASSUMED_OUTPUT: Pico = Pico(25_000_000);

/// What a call costs where nobody states a price.
#[must_use]
pub fn assumed(input: u32, output: u32) -> Pico {
    ASSUMED_INPUT.times(input) + ASSUMED_OUTPUT.times(output)
}

/// Of a call that is an average share of a full week: $0.02.
const SCARCITY_PICO: u128 = 20_000_000_000;
/// Requests a week whose calls are an average share.
const AVERAGE_WEEK: u32 = 300;
/// Shares stay between 1/20 and 20.
const SHARE_BOUND: u32 = 20;

/// What using up a subscription is held to cost: `$0.02 x share x (1 + 9 x used^2)`, with
/// `share = clamp(300 / cap, 0.05, 20)` and the used part of the week's cap; share 1 and half used without a cap.
/// Rounded half up once.
#[must_use]
pub fn scarcity(week: Option<Week>) -> Pico {
    let ((share, shares), (used, cap)) = match week {
        None => ((1, 1), (1, 2)),
        Some(Week { cap: 0, .. }) => ((SHARE_BOUND, 1), (1, 1)),
        Some(Week { cap, used }) => (share_of(cap), (used.min(cap), cap)),
    };
    let [share, shares, used, cap] = [share, shares, used, cap].map(u128::from);
    let cap_squared = cap * cap;
    let numerator = SCARCITY_PICO * share * (cap_squared + 9 * used * used);
    let denominator = shares * cap_squared;
    let pico = (numerator + denominator / 2) / denominator;
    Pico(pico.cast_signed())
}

const fn share_of(cap: u32) -> (u32, u32) {
    if cap <= AVERAGE_WEEK / SHARE_BOUND {
        (SHARE_BOUND, 1)
    } else if cap >= AVERAGE_WEEK * SHARE_BOUND {
        (1, SHARE_BOUND)
    } else {
        (AVERAGE_WEEK, cap)
    }
}

/// What a call of an order is held to cost on an engine.
#[must_use]
pub fn price_of_call(pricing: &Pricing, size: Size, min_context_k: u32) -> CallPrice {
    let (input, output) = tokens_of_call(size, min_context_k);
    let declared = pricing.declared.map(|declared| {
        declared.per_call + declared.input.times(input) + declared.output.times(output)
    });
    let own = declared.unwrap_or(Pico::ZERO);
    let unpriced =
        CallPrice { assumed: true, ..CallPrice::new(assumed(input, output), Economy::Paid) };
    match pricing.paid {
        Paid::Subscription => CallPrice {
            weekly_cap: pricing.week.map(|week| week.cap),
            ..CallPrice::new(own + scarcity(pricing.week), Economy::Subscription)
        },
        Paid::Local => CallPrice::new(own, Economy::Free),
        _ if pricing.local => CallPrice::new(own, Economy::Free),
        Paid::FreeTier if pricing.flagged => unpriced,
        Paid::FreeTier => CallPrice::new(own, Economy::Free),
        Paid::Prepaid | Paid::Unknown => match declared {
            Some(Pico::ZERO) => CallPrice::new(Pico::ZERO, Economy::Free),
            Some(amount) => CallPrice::new(amount, Economy::Paid),
            None => unpriced,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn usd(text: &str) -> Pico {
        text.parse().unwrap()
    }

    // 3.3's worked values.
    #[test]
    fn scarcity_grows_as_a_week_is_used_up() {
        let cases = [
            (300, 0, "0.02"),
            (300, 150, "0.065"),
            (300, 300, "0.20"),
            (300, 301, "0.20"),
            (600, 0, "0.01"),
            (2_000, 0, "0.003"),
            (2_000, 1_000, "0.00975"),
            (2_000, 2_000, "0.03"),
            (10, 0, "0.40"),
            (15, 0, "0.40"),
            (6_000, 0, "0.001"),
            (u32::MAX, 0, "0.001"),
            (u32::MAX, u32::MAX, "0.01"),
            (0, 0, "4"),
        ];
        for (cap, used, expected) in cases {
            assert_eq!(scarcity(Some(Week { cap, used })), usd(expected), "{used} of {cap}");
        }
        assert_eq!(scarcity(None), usd("0.065"));
        // 300 costs 6.67 times as much as 2000, to the last pico-dollar: 2000 / 300.
        let [small, large] = [300, 2_000].map(|cap| scarcity(Some(Week { cap, used: 0 })).0);
        assert_eq!(small * 300, large * 2_000);
    }

    #[test]
    fn scarcity_is_rounded_half_up_once() {
        // 0.02 x 300/700 = 0.00857142857142857...
        assert_eq!(scarcity(Some(Week { cap: 700, used: 0 })), Pico(8_571_428_571));
        // 0.02 x 300/1300 = 0.0046153846153846...
        assert_eq!(scarcity(Some(Week { cap: 1_300, used: 0 })), Pico(4_615_384_615));
        // 0.02 x 300/1024 = 0.005859375
        assert_eq!(scarcity(Some(Week { cap: 1_024, used: 0 })), Pico(5_859_375_000));
    }

    // 3.3: tokens by size, the input raised to min_context_k x 1000, and $5/$25 per million.
    #[test]
    fn assumed_prices_go_by_size() {
        let cases = [
            (Size::Small, 0, (3_000, 1_000), "0.04"),
            (Size::Medium, 0, (12_000, 3_000), "0.135"),
            (Size::Large, 0, (48_000, 10_000), "0.49"),
            (Size::Small, 3, (3_000, 1_000), "0.04"),
            (Size::Small, 12, (12_000, 1_000), "0.085"),
            (Size::Large, 2_000, (2_000_000, 10_000), "10.25"),
        ];
        for (size, min_context_k, tokens, expected) in cases {
            let (input, output) = tokens_of_call(size, min_context_k);
            assert_eq!((input, output), tokens, "{size:?} {min_context_k}");
            assert_eq!(assumed(input, output), usd(expected), "{size:?} {min_context_k}");
        }
    }

    fn declared(per_call: &str, input: &str, output: &str) -> Declared {
        Declared {
            per_call: usd(per_call),
            input: Rate::per_million(input).unwrap(),
            output: Rate::per_million(output).unwrap(),
        }
    }

    #[test]
    fn a_price_goes_by_how_an_engine_is_paid_for() {
        let free = Some(declared("0", "0", "0"));
        let dear = Some(declared("0.001", "3", "15"));
        let of = |paid, declared, local, flagged| {
            let pricing = Pricing { paid, local, flagged, declared, week: None };
            price_of_call(&pricing, Size::Medium, 0).to_string()
        };
        let cases = [
            (of(Paid::Subscription, None, false, false), "subscription $0.065"),
            (of(Paid::Subscription, dear, false, false), "subscription $0.147"),
            (of(Paid::Subscription, None, true, true), "subscription $0.065"),
            (of(Paid::Local, None, false, false), "free"),
            (of(Paid::Local, dear, false, false), "$0.082"),
            (of(Paid::Unknown, None, true, false), "free"),
            (of(Paid::FreeTier, None, false, false), "free"),
            (of(Paid::FreeTier, dear, false, false), "$0.082"),
            (of(Paid::FreeTier, None, false, true), "$0.135 assumed"),
            (of(Paid::FreeTier, dear, false, true), "$0.135 assumed"),
            (of(Paid::Prepaid, free, false, false), "free"),
            (of(Paid::Prepaid, dear, false, false), "$0.082"),
            (of(Paid::Prepaid, None, false, false), "$0.135 assumed"),
            (of(Paid::Unknown, None, false, false), "$0.135 assumed"),
        ];
        for (price, expected) in cases {
            assert_eq!(price, expected);
        }
    }

    #[test]
    fn a_price_has_its_economy() {
        let dear = Some(declared("0", "3", "15"));
        let of = |paid, declared, flagged| {
            let week = Some(Week { cap: 300, used: 0 });
            let pricing = Pricing { paid, local: false, flagged, declared, week };
            price_of_call(&pricing, Size::Small, 0)
        };
        assert_eq!(of(Paid::Local, dear, false).economy, Economy::Free);
        assert_eq!(of(Paid::FreeTier, dear, false).economy, Economy::Free);
        assert_eq!(of(Paid::FreeTier, dear, true).economy, Economy::Paid);
        assert_eq!(of(Paid::Prepaid, dear, false).economy, Economy::Paid);
        let subscription = of(Paid::Subscription, None, false);
        assert_eq!(subscription.economy, Economy::Subscription);
        assert_eq!((subscription.amount, subscription.weekly_cap), (usd("0.02"), Some(300)));
        assert!(Economy::Free < Economy::Subscription && Economy::Subscription < Economy::Paid);
    }

    proptest! {
        #[test]
        fn scarcity_never_falls_as_a_week_is_used(cap: u32, used: u32, more: u32) {
            let fuller = scarcity(Some(Week { cap, used: used.saturating_add(more) }));
            let emptier = scarcity(Some(Week { cap, used }));
            prop_assert!(emptier <= fuller);
            prop_assert!(fuller <= usd("4") && usd("0.001") <= fuller);
        }
    }
}
