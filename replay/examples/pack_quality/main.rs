//! Makes the table of scores ferry bundles from published figures.
//!
//! `cargo run -p replay --example pack_quality -- models_dev_benchmarks.json llmrouterbench_model_by_dataset.csv >
//! replay/book/quality.json`
//!
//! Benchmarks differ in how hard they are and how far they spread, so a figure by itself says little. Here each axis has
//! one scale on which every model has an ability and every benchmark a difficulty and a slope:
//! `log-odds(score) = slope x ability + difficulty`. They are fitted by turns (alternating least squares) over the models
//! that benchmarks share. Coding is fitted first, to mean 0 and deviation 1. The other axes have too few figures in
//! common to stand by themselves: their benchmarks are equated to the coding scale through the models that have both
//! (a pull of [`PULL`] towards the coding ability while fitting), and then the abilities are read from their own figures
//! alone. An ability is shown as `100 / (1 + exp(-(a x ability + b)))`, with a and b such that [`ANCHOR`] has 80 and the
//! median of the coding axis 45: so there is no score below 0 or above 100, and nothing is clamped.
//!
//! Of several figures of one model and benchmark (efforts, tools, who measured) the median counts: the best is not what
//! an ordinary call gets. A figure that differs from a model's others counts less ([`STRAY`]). Prices play no part.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "a tool reads files, fits with floats, and says what it made"
)]

mod tables;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Write as _, stdout};

use projections::quality::Axis::{self, Coding};
use replay::quality_table::Figure;
use serde::Deserialize;

use self::tables::{BENCHMARKS, NAMES, ORDER, RENAMED, ROUTER_BENCH_SETS, SET_ASIDE};

const DATED: &str = "2026-07-02";
const ABOUT: &str = "Scores of 0 to 100 made from public figures by replay/examples/pack_quality, which says how. A prior: many figures are their makers' own, and tools and efforts differ. Sources: models.dev (MIT) gathers most of them, each with where it was published; LLMRouterBench (arXiv 2601.07206), tables 9 and 10.";
const ROUTER_BENCH: &str = "https://arxiv.org/abs/2601.07206";

/// Who has the score 80: figures of three parties agree on it, and no model somebody else measured is better.
const ANCHOR: (&str, f64) = ("anthropic/claude-opus-4-7", 0.80);
/// The score of the median model of the coding axis.
const MEDIAN: f64 = 0.45;
/// How much a coding ability counts while another axis is fitted; a figure counts its slope squared, about 1.
const PULL: f64 = 0.3;
/// Keeps abilities of few figures from running away while coding is fitted.
const SHRINK: f64 = 0.05;
/// What is expected of a slope nobody knows, and how many models' worth that counts.
const SLOPE: (f64, f64) = (0.9, 4.0);
/// The least slope there is.
const SLOPE_MIN: f64 = 0.3;
/// A figure this far from its model's ability, in deviations, counts in full; one further off less.
const STRAY: f64 = 0.6;
/// A benchmark has to have so many models.
const MODELS_MIN: usize = 3;
/// The slopes squared of a model's benchmarks have to reach this: SciCode by itself tells too little.
const TOLD_MIN: f64 = 0.5;
const ROUNDS: usize = 500;
/// Abilities this close, in deviations, are the same to figures like these.
const NEAR: f64 = 0.1;

#[derive(Deserialize)]
struct Published {
    name: String,
    score: f64,
    #[serde(default)]
    dataset: String,
    harness: Option<String>,
    variant: Option<String>,
    source: String,
    date: Option<String>,
}

