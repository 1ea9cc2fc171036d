//! Values over a grid of two parameters as coloured squares with a marked point, panels side by side, as SVG.

use crate::cli::Failure;
use crate::{plot, report};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

/// A panel.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The title.
    pub title: String,
    /// What the columns are.
    pub x: String,
    /// What the rows are.
    pub y: String,
    /// The columns' parameter, ascending and positive: a logarithmic axis.
    pub columns: Vec<f64>,
    /// The rows' parameter, ascending: the first row is at the bottom.
    pub rows: Vec<f64>,
    /// The values, row by row.
    pub values: Vec<Vec<f64>>,
    /// A point (x, y); outside the grid it is drawn at its edge.
    pub mark: (f64, f64),
}

const CELL: (i32, i32) = (74, 48);
const LEFT: i32 = 96;
const TOP: i32 = 56;
const RIGHT: i32 = 28;
const BOTTOM: i32 = 84;
/// Panels beside one another. A picture may be shown at half its size.
const COLUMNS: usize = 2;
/// Sizes of a title, of the names of the axes, of all else.
const TITLE: i32 = 26;
const NAME: i32 = 24;
const LABEL: i32 = 22;
const MARK: RGBColor = RGBColor(208, 60, 20);

type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Writes panels as an SVG file.
///
/// # Errors
/// [`Failure::File`] where it cannot be written.
pub fn save(path: &Path, panels: &[Panel]) -> Result<(), Failure> {
    let text = svg(panels).map_err(|error| Failure::file(path, error))?;
    report::write(path, text.as_bytes())
}

fn width(panel: &Panel) -> i32 {
    LEFT + panel.columns.len() as i32 * CELL.0 + RIGHT
}

fn svg(panels: &[Panel]) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    {
        let rows = panels.iter().map(|panel| panel.rows.len()).max().unwrap_or(0) as i32;
        let (wide, high) = (panels.iter().map(width).max().unwrap_or(0), TOP + rows * CELL.1 + BOTTOM);
        let (columns, lines) = (panels.len().min(COLUMNS), panels.len().div_ceil(COLUMNS));
        let size = (wide as u32 * columns as u32, high as u32 * lines as u32);
        let mut area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        for line in panels.chunks(COLUMNS) {
            let (mut here, below) = area.split_vertically(high);
            for panel in line {
                let (left, rest) = here.split_horizontally(wide);
                draw(panel, &left)?;
                here = rest;
            }
            area = below;
        }
        area.present()?;
    }
    Ok(text)
}

fn draw(panel: &Panel, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn {
    let style = |size: i32| TextStyle::from(("sans-serif", size).into_font());
    let centred = |size| style(size).pos(Pos::new(HPos::Center, VPos::Center));
    let right = style(LABEL).pos(Pos::new(HPos::Right, VPos::Center));
    let (columns, rows) = (panel.columns.len() as i32, panel.rows.len() as i32);
    let middle = LEFT + columns * CELL.0 / 2;
    let place = |column: f64, row: f64| {
        let x = LEFT + ((column + 0.5) * f64::from(CELL.0)) as i32;
        (x, TOP + ((f64::from(rows) - row - 0.5) * f64::from(CELL.1)) as i32)
    };
    let most = panel.values.iter().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    area.draw_text(&panel.title, &centred(TITLE), (middle, TOP / 2))?;
    for (row, values) in panel.values.iter().enumerate() {
        for (column, &value) in values.iter().enumerate() {
            let (x, y) = place(column as f64, row as f64);
            let corners = [(x - CELL.0 / 2 + 1, y - CELL.1 / 2 + 1), (x + CELL.0 / 2 - 1, y + CELL.1 / 2 - 1)];
            let share = (value / most).clamp(0.0, 1.0);
            area.draw(&Rectangle::new(corners, shade(share).filled()))?;
            let ink = if share > 0.55 { &WHITE } else { &BLACK };
            area.draw_text(&short(value), &centred(LABEL).color(ink), (x, y))?;
        }
    }
    for (column, value) in panel.columns.iter().enumerate() {
        area.draw_text(
            &plot::grouped(&(*value as f32).to_string()),
            &centred(LABEL),
            (place(column as f64, 0.0).0, TOP + rows * CELL.1 + 20),
        )?;
    }
    for (row, value) in panel.rows.iter().enumerate() {
        area.draw_text(&format!("{value:.2}"), &right, (LEFT - 8, place(0.0, row as f64).1))?;
    }
    area.draw_text(&panel.x, &centred(NAME), (middle, TOP + rows * CELL.1 + 58))?;
    area.draw_text(&panel.y, &centred(NAME), (18, TOP + rows * CELL.1 / 2))?;
    let logs: Vec<f64> = panel.columns.iter().map(|value| value.ln()).collect();
    let at = place(position(&logs, panel.mark.0.ln()), position(&panel.rows, panel.mark.1));
    area.draw(&Circle::new(at, 12, MARK.stroke_width(3)))?;
    Ok(())
}

/// From white to blue.
fn shade(share: f64) -> RGBColor {
    let between = |from: u8, to: u8| (f64::from(from) + share * (f64::from(to) - f64::from(from))) as u8;
    RGBColor(between(246, 20), between(248, 82), between(252, 168))
}

fn short(value: f64) -> String {
    if value < 9.95 { format!("{value:.1}") } else { plot::grouped(&format!("{value:.0}")) }
}

/// Where a value stands among ascending ones, in places.
fn position(values: &[f64], value: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let above = values.iter().position(|&v| v >= value).unwrap_or(last).max(1).min(last);
    let (Some(&low), Some(&high)) = (values.get(above.wrapping_sub(1)), values.get(above)) else { return 0.0 };
    (above as f64 - 1.0 + (value - low) / (high - low)).clamp(0.0, last as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_between_their_neighbours_and_never_outside() {
        let values = [1.0, 2.0, 4.0];
        for (value, place) in
            [(0.0, 0.0), (1.0, 0.0), (1.5, 0.5), (2.0, 1.0), (3.0, 1.5), (4.0, 2.0), (9.0, 2.0)]
        {
            assert_eq!(position(&values, value), place, "{value}");
        }
        assert_eq!(position(&[3.0], 3.0), 0.0);
        assert_eq!(position(&[], 3.0), 0.0);
    }

    #[test]
    fn the_picture_has_every_value_and_one_mark() {
        let panel = Panel {
            title: "T".into(),
            x: "σ".into(),
            y: "α".into(),
            columns: vec![0.1, 1.0],
            rows: vec![0.5, 1.0],
            values: vec![vec![1.25, 22.0], vec![3.5, 41.0]],
            mark: (0.3, 0.75),
        };
        let text = svg(&[panel]).unwrap();
        assert_eq!(text.matches("<circle").count(), 1);
        assert!(
            ["1.2", "22", "3.5", "41"].iter().all(|value| text.contains(&format!("\n{value}\n"))),
            "{text}"
        );
    }
}
