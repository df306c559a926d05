//! What people say, and what comes with ferry: together they make decisions what they are.

use std::sync::Arc;

use events::ids::Digest;
use projections::book::Book;
use projections::decide::Market;
use projections::policy::Rules;

use crate::default_book::{DefaultBookError, default_book};
use crate::effective_book::{PricePolicy, effective};
use crate::policy_file::PolicyFile;
use crate::prices::{ListFormat, PriceList};
use crate::quality_table::{QualityTable, QualityTableError, bundled};

/// Why what comes with ferry cannot be used. No build that passes its tests meets one.
#[derive(Debug, thiserror::Error)]
pub enum ListsError {
    /// The price book.
    #[error(transparent)]
    Prices(#[from] DefaultBookError),
    /// The quality table.
    #[error(transparent)]
    Quality(#[from] QualityTableError),
}

/// Prices and quality as they come with ferry.
#[derive(Clone, Debug)]
pub struct Lists {
    /// Prices of engines the ledger has none of.
    pub prices: Arc<PriceList>,
    /// How good engines are said to be.
    pub quality: Arc<QualityTable>,
}

impl Lists {
    /// Those of this build.
    ///
    /// # Errors
    /// [`ListsError`].
    pub fn bundled() -> Result<Self, ListsError> {
        Ok(Self { prices: Arc::new(default_book()?), quality: Arc::new(bundled()?) })
    }

    /// None: a ledger's own prices are all there are.
    #[must_use]
    pub fn none() -> Self {
        let prices = PriceList {
            format: ListFormat::ModelsDev,
            source: "none".to_owned(),
            dated: None,
            prices: Vec::new(),
            refused: Vec::new(),
            unpriced: 0,
            digest: Digest::ZERO,
        };
        Self { prices: Arc::new(prices), quality: Arc::new(QualityTable::empty()) }
    }

    /// The book that counts for a ledger: what people say, then its own prices, then the list's; with the quality of
    /// what nobody else scores.
    #[must_use]
    pub fn book(&self, own: &Book, prices: &PricePolicy) -> Book {
        self.quality.fill(effective(own, &self.prices, prices))
    }

    pub(super) fn market(&self, own: &Book, ruling: &Ruling) -> Market {
        Market::new(self.book(own, &ruling.prices), &ruling.rules)
    }
}

/// Rules that are gone by.
#[derive(Clone, Debug)]
pub struct Ruling {
    /// About routing and budgets; their digest is of prices and lists too.
    pub rules: Rules,
    /// About prices.
    pub prices: PricePolicy,
}

impl Ruling {
    /// What a policy comes to, with these lists.
    #[must_use]
    pub fn of(policy: PolicyFile, lists: &Lists) -> Self {
        let PolicyFile { prices, rules } = policy;
        // What people and lists say of prices and quality decides too.
        let rules = rules.along_with(&(&prices, lists.prices.digest, lists.quality.digest()));
        Self { rules, prices }
    }
}
