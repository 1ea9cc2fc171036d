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
        let rows = (0..count.max(1) - 1).into_segmented();
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        let most = bars.bars.iter().map(|bar| bar.1).fold(f64::MIN_POSITIVE, f64::max);
        let mut chart = ChartBuilder::on(&area)
            .caption(&bars.title, ("sans-serif", 20))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(190)
            .build_cartesian_2d(0.0..most * 1.15, rows)?;
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
            let top = if index + 1 < count { SegmentValue::Exact(index + 1) } else { SegmentValue::Last };
            let mut bar = Rectangle::new([(0.0, SegmentValue::Exact(index)), (*value, top)], COLOUR.filled());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_bar() {
        let (title, value) = Default::default();
        let bars = ["a", "b", "c"].map(|name| (name.to_string(), 1.0)).to_vec();
        let text = svg(&Bars { title, value, bars }).unwrap();
        // The ground and three bars, which share the whole height: with a row more they would be nearer.
        let number = |line: &str, name: &str| -> i32 {
            line.split_once(&format!(" {name}=\"")).unwrap().1.split('"').next().unwrap().parse().unwrap()
        };
        let rows: Vec<i32> =
            text.lines().filter(|line| line.starts_with("<rect")).map(|line| number(line, "y")).collect();
        assert_eq!(rows.len(), 4);
        let apart = [rows[1] - rows[2], rows[2] - rows[3]];
        assert!(apart.iter().all(|&pixels| pixels >= BAR as i32), "{rows:?}");
    }
}
