//! Curves on a logarithmic axis, panels side by side, each with its legend on its right, as SVG.

use crate::cli::Failure;
use crate::report;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;
use std::path::Path;

/// A curve. Points whose x is not positive are left out.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What it shows, for the legend.
    pub label: String,
    /// (x, y).
    pub points: Vec<(f64, f64)>,
}

/// A panel of curves over a logarithmic x.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The title.
    pub title: String,
    /// What x is.
    pub x: String,
    /// What y is.
    pub y: String,
    /// For a logarithmic y: where its axis begins. Values below are drawn there.
    pub log_from: Option<f64>,
    /// A level with its meaning.
    pub level: Option<(f64, String)>,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// Curves after these are dashed.
const COLOURS: [RGBColor; 12] = [
    RGBColor(20, 82, 168),
    RGBColor(208, 92, 20),
    RGBColor(40, 130, 70),
    RGBColor(140, 60, 140),
    RGBColor(180, 30, 40),
    RGBColor(20, 150, 170),
    RGBColor(120, 90, 40),
    RGBColor(220, 120, 180),
    RGBColor(110, 110, 110),
    RGBColor(150, 170, 20),
    RGBColor(90, 90, 220),
    RGBColor(0, 0, 0),
];
/// Curves of so few points show them, where no curve of their panel has more.
const MARKED: usize = 12;
const LEVEL: RGBColor = RGBColor(120, 120, 120);
/// Of a panel without its legend. Panels stand one below the other: a picture may be shown at half its size.
const SIZE: (u32, u32) = (760, 520);
/// Of a letter of the legend, on average, and of a line of it.
const LETTER: (u32, u32) = (11, 30);
/// Sizes of a title, of the names of the axes, of all else.
const TITLE: u32 = 28;
const NAME: u32 = 24;
const LABEL: u32 = 22;
/// Of the line that stands before a name in the legend.
const KEY: i32 = 24;

type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Writes panels as an SVG file.
///
/// # Errors
/// [`Failure::File`] where it cannot be written, or a panel has no point to draw.
pub fn save(path: &Path, panels: &[Panel]) -> Result<(), Failure> {
    let text = svg(panels).map_err(|error| Failure::file(path, error))?;
    report::write(path, text.as_bytes())
}

fn svg(panels: &[Panel]) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    {
        let width = panels.iter().map(|panel| SIZE.0 + legend_width(panel)).max().unwrap_or(SIZE.0);
        let height = SIZE.1 * panels.len() as u32;
        let mut rest = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        rest.fill(&WHITE)?;
        for panel in panels {
            let (here, below) = rest.split_vertically(SIZE.1);
            let (chart, names) = here.split_horizontally(SIZE.0);
            draw(panel, &chart)?;
            legend(panel, &names)?;
            rest = below;
        }
        rest.present()?;
    }
    Ok(text)
}

/// The names in the legend.
fn names(panel: &Panel) -> impl Iterator<Item = &String> {
    panel.curves.iter().map(|curve| &curve.label).chain(panel.level.as_ref().map(|level| &level.1))
}

/// Pixels that the legend needs.
fn legend_width(panel: &Panel) -> u32 {
    let longest = names(panel).map(|name| name.chars().count() as u32).max().unwrap_or(0);
    KEY as u32 + 20 + LETTER.0 * longest
}

/// The names of the curves, one below the other, and that of the level.
fn legend(panel: &Panel, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn {
    let middle = ("sans-serif", LABEL).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
    for (index, name) in names(panel).enumerate() {
        let y = 52 + LETTER.1 as i32 * index as i32;
        let (colour, dashed) = if index < panel.curves.len() { look(index) } else { (LEVEL, true) };
        let parts = if dashed { vec![(0, 6), (9, 15), (18, KEY)] } else { vec![(0, KEY)] };
        for (from, to) in parts {
            area.draw(&PathElement::new(vec![(from, y), (to, y)], colour.stroke_width(2)))?;
        }
        area.draw(&Text::new(name.clone(), (KEY + 8, y), middle.clone()))?;
    }
    Ok(())
}

/// The colour of a curve, and whether it is dashed.
fn look(index: usize) -> (RGBColor, bool) {
    (COLOURS[index % COLOURS.len()], index >= COLOURS.len())
}

fn draw(panel: &Panel, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points).filter(|(x, _)| *x > 0.0);
    let (left, right) = limits(points().map(|p| p.0)).ok_or("no point to draw")?;
    let level = panel.level.iter().map(|(level, _)| *level);
    let (bottom, top) = limits(points().map(|p| p.1).chain(level)).ok_or("no point to draw")?;
    let x = left..right.max(left * 1.001);
    match panel.log_from {
        Some(from) => {
            let y = from..top.max(from) * 1.5;
            draw_on(panel, area, x, y.clone().log_scale().with_key_points(ticks(&y, 0.07)))
        }
        None => {
            let space = 0.06 * (top - bottom).max(1e-3);
            draw_on(panel, area, x, bottom - space..top + space)
        }
    }
}

