//! Packs models.dev's prices into the book ferry bundles.
//!
//! `cargo run -p replay --example pack_book < models_dev.json > replay/book/default.msgpack`

use std::error::Error;
use std::io::{Read as _, Write as _, stdin, stdout};

use replay::default_book::pack;
use replay::prices::parse;

fn main() -> Result<(), Box<dyn Error>> {
    let mut json = Vec::new();
    stdin().read_to_end(&mut json)?;
    Ok(stdout().write_all(&pack(&parse(&json)?)?)?)
}
