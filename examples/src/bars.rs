//! Horizontal bars with their names, as SVG.

use crate::cli::Failure;
use crate::report;
use plotters::prelude::*;
use std::path::Path;

/// Names with their values, from top to bottom.
#[derive(Clone, Debug)]
pub struct Bars {
    /// The title.
    pub title: String,
    /// What the values are.
    pub value: String,
    /// Names and values.
    pub bars: Vec<(String, f64)>,
}

const WIDTH: u32 = 720;
const BAR: u32 = 30;
const COLOUR: RGBColor = RGBColor(20, 82, 168);

/// Writes bars as an SVG file.
///
/// # Errors
/// [`Failure::File`] where it cannot be written.
pub fn save(path: &Path, bars: &Bars) -> Result<(), Failure> {
    let text = svg(bars).map_err(|error| Failure::file(path, error))?;
    report::write(path, text.as_bytes())
}

fn svg(bars: &Bars) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    let count = bars.bars.len();
    {
        let size = (WIDTH, 110 + BAR * count as u32);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        let most = bars.bars.iter().map(|bar| bar.1).fold(f64::MIN_POSITIVE, f64::max);
        let mut chart = ChartBuilder::on(&area)
            .caption(&bars.title, ("sans-serif", 20))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(190)
            .build_cartesian_2d(0.0..most * 1.15, (0..count).into_segmented())?;
        let name = |place: &SegmentValue<usize>| match place {
            SegmentValue::CenterOf(index) if *index < count => bars.bars[count - 1 - index].0.clone(),
            _ => String::new(),
        };
        chart
            .configure_mesh()
            .disable_y_mesh()
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .x_desc(&bars.value)
            .y_labels(count)
            .y_label_formatter(&name)
            .x_label_formatter(&|value| format!("{value:.0}"))
            .label_style(("sans-serif", 14))
            .axis_desc_style(("sans-serif", 16))
            .draw()?;
        for (index, (_, value)) in bars.bars.iter().rev().enumerate() {
            let corners = [(0.0, SegmentValue::Exact(index)), (*value, SegmentValue::Exact(index + 1))];
            let mut bar = Rectangle::new(corners, COLOUR.filled());
            bar.set_margin(5, 5, 0, 0);
            chart.draw_series([bar])?;
            let place = (*value, SegmentValue::CenterOf(index));
            let label = Text::new(format!("{value:.0}"), (5, -6), ("sans-serif", 13));
            chart.draw_series([EmptyElement::at(place) + label])?;
        }
        area.present()?;
    }
    Ok(text)
}
