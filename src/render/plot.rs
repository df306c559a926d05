//! The report as a picture: cost per strategy, and cost by day.
//!
//! It has to be readable in black and white: bars carry their figures, lines their own marks.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use plotters::coord::ranged1d::SegmentValue;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use replay::report::{Report, Row};

type Drawn = Result<(), Box<dyn Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

const WIDTH: u32 = 1100;
const BAR_HEIGHT: u32 = 26;
const DAYS_HEIGHT: u32 = 420;
const MARGIN: u32 = 16;
const LABEL_WIDTH: u32 = 380;
const LEGEND_WIDTH: u32 = 290;
/// Lines in the chart by day: more cannot be told apart.
const LINES: usize = 5;
const INK: RGBColor = RGBColor(33, 37, 41);
const BAR: RGBColor = RGBColor(74, 111, 165);
const LINE_COLOURS: [RGBColor; LINES] = [
    RGBColor(33, 37, 41),
    RGBColor(200, 80, 40),
    RGBColor(40, 110, 180),
    RGBColor(60, 140, 70),
    RGBColor(140, 70, 160),
];

/// Draws a report into an SVG file.
pub(crate) fn draw(report: &Report, path: &Path) -> Drawn {
    let bars =
        u32::try_from(report.all_rows().count()).unwrap_or(u32::MAX).saturating_mul(BAR_HEIGHT);
    let bars = bars.saturating_add(110);
    let root = SVGBackend::new(path, (WIDTH, bars.saturating_add(DAYS_HEIGHT))).into_drawing_area();
    root.fill(&WHITE)?;
    let (strategies, days) = root.split_vertically(bars);
    draw_strategies(report, &strategies)?;
    draw_days(report, &days)?;
    root.present()?;
    Ok(())
}

/// Dollars as a length to draw: the picture is the only place a float is money.
fn dollars(cost: events::cost::Cost) -> f64 {
    cost.known.0 as f64 / 1e12
}

fn whole_dollars(cost: events::cost::Cost) -> String {
    let at_least = if cost.incomplete { "at least " } else { "" };
    format!("{at_least}${}", cost.known.grouped(0))
}

fn draw_strategies(report: &Report, area: &Area<'_>) -> Drawn {
    let rows: Vec<&Row> = report.all_rows().collect();
    let most = rows.iter().map(|row| dollars(row.sums.cost())).fold(0.0, f64::max).max(0.01);
    let mut chart = ChartBuilder::on(area)
        .caption("Cost per strategy, US dollars at list price", ("sans-serif", 20, &INK))
        .margin(MARGIN)
        .x_label_area_size(36)
        .y_label_area_size(LABEL_WIDTH)
        .build_cartesian_2d(0.0..most * 1.18, (0..rows.len()).into_segmented())?;
    let label = |value: &SegmentValue<usize>| match value {
        // Segments count from below; rows are read from above.
        SegmentValue::CenterOf(index) if *index < rows.len() => {
            shortened(&rows[rows.len() - 1 - index].label)
        }
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(rows.len())
        .y_label_formatter(&label)
        .x_label_formatter(&|value| axis_dollars(*value))
        .x_labels(6)
        .label_style(("sans-serif", 14, &INK))
        .axis_style(INK)
        .light_line_style(TRANSPARENT)
        .draw()?;
    let figure = TextStyle::from(("sans-serif", 14).into_font())
        .color(&INK)
        .pos(Pos::new(HPos::Left, VPos::Center));
    for (index, row) in rows.iter().rev().enumerate() {
        let length = dollars(row.sums.cost());
        let corners = [(0.0, SegmentValue::Exact(index)), (length, SegmentValue::Exact(index + 1))];
        let mut bar = Rectangle::new(corners, BAR.filled());
        bar.set_margin(4, 4, 0, 0);
        chart.draw_series([bar])?;
        let at = (length + most * 0.01, SegmentValue::CenterOf(index));
        chart.draw_series([Text::new(whole_dollars(row.sums.cost()), at, figure.clone())])?;
    }
    Ok(())
}

/// Labels longer than their space lose their middle, never an end.
fn shortened(label: &str) -> String {
    const LONGEST: usize = 52;
    let count = label.chars().count();
    if count <= LONGEST {
        return label.to_owned();
    }
    let head: String = label.chars().take(LONGEST / 2).collect();
    let tail: String = label.chars().skip(count - LONGEST / 2 + 1).collect();
    format!("{head}…{tail}")
}

/// The rows drawn by day: the recorded one, and others spread over the range of costs. Rows far
/// above the recorded one would press all others flat.
fn drawn_by_day(report: &Report) -> Vec<&Row> {
    let is_recorded = |row: &&Row| row.strategy.starts_with("recorded");
    let mut rows: Vec<&Row> = report.all_rows().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.sums.cost().known));
    if let Some(recorded) = rows.iter().find(|row| is_recorded(row)) {
        let most = recorded.sums.cost().known.0.saturating_mul(2);
        rows.retain(|row| row.sums.cost().known.0 <= most);
    }
    if rows.len() <= LINES {
        return rows;
    }
    let recorded = rows.iter().position(is_recorded);
    let spread = (0..LINES).map(|step| step * (rows.len() - 1) / (LINES - 1));
    let mut chosen: BTreeSet<usize> = spread.collect();
    if let Some(recorded) = recorded.filter(|recorded| !chosen.contains(recorded)) {
        let nearest = chosen.iter().copied().min_by_key(|index| index.abs_diff(recorded));
        nearest.map(|index| chosen.remove(&index));
        chosen.insert(recorded);
    }
    chosen.into_iter().map(|index| rows[index]).collect()
}

