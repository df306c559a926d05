//! The prices that count: a person's policy, then the ledger's own, then a list's.

use std::collections::BTreeMap;

use events::payload::Rates;
use projections::book::{Book, BookNames, EnginePrice, POLICY_SOURCE};
use projections::projection::Projection as _;
use serde::Serialize;

use crate::prices::PriceList;

/// What a person says about prices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PricePolicy {
    /// What names stand for: recorded name to engine.
    pub aliases: BTreeMap<String, String>,
    /// Rates of one's own, by engine; a rate left out is the engine's.
    pub rates: BTreeMap<String, Rates>,
    /// Engines, or providers with all of theirs, that a subscription covers.
    pub subscriptions: BTreeMap<String, Subscription>,
}

/// What covers an engine's turns, so that nobody is billed for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subscription {
    /// Its monthly fee, in US dollars.
    pub monthly_usd: String,
    /// How much it covers, in words.
    pub quota: Option<String>,
}

impl PricePolicy {
    /// The first alias that leads nowhere in a book.
    #[must_use]
    pub fn lost_alias(&self, book: &Book) -> Option<(&str, &str)> {
        let mut aliases =
            self.aliases.iter().map(|(alias, engine)| (alias.as_str(), engine.as_str()));
        aliases.find(|(_, engine)| book.engine(engine).is_none())
    }

    /// What covers an engine: the engine's own subscription, else its provider's.
    #[must_use]
    pub fn subscription(&self, engine: &str) -> Option<&Subscription> {
        let provider = || engine.split_once('/').map(|(provider, _)| provider);
        self.subscriptions.get(engine).or_else(|| self.subscriptions.get(provider()?))
    }
}

/// A book of a list's prices, outside any ledger.
#[must_use]
pub fn book_of(list: &PriceList) -> Book {
    let dated = list.dated.clone().unwrap_or_default();
    let source = format!("{} {dated}", list.source).trim_end().to_owned();
    let names = BookNames { source: list.source.clone(), dated, ..BookNames::default() };
    let price = |listed: &crate::prices::ListedPrice| EnginePrice {
        engine: listed.engine.clone(),
        context: listed.context,
        rates: listed.rates,
        tiers: listed.tiers.clone(),
        windows: listed.windows.clone(),
        capabilities: listed.capabilities,
        quality: listed.quality,
        source: source.clone(),
        seq: None,
    };
    Book::genesis().with(list.prices.iter().map(price)).with_names(names)
}

/// The book that counts. Of an engine that two know, the ledger's price goes before the list's; a policy's rates go
/// before either.
#[must_use]
pub fn effective(ledger: &Book, list: &PriceList, policy: &PricePolicy) -> Book {
    let mut book = book_of(list).with(ledger.engines().cloned());
    if let Some(names) = ledger.names() {
        // What nobody has imported is the list's: a report tells of both.
        let own = format!("{} {}, else {}", names.source, names.dated, list.source);
        let dated = list.dated.clone().unwrap_or_default();
        book = book.with_names(BookNames { source: own, dated, ..names.clone() });
    }
    let negotiated: Vec<EnginePrice> =
        policy.rates.iter().map(|(engine, rates)| negotiated(&book, engine, rates)).collect();
    book.with(negotiated).mapping(policy.aliases.clone())
}

/// An engine's price with a person's rates in it. They hold for prompts of every size and at every time.
fn negotiated(book: &Book, engine: &str, rates: &Rates) -> EnginePrice {
    let known = book.engine(engine);
    let base = known.map(|known| known.rates).unwrap_or_default();
    EnginePrice {
        engine: engine.to_owned(),
        context: known.and_then(|known| known.context),
        rates: laid_over(rates, &base),
        tiers: known.map_or_else(Vec::new, |known| {
            let mut tiers = known.tiers.clone();
            tiers.iter_mut().for_each(|tier| tier.rates = laid_over(rates, &tier.rates));
            tiers
        }),
        windows: known.map_or_else(Vec::new, |known| {
            let mut windows = known.windows.clone();
            windows.iter_mut().for_each(|window| window.rates = laid_over(rates, &window.rates));
            windows
        }),
        capabilities: known.map(|known| known.capabilities).unwrap_or_default(),
        quality: known.map(|known| known.quality).unwrap_or_default(),
        source: POLICY_SOURCE.to_owned(),
        seq: None,
    }
}

