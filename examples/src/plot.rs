//! Curves on a logarithmic axis, panels side by side, as SVG.

use crate::cli::Failure;
use crate::report;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;
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
/// Curves of so few points show them.
const MARKED: usize = 12;
const LEVEL: RGBColor = RGBColor(120, 120, 120);
const SIZE: (u32, u32) = (620, 440);

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
        let area =
            SVGBackend::with_string(&mut text, (SIZE.0 * panels.len() as u32, SIZE.1)).into_drawing_area();
        area.fill(&WHITE)?;
        for (panel, area) in panels.iter().zip(area.split_evenly((1, panels.len()))) {
            draw(panel, &area)?;
        }
        area.present()?;
    }
    Ok(text)
}

fn draw(panel: &Panel, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points).filter(|(x, _)| *x > 0.0);
    let (left, right) = limits(points().map(|p| p.0)).ok_or("no point to draw")?;
    let level = panel.level.iter().map(|(level, _)| *level);
    let (bottom, top) = limits(points().map(|p| p.1).chain(level)).ok_or("no point to draw")?;
    let x = left..right.max(left * 1.001);
    match panel.log_from {
        Some(from) => draw_on(panel, area, x, (from..top.max(from) * 1.5).log_scale()),
        None => {
            let space = 0.06 * (top - bottom).max(1e-3);
            draw_on(panel, area, x, bottom - space..top + space)
        }
    }
}

fn draw_on<Y>(
    panel: &Panel,
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    x: std::ops::Range<f64>,
    y: impl plotters::coord::ranged1d::AsRangedCoord<Value = f64, CoordDescType = Y>,
) -> Drawn
where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 20))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(x.clone().log_scale(), y)?;
    chart
        .configure_mesh()
        .light_line_style(RGBColor(240, 240, 240))
        .max_light_lines(2)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_desc(&panel.x)
        .y_desc(&panel.y)
        .x_label_formatter(&|value| plain(*value))
        .y_label_formatter(&|value| plain(*value))
        .label_style(("sans-serif", 14))
        .axis_desc_style(("sans-serif", 16))
        .draw()?;
    for (curve, colour) in panel.curves.iter().zip(COLOURS.iter().cycle()) {
        let shown = curve.points.iter().filter(|(x, _)| *x > 0.0);
        let shown = shown.map(|&(x, y)| (x, panel.log_from.map_or(y, |from| y.max(from))));
        if curve.points.len() <= MARKED {
            chart.draw_series(shown.clone().map(|point| Circle::new(point, 4, colour.filled())))?;
        }
        let line = chart.draw_series(LineSeries::new(shown, colour.stroke_width(2)))?;
        line.label(&curve.label).legend(move |(x, y)| key(x, y, colour));
    }
    if let Some((level, meaning)) = &panel.level {
        let line = DashedLineSeries::new([(x.start, *level), (x.end, *level)], 6, 4, LEVEL.stroke_width(1));
        chart.draw_series(line)?.label(meaning).legend(|(x, y)| key(x, y, &LEVEL));
    }
    chart
        .configure_series_labels()
        .position(if panel.log_from.is_some() {
            SeriesLabelPosition::LowerLeft
        } else {
            SeriesLabelPosition::UpperRight
        })
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(200, 200, 200))
        .label_font(("sans-serif", 14))
        .draw()?;
    Ok(())
}

fn key(x: i32, y: i32, colour: &RGBColor) -> PathElement<(i32, i32)> {
    PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(2))
}

/// A tick without superfluous digits.
fn plain(value: f64) -> String {
    if value != 0.0 && (value.abs() < 1e-3 || value.abs() >= 1e6) {
        format!("{value:.0e}")
    } else {
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    }
}

fn limits(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |limits, value| {
        let (low, high) = limits.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}
