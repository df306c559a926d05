//! `[prices]`: what a person says about prices.

use std::collections::BTreeMap;

use events::payload::{Name, Rates};
use events::rate::Rate;
use serde::Deserialize;

use super::{PolicyFileError, wrong};
use crate::effective_book::{PricePolicy, Subscription};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Prices {
    aliases: BTreeMap<String, String>,
    rates: BTreeMap<String, RatesFile>,
    subscriptions: BTreeMap<String, SubscriptionFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubscriptionFile {
    monthly_usd: String,
    quota: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RatesFile {
    input: Option<String>,
    output: Option<String>,
    cache_read: Option<String>,
    cache_write_5m: Option<String>,
    cache_write_1h: Option<String>,
    reasoning: Option<String>,
    image: Option<String>,
    request: Option<String>,
}

pub(super) fn read(prices: Prices) -> Result<PricePolicy, PolicyFileError> {
    let Prices { aliases, rates, subscriptions } = prices;
    for (alias, engine) in &aliases {
        name("prices.aliases", alias)?;
        name(&format!("prices.aliases.{alias}"), engine)?;
    }
    let rates = rates
        .into_iter()
        .map(|(engine, file)| {
            name("prices.rates", &engine)?;
            let rates = rates_of(&engine, &file)?;
            Ok((engine, rates))
        })
        .collect::<Result<_, PolicyFileError>>()?;
    let subscriptions = subscriptions
        .into_iter()
        .map(|(engine, SubscriptionFile { monthly_usd, quota })| {
            let fee: Result<Rate, _> = monthly_usd.parse();
            let fee = fee.map_err(|error| PolicyFileError::Field {
                field: format!("prices.subscriptions.{engine}.monthly_usd"),
                value: monthly_usd,
                problem: format!("is no amount: {error}"),
            })?;
            Ok((engine, Subscription { monthly_usd: fee.to_string(), quota }))
        })
        .collect::<Result<_, PolicyFileError>>()?;
    Ok(PricePolicy { aliases, rates, subscriptions })
}

fn name(field: &str, text: &str) -> Result<(), PolicyFileError> {
    let problem = "is no name: 1 to 128 characters of printable ASCII";
    Name::new(text)
        .map(|_| ())
        .map_err(|_| wrong(field, text.chars().take(40).collect::<String>(), problem))
}

fn rates_of(engine: &str, file: &RatesFile) -> Result<Rates, PolicyFileError> {
    let rate = |field: &str, value: &Option<String>, read: fn(&str) -> Result<Rate, _>| {
        let Some(text) = value else { return Ok(None) };
        read(text).map(Some).map_err(|error: events::rate::DecimalError| PolicyFileError::Field {
            field: format!("prices.rates.{engine}.{field}"),
            value: text.clone(),
            problem: format!("is no rate: {error}"),
        })
    };
    let tokens = |field, value| rate(field, value, Rate::per_million);
    let each = |field, value| rate(field, value, |text| text.parse());
    Ok(Rates {
        input: tokens("input", &file.input)?,
        output: tokens("output", &file.output)?,
        cache_read: tokens("cache_read", &file.cache_read)?,
        cache_write_5m: tokens("cache_write_5m", &file.cache_write_5m)?,
        cache_write_1h: tokens("cache_write_1h", &file.cache_write_1h)?,
        reasoning: tokens("reasoning", &file.reasoning)?,
        image: each("image", &file.image)?,
        request: each("request", &file.request)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<PricePolicy, PolicyFileError> {
        super::super::read(text).map(|file| file.prices)
    }

    #[test]
    fn aliases_and_rates_are_read_exactly() {
        let policy = parse(
            "[prices.aliases]\n\"my-proxy/big\" = \"acme/m1\"\n\
             [prices.rates.\"acme/m1\"]\ninput = \"4.5\"\nrequest = \"0.01\"\n",
        )
        .unwrap();
        assert_eq!(policy.aliases["my-proxy/big"], "acme/m1");
        let rates = policy.rates["acme/m1"];
        assert_eq!(rates.input, Some("0.0000045".parse().unwrap()));
        assert_eq!((rates.request, rates.output), (Some("0.01".parse().unwrap()), None));
        assert_eq!(parse("").unwrap(), PricePolicy::default());
        let covered =
            parse("[prices.subscriptions.anthropic]\nmonthly_usd = \"200\"\nquota = \"5 h\"")
                .unwrap();
        assert_eq!(covered.subscription("anthropic/m").unwrap().monthly_usd, "200");
        assert!(covered.subscription("openai/m").is_none());
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let problem = |text: &str| parse(text).unwrap_err().to_string();
        assert!(
            problem("[prices.rates.\"a/b\"]\ninput = \"-1\"")
                .contains("prices.rates.a/b.input: '-1' is no rate")
        );
        assert!(problem("[prices.rates.\"a/b\"]\ninput = 4.5").contains("expected a string"));
        assert!(problem("[prices.rates.\"a/b\"]\ninptu = \"1\"").contains("did you mean 'input'?"));
        assert!(problem("[prices.aliases]\nx = \"\"").contains("prices.aliases.x: '' is no name"));
    }
}