/// Figures by model and benchmark.
type Figures = BTreeMap<String, BTreeMap<&'static str, Vec<Figure>>>;
/// Abilities by model.
type Abilities = BTreeMap<String, f64>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args().skip(1);
    let (Some(published), Some(router_bench)) = (paths.next(), paths.next()) else {
        return Err("name models.dev's benchmarks and LLMRouterBench's table".into());
    };
    let mut axes = gathered(&std::fs::read(published)?, &std::fs::read(router_bench)?)?;
    let mut coding = Fit::of(axes.remove(&Coding).unwrap_or_default(), None);
    let shown = Shown::of(&coding.abilities)?;
    coding.drop_untold();
    let mut fits: BTreeMap<Axis, Fit> = axes
        .into_iter()
        .map(|(axis, figures)| (axis, Fit::of(figures, Some(&coding.abilities))))
        .collect();
    fits.insert(Coding, coding);
    fits.values_mut().for_each(Fit::drop_untold);
    for (axis, fit) in &fits {
        eprintln!("{axis}: {} models", fit.abilities.len());
        for (benchmark, line) in &fit.lines {
            eprintln!("  {benchmark}: slope {:.2}, difficulty {:.2}", line.slope, line.difficulty);
        }
        check_order(*axis, &fit.abilities)?;
    }
    Ok(stdout().write_all(written(&fits, &shown)?.as_bytes())?)
}

fn renamed(model: &str) -> &str {
    RENAMED.iter().find(|(from, _)| *from == model).map_or(model, |(_, to)| to)
}

/// A maker stands with its slash, a model in full: `claude-sonnet-4` is not `claude-sonnet-4-5`.
fn is_set_aside(of: &str, at: &str, model: &str, benchmark: &str) -> bool {
    let is_of = if of.ends_with('/') { model.starts_with(of) } else { model == of };
    is_of && (at.is_empty() || at == benchmark)
}

fn gathered(
    published: &[u8],
    router_bench: &[u8],
) -> Result<BTreeMap<Axis, Figures>, Box<dyn Error>> {
    let mut axes: BTreeMap<Axis, Figures> = BTreeMap::new();
    let mut take = |axis, model: &str, benchmark: &'static str, figure: Figure| {
        let model = renamed(model);
        if SET_ASIDE.iter().any(|(of, at, _)| is_set_aside(of, at, model, benchmark)) {
            return;
        }
        let figures: &mut Figures = axes.entry(axis).or_default();
        let figures = figures.entry(model.to_owned()).or_default().entry(benchmark).or_default();
        // Two names of one model repeat its figures.
        if !figures.contains(&figure) {
            figures.push(figure);
        }
    };
    let published: BTreeMap<String, Vec<Published>> = serde_json::from_slice(published)?;
    for (model, all) in &published {
        // Without Terminal-Bench Hard beside it, the index is an older one, counted otherwise.
        let is_new_index = all.iter().any(|other| other.name == "Terminal-Bench Hard");
        for Published { name, score, dataset, harness, variant, source, date } in all {
            let fits = |text: &str| text.is_empty() || dataset == text || source.contains(text);
            let known = BENCHMARKS.iter().find(|(of, text, ..)| of == name && fits(text));
            let is_counted = name != "Artificial Analysis Coding Index" || is_new_index;
            if let Some((.., label, axis)) = known.filter(|_| is_counted) {
                let parts: Vec<&str> =
                    [harness, variant].into_iter().flatten().map(String::as_str).collect();
                let setting = (!parts.is_empty()).then(|| parts.join(", "));
                let (score, source) = (score.to_string(), source.clone());
                let figure =
                    Figure { benchmark: name.clone(), setting, score, source, date: date.clone() };
                take(*axis, model, label, figure);
            }
        }
    }
    for row in csv::Reader::from_reader(router_bench).deserialize() {
        let (model, set, _, score, _): (String, String, u32, Option<f64>, Option<f64>) = row?;
        let known = ROUTER_BENCH_SETS.iter().find(|(of, ..)| *of == set);
        if let (Some((_, label, axis)), Some(score)) = (known, score) {
            let (score, source) = (score.to_string(), ROUTER_BENCH.to_owned());
            let date = Some("2026-01".to_owned());
            take(
                *axis,
                &model,
                label,
                Figure { benchmark: set, setting: None, score, source, date },
            );
        }
    }
    for figures in axes.values_mut() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for benchmark in figures.values().flat_map(BTreeMap::keys) {
            *counts.entry(benchmark).or_default() += 1;
        }
        figures
            .values_mut()
            .for_each(|of| of.retain(|benchmark, _| counts[benchmark] >= MODELS_MIN));
        figures.retain(|_, of| !of.is_empty());
    }
    Ok(axes)
}

