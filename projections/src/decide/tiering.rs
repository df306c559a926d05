//! At which tier a turn is served: what it asks for, within its profile, held, let down slowly, confirmed, or explored
//! (router facts 4.4 and 5.3, 1 to 6).

use events::hash::draw_u32;
use events::payload::{ClassSource, Draw, TierReason, TurnTier};

use super::asking::Asking;
use crate::classify::has_hard_signal;
use crate::policy::{Explore, ExploreWhen};

/// What a draw on exploring is for.
const PURPOSE: &str = "explore";

/// At which tier a turn is served, and why there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiering {
    /// The tier.
    pub tier: TurnTier,
    /// Why it is another than the turn asks for, in the order it came about.
    pub moved: Vec<TierReason>,
    /// The draw on whether to explore.
    pub draw: Option<Draw>,
}

impl Tiering {
    /// The tier of a turn whose lane stays where it is; `None` where its profile has no such tier.
    pub(super) fn staying(asking: &Asking<'_>) -> Option<Self> {
        let asked = asking.kind().tier;
        let (min, max) = asking.profile.tiers;
        let served = asking.lane.and_then(|lane| lane.hold.tier());
        let served = served.unwrap_or_else(|| asked.clamp(min, max));
        let mut tiering = Self { tier: asked, moved: Vec::new(), draw: None };
        tiering.move_to(served, TierReason::ToolLoop);
        (min..=max).contains(&served).then_some(tiering)
    }

    /// The tier of any other turn.
    pub(super) fn of(asking: &Asking<'_>) -> Self {
        let asked = asking.kind().tier;
        let (min, max) = asking.profile.tiers;
        let mut tiering = Self { tier: asked, moved: Vec::new(), draw: None };
        tiering.move_to(asked.clamp(min, max), TierReason::Profile);
        let is_held = tiering.hold(asking);
        tiering.let_down_slowly(asking);
        tiering.confirm(asking);
        tiering.move_to(tiering.tier.clamp(min, max), TierReason::Profile);
        tiering.explore(asking, is_held);
        tiering
    }

    pub(super) fn move_to(&mut self, tier: TurnTier, reason: TierReason) {
        if self.tier != tier {
            self.tier = tier;
            self.moved.push(reason);
        }
    }

    /// A lane is held at the tier it was served at, unless only tools speak.
    fn hold(&mut self, asking: &Asking<'_>) -> bool {
        let rules = &asking.inputs.rules.policy.routing.hold;
        let held = asking.lane.and_then(|lane| lane.hold.over(self.tier));
        let escapes = |held: TurnTier| {
            rules.break_on_mechanical && asking.is_mechanical() && asking.kind().tier < held
        };
        match held.filter(|held| !escapes(*held)) {
            Some(held) => {
                self.move_to(held, TierReason::Held);
                true
            }
            None => false,
        }
    }

    fn let_down_slowly(&mut self, asking: &Asking<'_>) {
        let most = asking.inputs.rules.policy.routing.hold.max_downgrade;
        let Some(served) = asking.lane.and_then(|lane| lane.hold.tier()) else { return };
        let least = (served as u8).saturating_sub(most);
        if (self.tier as u8) < least {
            let tier = TurnTier::ALL.iter().find(|tier| **tier as u8 == least);
            self.move_to(tier.copied().unwrap_or(self.tier), TierReason::MaxDowngrade);
        }
    }

    /// A harder tier that is not certain has to be asked for twice, where going there costs a warm cache.
    fn confirm(&mut self, asking: &Asking<'_>) {
        let below = asking.inputs.rules.policy.routing.hold.confirm_below;
        let Some(lane) = asking.lane else { return };
        // What lies below the profile is no place to wait.
        let served = lane.hold.tier().map(|served| served.max(asking.profile.tiers.0));
        let Some(served) = served.filter(|served| *served < self.tier) else { return };
        let is_certain = asking.class.source != ClassSource::Heuristic
            || u32::from(asking.class.confidence) >= below.0
            || has_hard_signal(&asking.flight.asked.features);
        let is_asked_again = lane.deferred.is_some();
        if is_certain || is_asked_again || !asking.is_warm() || asking.flight.attempts() > 0 {
            return;
        }
        self.move_to(served, TierReason::UpgradeDeferred);
    }

    /// Sometimes a turn is served one tier lower, to see how that does. The draw is recorded, and the chance of what
    /// came of it.
    fn explore(&mut self, asking: &Asking<'_>, is_held: bool) {
        let Explore { rates, when } = asking.inputs.rules.policy.routing.explore;
        let rate = rates[self.tier as usize].min(1_000);
        let lower = TurnTier::ALL.iter().rev().find(|tier| **tier < self.tier).copied();
        let lower = lower.filter(|lower| *lower >= asking.profile.tiers.0);
        let may = match when {
            ExploreWhen::Always => true,
            ExploreWhen::ColdCache => !is_held || !asking.is_warm(),
            ExploreWhen::NotHeld => !is_held,
        };
        let (Some(lower), true, true, 0) = (lower, rate > 0, may, asking.flight.attempts()) else {
            return;
        };
        let drawn = draw_u32(asking.inputs.ledger, asking.inputs.turn.as_slice(), PURPOSE);
        let below = u32::try_from((u64::from(rate) << 32) / 1_000).unwrap_or(u32::MAX);
        let explores = u64::from(drawn) * 1_000 < u64::from(rate) << 32;
        let propensity = if explores { rate } else { 1_000 - rate };
        self.draw = Some(Draw { drawn, below, propensity });
        if explores {
            self.move_to(lower, TierReason::Explored);
        }
    }
}
