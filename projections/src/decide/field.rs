//! Who may take turns under a profile, and what its tiers ask of them.

use events::money::Pico;
use events::payload::{Exclusion, Task, TurnTier};

use super::catalogue::{Offer, per_million};
use super::patterns::Patterns;
use crate::policy::{Objective, ProfileRules, Routing};
use crate::quality::{Axis, ceilings, floors, on_axis};

/// Dollars for a million prompt tokens in each tier under `seed-score`, which cannot tell what is worth its price
/// (router facts 3.6).
const SEED_CEILINGS: [Option<Pico>; 4] = [
    Some(Pico(300_000_000_000)),
    Some(Pico(1_500_000_000_000)),
    Some(Pico(4_000_000_000_000)),
    None,
];

/// An engine of the field.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its place among the market's offers.
    pub offer: usize,
    /// Its place in the profile's own list.
    pub place: u16,
    /// Why no turn goes there, whatever the turn.
    pub standing: Option<Exclusion>,
}

/// What a tier asks of engines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierAsks {
    /// The least quality on each axis, in tenths of a point, by [`Axis`].
    pub floors: [u16; Axis::ALL.len()],
    /// The most a million prompt tokens may cost.
    pub max_input: Option<Pico>,
    /// The most a million answer tokens may cost.
    pub max_output: Option<Pico>,
}

/// Who may take turns under a profile.
#[derive(Clone, Debug)]
pub struct Field {
    /// By canonical name, then name.
    pub entries: Vec<Entry>,
    /// What each tier asks of them.
    pub tiers: [TierAsks; 4],
    /// By task: the first of its preferred patterns that fits each entry, by the entry's index.
    preferred: Vec<(Task, Vec<Option<u16>>)>,
}

impl Field {
    pub(super) fn new(
        profile: &ProfileRules,
        routing: &Routing,
        offers: &[Offer],
        places: &[usize],
        standing: impl Fn(&Offer) -> Option<Exclusion>,
    ) -> Self {
        let numbered = places.iter().zip(0_u16..);
        let mut entries: Vec<Entry> = numbered
            .filter_map(|(index, place)| {
                let standing = standing(offers.get(*index)?);
                Some(Entry { offer: *index, place, standing })
            })
            .collect();
        entries.sort_unstable_by_key(|entry| entry.offer);
        let rankable: Vec<&Offer> = entries
            .iter()
            .filter(|entry| entry.standing.is_none())
            .map(|entry| &offers[entry.offer])
            .collect();
        let tiers = tiers(profile, routing, &rankable);
        let preferred = routing.tasks.iter().filter(|(_, rules)| !rules.prefer.is_empty());
        let preferred = preferred
            .map(|(task, rules)| {
                let patterns = Patterns::new(rules.prefer.iter().map(String::as_str));
                let first = |entry: &Entry| {
                    let first = patterns.first(&offers[entry.offer].name)?;
                    u16::try_from(first).ok()
                };
                (*task, entries.iter().map(first).collect())
            })
            .collect();
        Self { entries, tiers, preferred }
    }

    /// What a tier asks.
    #[must_use]
    pub const fn tier(&self, tier: TurnTier) -> &TierAsks {
        &self.tiers[tier as usize]
    }

    /// How early an entry is preferred for a task, by the entry's index; `None`: it is not.
    pub(super) fn preferred(&self, task: Task) -> Option<&[Option<u16>]> {
        let found = self.preferred.iter().find(|(of, _)| *of == task)?;
        Some(&found.1)
    }
}

/// Floors and ceilings, adapted to what there is where policy says so.
fn tiers(profile: &ProfileRules, routing: &Routing, rankable: &[&Offer]) -> [TierAsks; 4] {
    let stated = routing.tiers.map(|tier| tier.min_quality);
    let floors_of = |axis: Axis| {
        let mut scores: Vec<u16> = rankable
            .iter()
            .filter_map(|offer| on_axis(&offer.quality, axis).map(|(score, _)| score))
            .collect();
        scores.sort_unstable();
        if routing.adaptive_floors { floors(&scores, stated) } else { stated }
    };
    let by_axis = Axis::ALL.map(floors_of);
    let price = |offer: &&Offer| per_million(offer.tariffs.as_ref()?.price().rates.input);
    let mut prices: Vec<Pico> = rankable.iter().filter_map(price).collect();
    prices.sort_unstable();
    let seed = if profile.objective == Objective::SeedScore { SEED_CEILINGS } else { [None; 4] };
    let mut max_input: [Option<Pico>; 4] =
        std::array::from_fn(|tier| routing.tiers[tier].max_input.or(seed[tier]));
    if routing.adaptive_ceilings {
        max_input = ceilings(&prices, max_input);
    }
    std::array::from_fn(|tier| TierAsks {
        floors: std::array::from_fn(|axis| by_axis[axis][tier]),
        max_input: max_input[tier],
        max_output: routing.tiers[tier].max_output,
    })
}