fn draw_on<Y>(
    panel: &Panel,
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    x: Range<f64>,
    y: impl plotters::coord::ranged1d::AsRangedCoord<Value = f64, CoordDescType = Y>,
) -> Drawn
where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", TITLE))
        .margin(14)
        .margin_right(44)
        .x_label_area_size(64)
        .y_label_area_size(100)
        .build_cartesian_2d(x.clone().log_scale().with_key_points(ticks(&x, 0.12)), y)?;
    chart
        .configure_mesh()
        .light_line_style(RGBColor(240, 240, 240))
        .max_light_lines(2)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_desc(&panel.x)
        .y_desc(&panel.y)
        .x_label_formatter(&|value| plain(*value))
        .y_label_formatter(&|value| plain(*value))
        .label_style(("sans-serif", LABEL))
        .axis_desc_style(("sans-serif", NAME))
        .draw()?;
    let marked = panel.curves.iter().all(|curve| curve.points.len() <= MARKED);
    for (index, curve) in panel.curves.iter().enumerate() {
        let (colour, dashed) = look(index);
        let shown = curve.points.iter().filter(|(x, _)| *x > 0.0);
        let shown = shown.map(|&(x, y)| (x, panel.log_from.map_or(y, |from| y.max(from))));
        if marked {
            chart.draw_series(shown.clone().map(|point| Circle::new(point, 4, colour.filled())))?;
        }
        if dashed {
            let points: Vec<(f64, f64)> = shown.collect();
            chart.draw_series(DashedLineSeries::new(points, 7, 4, colour.stroke_width(2)))?;
        } else {
            chart.draw_series(LineSeries::new(shown, colour.stroke_width(2)))?;
        }
    }
    if let Some((level, _)) = &panel.level {
        let line = DashedLineSeries::new([(x.start, *level), (x.end, *level)], 6, 4, LEVEL.stroke_width(1));
        chart.draw_series(line)?;
    }
    Ok(())
}

/// Round numbers for a logarithmic axis, no two of them nearer than this share of it.
fn ticks(range: &Range<f64>, apart: f64) -> Vec<f64> {
    let (from, to) = (range.start, range.end);
    let decades = (to / from).log10();
    let far = |gap: f64| gap >= apart * decades;
    let every = (1..).find(|&every| far(f64::from(every))).unwrap_or(1);
    let digits: &[i32] = match () {
        () if far((10f64 / 9.0).log10()) => &[1, 2, 3, 4, 5, 6, 7, 8, 9],
        () if far(2f64.log10()) => &[1, 2, 5],
        () => &[1],
    };
    let powers = (from.log10().floor() as i32..=to.log10().ceil() as i32).filter(|power| power % every == 0);
    let all = powers.flat_map(|power| digits.iter().map(move |&digit| f64::from(digit) * 10f64.powi(power)));
    let ticks: Vec<f64> = all.filter(|tick| (from * (1.0 - 1e-9)..=to * (1.0 + 1e-9)).contains(tick)).collect();
    if ticks.len() > 1 { ticks } else { even(range) }
}

/// Round numbers at equal distances, for an axis that holds no two powers of ten, nor simple multiples.
fn even(range: &Range<f64>) -> Vec<f64> {
    let least = (range.end - range.start) / 4.0;
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0].map(|digit| digit * power).into_iter().find(|&step| step >= least);
    let step = step.unwrap_or(10.0 * power);
    let (first, last) = ((range.start / step).ceil() as i64, (range.end / step).floor() as i64);
    (first..=last).map(|index| index as f64 * step).collect()
}

