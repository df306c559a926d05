//! The bundled table of public scores: what fills the axes no price list scores.
//!
//! It stands in `book/quality.json`, made by `examples/pack_quality`; what the figures are and where they are from is
//! told in `docs/data.md`.

use std::collections::{BTreeMap, BTreeSet};

use events::hash::{Domain, digest};
use events::ids::Digest;
use events::payload::{Name, Quality};
use projections::book::Book;
use projections::quality::{Axis, author_of, key, undated};
use serde::{Deserialize, Serialize};

use crate::dates::is_date;
use crate::prices::abilities::tenths;

const TABLE: &[u8] = include_bytes!("../book/quality.json");

/// Why a table of scores cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum QualityTableError {
    /// Not the JSON of a table.
    #[error("no table of scores: {0}")]
    Json(#[from] serde_json::Error),
    /// A row with what it cannot have.
    #[error("{model}: {problem}")]
    Row {
        /// The row's model.
        model: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// A published figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What was measured.
    pub benchmark: String,
    /// How: the tool the model worked in, and its effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The score as published, in the benchmark's own measure.
    pub score: String,
    /// Where it was published.
    pub source: String,
    /// When, if that is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// A score, and the figures it was made from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScoreFile {
    score: String,
    from: Vec<Figure>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowFile {
    model: String,
    #[serde(default)]
    names: Vec<String>,
    intelligence: Option<ScoreFile>,
    coding: Option<ScoreFile>,
    agentic: Option<ScoreFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    dated: String,
    about: String,
    models: Vec<RowFile>,
}

/// A model of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored {
    /// The model, `maker/model`.
    pub model: String,
    /// Its scores.
    pub quality: Quality,
    /// The figures each score was made from, by [`Axis::ALL`].
    figures: [Vec<Figure>; 3],
}

impl Scored {
    /// The figures the score on an axis was made from.
    #[must_use]
    pub fn figures(&self, axis: Axis) -> &[Figure] {
        let [intelligence, coding, agentic] = &self.figures;
        match axis {
            Axis::Intelligence => intelligence,
            Axis::Coding => coding,
            Axis::Agentic => agentic,
        }
    }
}

/// Who scores an engine on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance<'a> {
    /// Its own price's source.
    Price(&'a str),
    /// A row of the table.
    Table(&'a Scored),
}

/// Public scores of models, found by whatever name an engine has for them.
#[derive(Clone, Debug)]
pub struct QualityTable {
    dated: String,
    about: String,
    rows: Vec<Scored>,
    /// Rows by each key they are known by.
    keys: BTreeMap<String, BTreeSet<usize>>,
    /// Rows by their dated keys without the date.
    stems: BTreeMap<String, BTreeSet<usize>>,
    digest: Digest,
}

/// The bundled table. Decoded anew at each call, in about a millisecond.
///
/// # Errors
/// When the bundled file is damaged, which it is in no build that passes its tests.
pub fn bundled() -> Result<QualityTable, QualityTableError> {
    QualityTable::parse(TABLE)
}

impl QualityTable {
    /// A table that scores nobody.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            dated: String::new(),
            about: String::new(),
            rows: Vec::new(),
            keys: BTreeMap::new(),
            stems: BTreeMap::new(),
            digest: Digest::ZERO,
        }
    }

    /// Reads a table.
    ///
    /// # Errors
    /// [`QualityTableError`], naming the row.
    pub fn parse(json: &[u8]) -> Result<Self, QualityTableError> {
        let file: TableFile = serde_json::from_slice(json)?;
        if !is_date(&file.dated) {
            return Err(wrong(&file.dated, "is not the day of a table"));
        }
        let mut table = Self {
            dated: file.dated,
            about: file.about,
            rows: Vec::new(),
            keys: BTreeMap::new(),
            stems: BTreeMap::new(),
            digest: digest(Domain::Book, json),
        };
        let mut models = BTreeSet::new();
        for row in file.models {
            if !models.insert(row.model.clone()) {
                return Err(wrong(&row.model, "stands twice"));
            }
            table.add(row)?;
        }
        Ok(table)
    }

    fn add(&mut self, row: RowFile) -> Result<(), QualityTableError> {
        let RowFile { model, names, intelligence, coding, agentic } = row;
        if Name::new(&model).is_err() || author_of(&model).is_none() {
            return Err(wrong(&model, "is no 'maker/model'"));
        }
        let mut quality = Quality::default();
        let scores = [intelligence, coding, agentic];
        for (axis, score) in Axis::ALL.into_iter().zip(&scores) {
            let Some(ScoreFile { score, from }) = score else { continue };
            if from.is_empty() {
                return Err(wrong(&model, "has a score without figures"));
            }
            let score =
                tenths(score).ok_or_else(|| wrong(&model, "has a score out of 0 to 100"))?;
            *axis.place(&mut quality) = Some(score);
        }
        if quality.is_unscored() {
            return Err(wrong(&model, "has no score"));
        }
        let index = self.rows.len();
        for key in names.iter().chain([&model]).map(|name| key(name)) {
            if let Some(stem) = undated(&key) {
                self.stems.entry(stem.to_owned()).or_default().insert(index);
            }
            self.keys.entry(key).or_default().insert(index);
        }
        let figures = scores.map(|score| score.map_or_else(Vec::new, |score| score.from));
        self.rows.push(Scored { model, quality, figures });
        Ok(())
    }

    /// The day the figures were gathered, `YYYY-MM-DD`.
    #[must_use]
    pub fn dated(&self) -> &str {
        &self.dated
    }

    /// What the scores are, in words.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The digest of the file.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The models, in the file's order.
    pub fn rows(&self) -> impl Iterator<Item = &Scored> {
        self.rows.iter()
    }

    /// The row of the model an engine serves. A dated name without a row of its own is scored as the undated one, unless
    /// that stands for another date; an undated name as the dated one, if there is only one. Several rows of one name are told apart by their makers, or
    /// not at all.
    #[must_use]
    pub fn of(&self, engine: &str) -> Option<&Scored> {
        let key = key(engine);
        let by_key = |key: &str| self.keys.get(key);
        let found = by_key(&key)
            .or_else(|| by_key(undated(&key)?).filter(|rows| !self.has_dated(rows)))
            .or_else(|| self.stems.get(&key))?;
        let mut rows = found.iter().filter_map(|index| self.rows.get(*index));
        if found.len() == 1 {
            return rows.next();
        }
        let author = author_of(engine)?;
        let mut rows = rows.filter(|row| author_of(&row.model) == Some(author));
        rows.next().filter(|_| rows.next().is_none())
    }

    fn has_dated(&self, rows: &BTreeSet<usize>) -> bool {
        let mut rows = rows.iter().filter_map(|index| self.rows.get(*index));
        rows.any(|row| undated(&key(&row.model)).is_some())
    }

    /// The same book, with the axes an engine's own price does not score filled from the table.
    #[must_use]
    pub fn fill(&self, book: Book) -> Book {
        book.scored(|price| Some(self.of(&price.engine)?.quality))
    }

    /// Who scores an engine of a filled book on an axis; `None`: nobody.
    #[must_use]
    pub fn provenance<'a>(
        &'a self,
        book: &'a Book,
        engine: &str,
        axis: Axis,
    ) -> Option<Provenance<'a>> {
        let price = book.engine(engine)?;
        axis.of(&price.quality)?;
        if book.is_filled(engine, axis) {
            return self.of(engine).map(Provenance::Table);
        }
        Some(Provenance::Price(&price.source))
    }
}

fn wrong(model: &str, problem: &'static str) -> QualityTableError {
    QualityTableError::Row { model: model.to_owned(), problem }
}

#[cfg(test)]
mod tests;