fn laid_over(rates: &Rates, base: &Rates) -> Rates {
    Rates {
        input: rates.input.or(base.input),
        output: rates.output.or(base.output),
        cache_read: rates.cache_read.or(base.cache_read),
        cache_write_5m: rates.cache_write_5m.or(base.cache_write_5m),
        cache_write_1h: rates.cache_write_1h.or(base.cache_write_1h),
        reasoning: rates.reasoning.or(base.reasoning),
        image: rates.image.or(base.image),
        request: rates.request.or(base.request),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::rate::Rate;
    use projections::names::Step;

    fn list(json: &str) -> PriceList {
        crate::prices::parse(json.as_bytes()).unwrap()
    }

    fn rate(text: &str) -> Option<Rate> {
        Some(Rate::per_million(text).unwrap())
    }

    #[test]
    fn policy_goes_before_the_ledger_and_the_ledger_before_the_list() {
        let bundled = list(
            r#"{"_meta":{"date":"2026-07-02"},"models":{
                "acme/m1":{"cost":{"input":1,"output":2}},
                "acme/m2":{"cost":{"input":3,"output":4,"tiers":[{"above_context":200000,"input":6,"output":8}]}},
                "acme/m3":{"cost":{"input":5,"output":6}}}}"#,
        );
        let own = book_of(&list(r#"{"models":{"acme/m1":{"cost":{"input":10,"output":20}}}}"#));
        let policy = PricePolicy {
            aliases: [("proxy/big".to_owned(), "acme/m2".to_owned())].into(),
            rates: [("acme/m2".to_owned(), Rates { input: rate("2.5"), ..Rates::default() })]
                .into(),
            subscriptions: BTreeMap::new(),
        };
        let book = effective(&own, &bundled, &policy);
        let of = |engine: &str| book.engine(engine).unwrap();
        assert_eq!(of("acme/m1").rates.input, rate("10"));
        assert_eq!(
            (of("acme/m2").rates.input, of("acme/m2").rates.output),
            (rate("2.5"), rate("4"))
        );
        assert_eq!(of("acme/m2").tiers[0].rates.input, rate("2.5"), "for prompts of every size");
        assert_eq!(
            (of("acme/m2").source.as_str(), of("acme/m3").source.as_str()),
            ("policy", "models.dev 2026-07-02")
        );
        let (step, engine) = book.recorded("proxy/big").unwrap();
        assert_eq!((step, engine.engine.as_str()), (Step::Mapped, "acme/m2"));
        assert!(book.recorded("proxy/small").is_none());
        assert_eq!(policy.lost_alias(&book), None);
        let lost = [("x".to_owned(), "acme/m9".to_owned())].into();
        let lost = PricePolicy { aliases: lost, ..policy.clone() };
        assert_eq!(lost.lost_alias(&book), Some(("x", "acme/m9")));
        // Rates of one's own go before an entry that fits the recorded name better.
        let dated = list(
            r#"{"models":{"anthropic/claude-x-20260101":{"cost":{"input":1,"output":2}},
                "anthropic/claude-x":{"cost":{"input":1,"output":2}}}}"#,
        );
        let rates = [("anthropic/claude-x".to_owned(), policy.rates["acme/m2"])].into();
        let policy = PricePolicy { rates, ..PricePolicy::default() };
        let book = effective(&Book::genesis(), &dated, &policy);
        let (step, engine) = book.recorded("claude-x-20260101").unwrap();
        assert_eq!((step, engine.rates.input), (Step::VendorWithoutDate, rate("2.5")));
        let steps = book.steps("m-20260101");
        let looked_for: Vec<&str> = steps.iter().map(|(_, name, _)| name.as_str()).collect();
        assert_eq!(looked_for, ["m-20260101", "m"]);
    }
}
