//! How long a lane is held at the tier it was served at, so that one easy turn does not send it elsewhere and back.
//!
//! A hold begins when the served tier changes or a turn is escalated, and is never begun again by turns it holds itself:
//! a hold that every turn renewed would keep a conversation at the hardest tier for ever.

use events::payload::TurnTier;
use serde::{Deserialize, Serialize};

/// Turns a change of tier holds.
const TURNS: u32 = 2;
/// Turns an escalation holds.
const TURNS_ESCALATED: u32 = 4;

/// What a lane is held at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Turns of the lane that were served.
    turn: u32,
    /// The tier the last of them was served at.
    tier: Option<TurnTier>,
    /// It holds the turns before this one.
    until: u32,
}

impl Hold {
    /// After another turn was served at a tier.
    pub(super) fn served(&mut self, tier: Option<TurnTier>, escalated: bool) {
        self.turn = self.turn.saturating_add(1);
        let Some(tier) = tier else { return };
        if escalated || self.tier != Some(tier) {
            let turns = if escalated { TURNS_ESCALATED } else { TURNS };
            self.until = self.turn.saturating_add(turns);
        }
        self.tier = Some(tier);
    }

    /// The tier the lane's last turn was served at.
    #[must_use]
    pub const fn tier(&self) -> Option<TurnTier> {
        self.tier
    }

    /// The tier the lane's next turn is held at, where it asks for an easier one.
    #[must_use]
    pub fn over(&self, asked: TurnTier) -> Option<TurnTier> {
        let next = self.turn.saturating_add(1);
        self.tier.filter(|held| self.until > next && *held >= asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::payload::TurnTier::{Hard, Moderate, Simple, Trivial};

    fn served(hold: &mut Hold, tier: TurnTier) -> Option<TurnTier> {
        hold.served(Some(tier), false);
        hold.over(Trivial)
    }

    // 5.5: until turn + 2, begun only by a change of tier.
    #[test]
    fn a_hold_ends_though_every_turn_is_served_at_its_tier() {
        let mut hold = Hold::default();
        assert_eq!(hold.over(Trivial), None);
        assert_eq!(served(&mut hold, Hard), Some(Hard), "turn 1 holds what comes before turn 3");
        assert_eq!(served(&mut hold, Hard), None, "turn 2 does not begin it again");
        assert_eq!(served(&mut hold, Hard), None);
        assert_eq!(served(&mut hold, Simple), Some(Simple), "another tier does");
        assert_eq!(hold.over(Moderate), None, "a harder turn is not held back");
    }

    // 5.5: until turn + 4 after an escalation.
    #[test]
    fn an_escalation_holds_for_longer() {
        let mut hold = Hold::default();
        hold.served(Some(Moderate), true);
        for _ in 0..2 {
            assert_eq!(hold.over(Simple), Some(Moderate));
            hold.served(Some(Moderate), false);
        }
        assert_eq!(hold.over(Simple), Some(Moderate));
        hold.served(Some(Moderate), false);
        assert_eq!(hold.over(Simple), None);
    }

    #[test]
    fn turns_of_no_known_tier_pass_and_begin_nothing() {
        let mut hold = Hold::default();
        hold.served(Some(Hard), false);
        hold.served(None, false);
        assert_eq!(hold.over(Trivial), None, "they count as turns");
    }
}
