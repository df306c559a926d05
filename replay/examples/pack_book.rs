//! Packs models.dev's prices and capabilities into the book ferry bundles, with the 1-hour write rates of LiteLLM's list.
//!
//! `cargo run -p replay --example pack_book -- models_dev.json litellm.json > replay/book/default.msgpack`
#![expect(clippy::disallowed_methods, reason = "a tool reads files")]

use std::error::Error;
use std::io::{Write as _, stdout};

use replay::default_book::{pack, with_hour_writes};
use replay::prices::{PriceList, parse};

fn main() -> Result<(), Box<dyn Error>> {
    let mut lists = std::env::args()
        .skip(1)
        .map(|path| -> Result<PriceList, Box<dyn Error>> { Ok(parse(&std::fs::read(path)?)?) });
    let (Some(list), Some(hours)) = (lists.next(), lists.next()) else {
        return Err("name models.dev's list and LiteLLM's".into());
    };
    Ok(stdout().write_all(&pack(&with_hour_writes(list?, &hours?))?)?)
}