#[derive(Clone, Copy)]
struct Line {
    slope: f64,
    difficulty: f64,
}

struct Fit {
    figures: Figures,
    /// Log-odds by model and benchmark, with how much they count.
    odds: BTreeMap<String, BTreeMap<&'static str, (f64, f64)>>,
    lines: BTreeMap<&'static str, Line>,
    abilities: Abilities,
}

impl Fit {
    fn of(figures: Figures, coding: Option<&Abilities>) -> Self {
        let odds_of = |figures: &Vec<Figure>| {
            let scores = figures.iter().filter_map(|figure| figure.score.parse::<f64>().ok());
            let share = median(scores).clamp(1.0, 99.0) / 100.0;
            ((share / (1.0 - share)).ln(), 1.0)
        };
        let of = |(model, of): (&String, &BTreeMap<&'static str, Vec<Figure>>)| {
            let odds =
                of.iter().map(|(benchmark, figures)| (*benchmark, odds_of(figures))).collect();
            (model.clone(), odds)
        };
        let odds: BTreeMap<String, BTreeMap<_, _>> = figures.iter().map(of).collect();
        let start = Line { slope: 1.0, difficulty: 0.0 };
        let lines = odds.values().flat_map(BTreeMap::keys).map(|benchmark| (*benchmark, start));
        let mut fit = Self { figures, lines: lines.collect(), odds, abilities: Abilities::new() };
        for round in 0..ROUNDS {
            fit.abilities = match coding {
                Some(coding) if round == 0 => coding.clone(),
                _ => fit.read(coding),
            };
            if coding.is_none() {
                standardise(&mut fit.abilities);
            }
            fit.draw_lines();
            fit.weigh();
        }
        if coding.is_some() {
            fit.abilities = fit.read(Some(&Abilities::new()));
        }
        fit
    }

    /// Every model's ability, by its figures; pulled to the one on the coding axis, or to nothing.
    fn read(&self, coding: Option<&Abilities>) -> Abilities {
        let of = |(model, odds): (&String, &BTreeMap<&'static str, (f64, f64)>)| {
            let (pulled, pull) = match coding {
                Some(coding) => coding.get(model).map_or((0.0, 0.0), |ability| (*ability, PULL)),
                None => (0.0, SHRINK),
            };
            let (mut sum, mut weights) = (pulled * pull, pull);
            for (benchmark, (odds, weight)) in odds {
                let Line { slope, difficulty } = self.lines[benchmark];
                sum += weight * slope * (odds - difficulty);
                weights += weight * slope * slope;
            }
            (model.clone(), sum / weights)
        };
        self.odds.iter().map(of).collect()
    }

    fn draw_lines(&mut self) {
        for (benchmark, line) in &mut self.lines {
            let point = |(model, odds): (&String, &BTreeMap<&'static str, (f64, f64)>)| {
                let (odds, weight) = odds.get(benchmark)?;
                Some((*self.abilities.get(model)?, *odds, *weight))
            };
            let points: Vec<(f64, f64, f64)> = self.odds.iter().filter_map(point).collect();
            let sum = |of: &dyn Fn(f64, f64) -> f64| {
                points.iter().map(|(x, y, w)| w * of(*x, *y)).sum::<f64>()
            };
            let count = sum(&|_, _| 1.0);
            if count == 0.0 {
                continue;
            }
            let (x, y) = (sum(&|x, _| x) / count, sum(&|_, y| y) / count);
            let (spread, shared) = (sum(&|a, _| (a - x).powi(2)), sum(&|a, b| (a - x) * (b - y)));
            let slope = (shared + SLOPE.1 * SLOPE.0) / (spread + SLOPE.1);
            line.slope = slope.max(SLOPE_MIN);
            line.difficulty = y - line.slope * x;
        }
    }

