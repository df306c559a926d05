//! The bundled price book: every priced entry of models.dev, as of one day, with what it says each engine can do.
//!
//! It stands in `book/default.msgpack`, made by `examples/pack_book.rs`; where it comes from is told in
//! `docs/data.md`.

use events::hash::{Domain, digest};
use events::payload::{Capabilities, Name, Quality, Rates, Tier};
use serde::{Deserialize, Serialize};

use crate::dates::is_date;
use crate::prices::{ListFormat, ListedPrice, PriceList};

const BOOK: &[u8] = include_bytes!("../book/default.msgpack");

/// Why a packed book cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum DefaultBookError {
    /// The bundled bytes do not decode.
    #[error("the bundled price book is damaged: {0}")]
    Decode(#[from] rmp_serde::decode::Error),
    /// The bundled bytes decode to what no packed list holds.
    #[error("the bundled price book is damaged: {0}")]
    Damaged(String),
    /// The list does not encode.
    #[error("the list cannot be packed: {0}")]
    Encode(#[from] rmp_serde::encode::Error),
    /// A packed book holds models.dev's prices of a known day, all of them.
    #[error("the list cannot be packed: {0}")]
    Unsuitable(&'static str),
}

/// The book as bundled. Most entries repeat the terms of another, and its capabilities: those stand once.
#[derive(Debug, Serialize, Deserialize)]
struct BookFile {
    dated: String,
    unpriced: u64,
    /// Distinct terms, in the order of their first engine.
    terms: Vec<(Rates, Vec<Tier>)>,
    /// Distinct capabilities, in the order of their first engine.
    capabilities: Vec<Capabilities>,
    /// Providers by name, each with its models by name.
    providers: Vec<(String, Vec<ModelFile>)>,
}

/// A model: name, context, its place among the terms and among the capabilities.
type ModelFile = (String, Option<u32>, usize, usize);

/// The bundled book's prices. Decoded anew at each call, in a few milliseconds.
///
/// # Errors
/// When the bundled file does not decode, which no build that passes its tests does.
pub fn default_book() -> Result<PriceList, DefaultBookError> {
    unpack(BOOK)
}

/// The list with the 1-hour write rates another list states for the same engine, where the two agree on every other
/// rate of its tokens: models.dev does not tell them.
#[must_use]
pub fn with_hour_writes(mut list: PriceList, other: &PriceList) -> PriceList {
    for price in &mut list.prices {
        let Some(known) = other.engine(&price.engine) else { continue };
        let agreed =
            |rates: &Rates| [rates.input, rates.output, rates.cache_read, rates.cache_write_5m];
        if agreed(&price.rates) == agreed(&known.rates) && price.rates.cache_write_1h.is_none() {
            price.rates.cache_write_1h = known.rates.cache_write_1h;
        }
    }
    list
}

/// Packs a list of models.dev into the bytes that are bundled.
///
/// # Errors
/// [`DefaultBookError::Unsuitable`] for any other list.
pub fn pack(list: &PriceList) -> Result<Vec<u8>, DefaultBookError> {
    let unsuitable = |problem| Err(DefaultBookError::Unsuitable(problem));
    let Some(dated) = &list.dated else { return unsuitable("it does not say of which day it is") };
    if list.format != ListFormat::ModelsDev || list.source != ListFormat::ModelsDev.label() {
        return unsuitable("it is not models.dev's");
    }
    if !list.refused.is_empty() {
        return unsuitable("entries of it were refused");
    }
    let mut file = BookFile {
        dated: dated.clone(),
        unpriced: list.unpriced,
        terms: Vec::new(),
        capabilities: Vec::new(),
        providers: Vec::new(),
    };
    for price in &list.prices {
        if !price.windows.is_empty() {
            return unsuitable("an engine of it has prices by time of day");
        }
        let Some((provider, model)) = price.engine.split_once('/') else {
            return unsuitable("an engine of it has no provider");
        };
        if !price.quality.is_unscored() {
            return unsuitable("an engine of it is scored");
        }
        let terms = place_of(&mut file.terms, (price.rates, price.tiers.clone()));
        let capabilities = place_of(&mut file.capabilities, price.capabilities);
        let entry = (model.to_owned(), price.context, terms, capabilities);
        match file.providers.last_mut() {
            Some((name, models)) if name == provider => models.push(entry),
            _ => file.providers.push((provider.to_owned(), vec![entry])),
        }
    }
    Ok(rmp_serde::to_vec(&file)?)
}

/// Where a value stands in a list of distinct values, to which it is added if need be.
fn place_of<T: PartialEq>(values: &mut Vec<T>, value: T) -> usize {
    values.iter().position(|known| *known == value).unwrap_or_else(|| {
        values.push(value);
        values.len() - 1
    })
}

fn unpack(bytes: &[u8]) -> Result<PriceList, DefaultBookError> {
    let file: BookFile = rmp_serde::from_slice(bytes)?;
    if !is_date(&file.dated) {
        return Err(DefaultBookError::Damaged(format!("'{}' is no day", file.dated)));
    }
    let mut prices = Vec::new();
    for (provider, models) in file.providers {
        for (model, context, terms, capabilities) in models {
            let engine = format!("{provider}/{model}");
            let lacks = |what: &str| DefaultBookError::Damaged(format!("'{engine}' has no {what}"));
            let (rates, tiers) = file.terms.get(terms).cloned().ok_or_else(|| lacks("terms"))?;
            let capabilities =
                *file.capabilities.get(capabilities).ok_or_else(|| lacks("capabilities"))?;
            if Name::new(&engine).is_err() {
                return Err(DefaultBookError::Damaged(format!("'{engine}' is no name")));
            }
            prices.push(ListedPrice {
                engine,
                context,
                rates,
                tiers,
                windows: Vec::new(),
                capabilities,
                quality: Quality::default(),
            });
        }
    }
    if let Some(pair) = prices.windows(2).find(|pair| pair[0].engine >= pair[1].engine) {
        return Err(DefaultBookError::Damaged(format!("'{}' is out of order", pair[1].engine)));
    }
    Ok(PriceList {
        format: ListFormat::ModelsDev,
        source: ListFormat::ModelsDev.label().to_owned(),
        dated: Some(file.dated),
        prices,
        refused: Vec::new(),
        unpriced: file.unpriced,
        digest: digest(Domain::Book, bytes),
    })
}

#[cfg(test)]
mod tests {
    use events::rate::Rate;

    use super::*;

    fn rates(book: &PriceList, engine: &str) -> [Option<String>; 4] {
        let rates = book.engine(engine).unwrap().rates;
        let Rates { input, output, cache_read, cache_write_5m, .. } = rates;
        [input, output, cache_read, cache_write_5m].map(|rate| rate.map(|rate| rate.to_string()))
    }

    fn per_million(texts: [&str; 4]) -> [Option<String>; 4] {
        texts.map(|text| Rate::per_million(text).ok().map(|rate| rate.to_string()))
    }

    #[test]
    fn the_book_is_the_one_that_was_packed() {
        let book = default_book().unwrap();
        assert_eq!((book.format, book.source.as_str()), (ListFormat::ModelsDev, "models.dev"));
        assert_eq!(book.dated.as_deref(), Some("2026-07-02"));
        assert_eq!((book.prices.len(), book.unpriced), (4_894, 382));
        let tiered = book.prices.iter().filter(|price| !price.tiers.is_empty()).count();
        assert_eq!(tiered, 190);
        let digest = "1bff5786dbda88aea945d24d4d6debddfe6736454393902c53bb67ce993b8c27";
        assert_eq!(book.digest.to_string(), digest);
        assert!(book.refused.is_empty());
    }

    // Packing again gives the same bytes only if names are in order and every rate is in least form.
    #[test]
    fn the_bundled_bytes_have_one_form() {
        let book = default_book().unwrap();
        assert_eq!(pack(&book).unwrap(), BOOK);
        let tiers = book.prices.iter().flat_map(|price| &price.tiers).map(|tier| tier.rates);
        for rates in book.prices.iter().map(|price| price.rates).chain(tiers) {
            let Rates {
                input, output, cache_read, cache_write_5m, cache_write_1h, reasoning, ..
            } = rates;
            let stated = [input, output, cache_read, cache_write_5m, cache_write_1h, reasoning];
            for rate in stated.into_iter().flatten() {
                let (mantissa, scale) = rate.decimal();
                assert!(scale == 0 || mantissa % 10 != 0, "{rate}");
            }
            assert_eq!([rates.image, rates.request], [None; 2]);
        }
    }

    #[test]
    fn well_known_prices_are_in_it() {
        let book = default_book().unwrap();
        let opus = "anthropic/claude-opus-4-5";
        assert_eq!(rates(&book, opus), per_million(["5", "25", "0.5", "6.25"]));
        assert_eq!(book.engine(opus).unwrap().context, Some(200_000));
        let hour = book.engine(opus).unwrap().rates.cache_write_1h;
        assert_eq!(hour, Some(Rate::per_million("10").unwrap()));
        let sonnet = "anthropic/claude-sonnet-4-5";
        assert_eq!(rates(&book, sonnet), per_million(["3", "15", "0.3", "3.75"]));
        assert_eq!(rates(&book, "openai/gpt-5"), per_million(["1.25", "10", "0.125", "-"]));
        assert_eq!(rates(&book, "zai/glm-4.7"), per_million(["0.6", "2.2", "0.11", "-"]));
        let free = "openrouter/openai/gpt-oss-20b:free";
        assert_eq!(rates(&book, free), per_million(["0", "0", "-", "-"]));
        assert_eq!(book.engine("ollama-cloud/glm-5.1"), None, "its price is unknown");
    }

    #[test]
    fn capabilities_are_in_it() {
        let book = default_book().unwrap();
        let of = |engine: &str| book.engine(engine).unwrap().capabilities;
        let all = Capabilities {
            tools: Some(true),
            images: Some(true),
            reasoning: Some(true),
            output: Some(64_000),
        };
        assert_eq!(of("anthropic/claude-opus-4-5"), all);
        let coder = of("openrouter/qwen/qwen3-coder");
        assert_eq!(
            (coder.tools, coder.images, coder.reasoning),
            (Some(true), Some(false), Some(false))
        );
        let knows = |known: fn(&Capabilities) -> bool| {
            book.prices.iter().filter(|price| known(&price.capabilities)).count()
        };
        assert_eq!(knows(|can| can.tools == Some(true)), 3_891);
        assert_eq!(knows(|can| can.images == Some(true)), 2_454);
        assert_eq!(knows(|can| can.reasoning == Some(true)), 3_034);
        assert_eq!(knows(|can| can.output.is_none()), 36);
        assert!(book.prices.iter().all(|price| price.quality.is_unscored()));
    }

    // The rates of the book before it had capabilities, which a new packing has to give again.
    #[test]
    fn the_rates_are_those_of_the_book_before() {
        let book = default_book().unwrap();
        let rates: Vec<_> = book
            .prices
            .iter()
            .map(|price| (&price.engine, price.context, price.rates, &price.tiers))
            .collect();
        let rates = digest(Domain::Book, &rmp_serde::to_vec(&rates).unwrap());
        assert_eq!(
            rates.to_string(),
            "b601b8e7b0354f2e6d2892774e46f5b62627a33c324db69273de86c7eb147af9"
        );
    }

    #[test]
    fn tiers_are_in_it() {
        let book = default_book().unwrap();
        let gemini = "google/gemini-2.5-pro";
        assert_eq!(rates(&book, gemini), per_million(["1.25", "10", "0.125", "-"]));
        let [tier] = book.engine(gemini).unwrap().tiers[..] else { panic!("one tier") };
        assert_eq!(tier.from_prompt, 200_001);
        assert_eq!(tier.rates.input, Rate::per_million("2.5").ok());
        assert_eq!(tier.rates.output, Rate::per_million("15").ok());
        let doubao = book.engine("aihubmix/doubao-seed-2-0-pro").unwrap();
        let froms: Vec<u32> = doubao.tiers.iter().map(|tier| tier.from_prompt).collect();
        assert_eq!(froms, [32_001, 128_001]);
    }

    #[test]
    fn damaged_books_are_refused() {
        let book = || BookFile {
            dated: "2026-07-02".to_owned(),
            unpriced: 0,
            terms: vec![(Rates::default(), Vec::new())],
            capabilities: vec![Capabilities::default()],
            providers: vec![("a".to_owned(), vec![("m".to_owned(), None, 0, 0)])],
        };
        let read = |file: &BookFile| unpack(&rmp_serde::to_vec(file).unwrap());
        assert!(read(&book()).is_ok());
        for change in [
            |file: &mut BookFile| file.dated = "someday".to_owned(),
            |file: &mut BookFile| file.terms.clear(),
            |file: &mut BookFile| file.capabilities.clear(),
            |file: &mut BookFile| file.providers[0].0 = "\n".to_owned(),
            |file: &mut BookFile| {
                file.providers.push(("a".to_owned(), vec![("m".to_owned(), None, 0, 0)]))
            },
        ] {
            let mut file = book();
            change(&mut file);
            assert!(matches!(read(&file), Err(DefaultBookError::Damaged(_))), "{file:?}");
        }
        assert!(matches!(unpack(&BOOK[..BOOK.len() - 1]), Err(DefaultBookError::Decode(_))));
    }

    #[test]
    fn only_whole_lists_of_models_dev_are_packed() {
        let refusal =
            |json: &str| pack(&crate::prices::parse(json.as_bytes()).unwrap()).unwrap_err();
        for json in [
            r#"{"a/m":{"cost":{"input":1}}}"#,
            r#"{"_meta":{"date":"2026-07-02"},"models":{"a/m":{"pricing":{"prompt":"1"}}}}"#,
            r#"{"_meta":{"date":"2026-07-02"},"models":{"a/m":{"cost":{"input":1e99}}}}"#,
            r#"{"_meta":{"date":"2026-07-02"},"models":{"m":{"cost":{"input":1}}}}"#,
        ] {
            assert!(matches!(refusal(json), DefaultBookError::Unsuitable(_)), "{json}");
        }
    }
}