/// A tick without superfluous digits.
fn plain(value: f64) -> String {
    let short = |digits: &str| digits.trim_end_matches('0').trim_end_matches('.').to_string();
    if value != 0.0 && (value.abs() < 1e-3 || value.abs() >= 1e6) {
        let text = format!("{value:.3e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{power}", short(digits))
    } else {
        grouped(&short(&format!("{value:.4}")))
    }
}

/// A number with a comma before every three digits.
#[must_use]
pub fn grouped(number: &str) -> String {
    let whole = number.find('.').unwrap_or(number.len());
    let first = usize::from(number.starts_with('-'));
    let comma = |index: &usize| {
        whole - first > 3 && *index > first && *index < whole && (whole - index).is_multiple_of(3)
    };
    number
        .char_indices()
        .flat_map(|(index, digit)| comma(&index).then_some(',').into_iter().chain([digit]))
        .collect()
}

fn limits(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |limits, value| {
        let (low, high) = limits.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(curves: usize, points: usize) -> Panel {
        let points: Vec<(f64, f64)> = (1..=points).map(|x| (x as f64, x as f64)).collect();
        let curve = |index| Curve { label: format!("curve {index}"), points: points.clone() };
        let (title, x, y) = Default::default();
        Panel { title, x, y, log_from: None, level: None, curves: (0..curves).map(curve).collect() }
    }

    /// The places of what a line of an SVG file shows, each as (x, y).
    fn places(line: &str) -> Vec<(f64, f64)> {
        let value =
            |name: &str| line.split_once(&format!(" {name}=\"")).map(|rest| rest.1.split('"').next().unwrap());
        let pair = |text: &str| {
            let (x, y) = text.split_once(',').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        };
        value("points").map_or(vec![], |points| points.split_whitespace().map(pair).collect())
    }

    #[test]
    fn a_legend_covers_no_curve() {
        let text = svg(&[panel(13, 20), panel(1, 20)]).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("stroke-width=\"2\"")).collect();
        let at = text.find("curve 12").unwrap();
        let x: f64 = text[..at].rsplit_once(" x=\"").unwrap().1.split('"').next().unwrap().parse().unwrap();
        // Keys end before their names; of what begins left of them nothing reaches the legend.
        let edge = x - f64::from(KEY) - 8.0;
        assert!(lines.len() > 13 && edge >= f64::from(SIZE.0));
        for line in lines {
            let places = places(line);
            let all = |inside: &dyn Fn(f64) -> bool| places.iter().all(|&(x, _)| inside(x));
            assert!(all(&|x| x < edge) || all(&|x| x >= edge), "{line}");
        }
    }

    #[test]
    fn thirteen_curves_look_different() {
        let looks: std::collections::HashSet<String> =
            (0..24).map(|index| format!("{:?}", look(index))).collect();
        assert_eq!(looks.len(), 24);
        // The first colour again, in pieces.
        let pieces = |curves| svg(&[panel(curves, 20)]).unwrap().matches("stroke=\"#1452A8\"").count();
        assert_eq!(pieces(12), 2);
        assert!(pieces(13) > 12);
    }

    #[test]
    fn points_are_marked_on_all_curves_or_none() {
        let circles = |panel: Panel| svg(&[panel]).unwrap().matches("<circle").count();
        assert_eq!(circles(panel(2, 12)), 24);
        assert_eq!(
            circles(Panel { curves: [panel(1, 12).curves, panel(1, 13).curves].concat(), ..panel(1, 1) }),
            0
        );
    }

    #[test]
    fn ticks_are_round_and_apart() {
        assert_eq!(ticks(&(10.0..200.0), 0.12), [10.0, 20.0, 50.0, 100.0, 200.0]);
        assert_eq!(ticks(&(1e4..2e4), 0.12), [1e4, 2e4]);
        assert_eq!(ticks(&(0.006..1.5), 0.12), [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]);
        assert_eq!(ticks(&(1.0..1e5), 0.12), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
        assert_eq!(ticks(&(1.0..1e12), 0.12), [1.0, 100.0, 1e4, 1e6, 1e8, 1e10, 1e12]);
        assert_eq!(ticks(&(4810.0..4890.0), 0.12), [4820.0, 4840.0, 4860.0, 4880.0]);
        assert_eq!([1.5e6, 3e-5, 20.0, 0.25, 0.0].map(plain), ["1.5e6", "3e-5", "20", "0.25", "0"]);
        assert_eq!([1234.5, 12345.5, -123456.0].map(plain), ["1,234.5", "12,345.5", "-123,456"]);
    }
}
