use super::*;

fn price() -> EnginePrice {
    let nothing = Some(Rate::ZERO);
    EnginePrice {
        engine: "acme/m".to_owned(),
        context: Some(9),
        rates: Rates { input: nothing, output: nothing, ..Rates::default() },
        tiers: Vec::new(),
        windows: Vec::new(),
        capabilities: Capabilities::default(),
        quality: Quality::default(),
        source: "test".to_owned(),
        seq: None,
    }
}

#[test]
fn free_is_what_charges_nothing_anywhere() {
    assert!(price().is_free());
    let zeros =
        Rates { cache_read: Some(Rate::ZERO), request: Some(Rate::ZERO), ..Rates::default() };
    let tiers = vec![Tier { from_prompt: 7, rates: zeros }];
    assert!(EnginePrice { tiers, ..price() }.is_free());
    let request = Rates { request: Rate::per_million("0.1").ok(), ..Rates::default() };
    let tiers = vec![Tier { from_prompt: 7, rates: request }];
    assert!(!EnginePrice { tiers, ..price() }.is_free());
    let windows = vec![Window { from_minute: 0, to_minute: 9, rates: request }];
    assert!(!EnginePrice { windows, ..price() }.is_free());
    for set in [
        |rates: &mut Rates, rate| rates.input = rate,
        |rates: &mut Rates, rate| rates.output = rate,
        |rates: &mut Rates, rate| rates.cache_read = rate,
        |rates: &mut Rates, rate| rates.cache_write_5m = rate,
        |rates: &mut Rates, rate| rates.cache_write_1h = rate,
        |rates: &mut Rates, rate| rates.reasoning = rate,
        |rates: &mut Rates, rate| rates.image = rate,
        |rates: &mut Rates, rate| rates.request = rate,
    ] {
        let mut price = price();
        set(&mut price.rates, Rate::per_million("0.1").ok());
        assert!(!price.is_free(), "{:?}", price.rates);
    }
    for rates in [Rates::default(), Rates { input: Some(Rate::ZERO), ..Rates::default() }] {
        assert!(!EnginePrice { rates, ..price() }.is_free(), "unknown is not free");
    }
}

#[test]
fn an_import_sees_whatever_a_list_changes_and_not_where_it_was_read() {
    let elsewhere = EnginePrice { source: "other".to_owned(), seq: Some(3), ..price() };
    assert!(price().says_the_same(&elsewhere));
    let capabilities = Capabilities { tools: Some(false), ..Capabilities::default() };
    let quality = Quality { coding: Some(1), ..Quality::default() };
    for other in [
        EnginePrice { engine: "acme/n".to_owned(), ..price() },
        EnginePrice { context: None, ..price() },
        EnginePrice { rates: Rates::default(), ..price() },
        EnginePrice { tiers: vec![Tier { from_prompt: 1, rates: Rates::default() }], ..price() },
        EnginePrice { capabilities, ..price() },
        EnginePrice { quality, ..price() },
    ] {
        assert!(!price().says_the_same(&other), "{other:?}");
    }
}

#[test]
fn what_is_filled_is_known_until_a_newer_price_comes() {
    let elsewhere = |_: &EnginePrice| Some(Quality { coding: Some(9), ..Quality::default() });
    let own = Quality { agentic: Some(9), ..Quality::default() };
    let book = Book::genesis().with([EnginePrice { quality: own, ..price() }]).scored(elsewhere);
    let filled = Axis::ALL.map(|axis| book.is_filled("acme/m", axis));
    assert_eq!(filled, [false, true, false]);
    assert!(!book.is_filled("acme/n", Axis::Coding));
    let same = book.clone().scored(elsewhere);
    assert_eq!((same.clone(), same.is_filled("acme/m", Axis::Coding)), (book.clone(), true));
    let newer = book.with([price()]);
    assert_eq!(newer, Book::genesis().with([price()]), "nothing is left of what was filled");
}