    fn weigh(&mut self) {
        for (model, odds) in self.odds.iter_mut().filter(|(_, odds)| odds.len() > 1) {
            let Some(ability) = self.abilities.get(model) else { continue };
            for (benchmark, (odds, weight)) in odds {
                let Line { slope, difficulty } = self.lines[benchmark];
                let off = ((*odds - difficulty) / slope - ability).abs();
                *weight = if off < STRAY { 1.0 } else { STRAY / off };
            }
        }
    }

    /// Takes out the models of whom too little is told.
    fn drop_untold(&mut self) {
        let told = |model: &String| {
            let of = self.odds.get(model).into_iter().flat_map(BTreeMap::keys);
            of.map(|benchmark| self.lines[benchmark].slope.powi(2)).sum::<f64>()
        };
        let untold: Vec<String> =
            self.abilities.keys().filter(|model| told(model) < TOLD_MIN).cloned().collect();
        self.abilities.retain(|model, _| !untold.contains(model));
    }
}

fn standardise(abilities: &mut Abilities) {
    let count: f64 = abilities.values().map(|_| 1.0).sum();
    let mean = abilities.values().sum::<f64>() / count;
    let spread = abilities.values().map(|ability| (ability - mean).powi(2)).sum::<f64>() / count;
    abilities.values_mut().for_each(|ability| *ability = (*ability - mean) / spread.sqrt());
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    }
}

/// From abilities to scores.
struct Shown(Line);

impl Shown {
    fn of(coding: &Abilities) -> Result<Self, Box<dyn Error>> {
        let odds = |share: f64| (share / (1.0 - share)).ln();
        let anchor = coding.get(ANCHOR.0).ok_or("the anchor has no figures")?;
        let middle = median(coding.values().copied());
        let slope = (odds(ANCHOR.1) - odds(MEDIAN)) / (anchor - middle);
        Ok(Self(Line { slope, difficulty: odds(MEDIAN) - slope * middle }))
    }

    fn score(&self, ability: f64) -> String {
        format!("{:.1}", 100.0 / (1.0 + (-(self.0.slope * ability + self.0.difficulty)).exp()))
    }
}

fn check_order(axis: Axis, abilities: &Abilities) -> Result<(), Box<dyn Error>> {
    for family in ORDER {
        let known: Vec<(&&str, &f64)> =
            family.iter().filter_map(|model| Some((model, abilities.get(*model)?))).collect();
        if let Some(pair) = known.windows(2).find(|pair| pair[0].1 + NEAR < *pair[1].1) {
            return Err(format!("{axis}: {} comes out below {}", pair[0].0, pair[1].0).into());
        }
    }
    Ok(())
}

fn written(fits: &BTreeMap<Axis, Fit>, shown: &Shown) -> Result<String, serde_json::Error> {
    let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (axis, fit) in fits {
        for (model, ability) in &fit.abilities {
            let figures = fit.figures[model].values().flatten();
            let figures: Vec<String> =
                figures.map(serde_json::to_string).collect::<Result<_, _>>()?;
            let score = shown.score(*ability);
            rows.entry(model).or_default().push(format!(
                "\"{axis}\": {{ \"score\": \"{score}\", \"from\": [\n  {} ] }}",
                figures.join(",\n  ")
            ));
        }
    }
    let mut lines = Vec::new();
    for (model, scores) in rows {
        let names = NAMES.iter().find(|(of, _)| *of == model).map(|(_, names)| names);
        let names = names
            .map(|names| serde_json::to_string(names).map(|names| format!(", \"names\": {names}")));
        let names = names.transpose()?.unwrap_or_default();
        lines.push(format!("{{ \"model\": \"{model}\"{names},\n {} }}", scores.join(",\n ")));
    }
    let about = serde_json::to_string(ABOUT)?;
    Ok(format!(
        "{{ \"dated\": \"{DATED}\",\n\"about\": {about},\n\"models\": [\n{} ] }}\n",
        lines.join(",\n")
    ))
}