fn draw_days(report: &Report, area: &Area<'_>) -> Drawn {
    let rows = drawn_by_day(report);
    let days: Vec<&str> = rows
        .iter()
        .flat_map(|row| row.days.iter().map(|day| day.day.as_str()))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let most = rows
        .iter()
        .flat_map(|row| row.days.iter().map(|day| dollars(day.cost())))
        .fold(0.0, f64::max)
        .max(0.01);
    let last = days.len().saturating_sub(1).max(1);
    let (plot, legend) = area.split_horizontally(WIDTH - LEGEND_WIDTH);
    let mut chart = ChartBuilder::on(&plot)
        .caption("Cost by day, UTC, US dollars at list price", ("sans-serif", 20, &INK))
        .margin(MARGIN)
        .margin_right(MARGIN * 3)
        .x_label_area_size(36)
        .y_label_area_size(80)
        .build_cartesian_2d(0..last, 0.0..most * 1.05)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(days.len())
        .x_label_formatter(&|index| days.get(*index).map_or_else(String::new, |d| short_day(d)))
        .y_label_formatter(&|value| axis_dollars(*value))
        .y_labels(6)
        .label_style(("sans-serif", 14, &INK))
        .axis_style(INK)
        .light_line_style(TRANSPARENT)
        .draw()?;
    let label = TextStyle::from(("sans-serif", 14).into_font())
        .color(&INK)
        .pos(Pos::new(HPos::Left, VPos::Center));
    for (index, row) in rows.iter().enumerate() {
        let colour = LINE_COLOURS[index % LINES];
        let points: Vec<(usize, f64)> = row
            .days
            .iter()
            .filter_map(|day| {
                Some((days.binary_search(&day.day.as_str()).ok()?, dollars(day.cost())))
            })
            .collect();
        chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
        let marks = points.into_iter().map(|at| EmptyElement::at(at) + mark(index, (0, 0), colour));
        chart.draw_series(marks)?;
        let y = 70 + 44 * i32::try_from(index)?;
        legend.draw(&PathElement::new([(0, y), (36, y)], colour.stroke_width(2)))?;
        legend.draw(&mark(index, (18, y), colour))?;
        for (line, text) in in_lines(&row.label).into_iter().enumerate() {
            let y = y + 16 * i32::try_from(line)?;
            legend.draw(&Text::new(text, (46, y), label.clone()))?;
        }
    }
    Ok(())
}

/// `2026-01-05` as `01-05`: the year stands in no doubt.
fn short_day(day: &str) -> String {
    day.split_once('-').map_or_else(|| day.to_owned(), |(_, rest)| rest.to_owned())
}

/// A label in at most two lines, broken at a space.
fn in_lines(label: &str) -> Vec<String> {
    const LONGEST: usize = 30;
    let label = shortened(label);
    let cut = label.char_indices().nth(LONGEST).map(|(at, _)| at);
    match cut.and_then(|cut| label[..cut].rfind(' ')) {
        Some(space) => vec![label[..space].to_owned(), label[space + 1..].to_owned()],
        None => vec![label],
    }
}

fn axis_dollars(value: f64) -> String {
    let pico = if value >= 10.0 { value.round() * 1e12 } else { value * 1e12 };
    let digits = if value >= 10.0 || value == 0.0 { 0 } else { 2 };
    format!("${}", events::money::Pico(pico as i128).grouped(digits))
}

/// A mark of its own for each line: a dot, a ring, a triangle, a cross, a square.
fn mark<'a>(
    index: usize,
    at: (i32, i32),
    colour: RGBColor,
) -> DynElement<'static, SVGBackend<'a>, (i32, i32)> {
    let (x, y) = at;
    match index % LINES {
        0 => Circle::new(at, 4, colour.filled()).into_dyn(),
        1 => Circle::new(at, 6, colour.stroke_width(2)).into_dyn(),
        2 => TriangleMarker::new(at, 7, colour.filled()).into_dyn(),
        3 => Cross::new(at, 5, colour.stroke_width(2)).into_dyn(),
        _ => Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], colour.filled()).into_dyn(),
    }
}
