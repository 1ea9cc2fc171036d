//! Graphs as circles and lines, as SVG.

use super::Graph;
use crate::cli::Failure;
use crate::report;
use plotters::prelude::*;
use std::path::Path;

/// Graphs of a row.
const ROW: usize = 10;
/// Pixels a side of a graph, and of a title.
const SIZE: i32 = 96;
const TITLE: i32 = 30;
const INK: RGBColor = RGBColor(20, 82, 168);

type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Writes the first ten graphs of each set under its title, the vertex of most links in the middle.
///
/// # Errors
/// [`Failure::File`] where it cannot be written.
pub fn drawing(path: &Path, sets: &[(String, Vec<Graph>)]) -> Result<(), Failure> {
    let mut text = String::new();
    draw(&mut text, sets).map_err(|error| Failure::file(path, error))?;
    report::write(path, text.as_bytes())
}

fn draw(text: &mut String, sets: &[(String, Vec<Graph>)]) -> Drawn {
    let size = ((ROW as i32 * SIZE) as u32, (sets.len() as i32 * (SIZE + TITLE)) as u32);
    let area = SVGBackend::with_string(text, size).into_drawing_area();
    area.fill(&WHITE)?;
    for (row, (title, graphs)) in (0..).zip(sets) {
        let top = row * (SIZE + TITLE);
        area.draw_text(title, &("sans-serif", 16).into_text_style(&area), (8, top + 8))?;
        for (column, graph) in (0..).zip(graphs.iter().take(ROW)) {
            let centre = (column * SIZE + SIZE / 2, top + TITLE + SIZE / 2);
            let places = places(graph, centre);
            for b in 0..graph.len() {
                for a in (0..b).filter(|&a| graph.linked(a, b)) {
                    area.draw(&PathElement::new(vec![places[a], places[b]], INK.mix(0.5)))?;
                }
            }
            for &place in &places {
                area.draw(&Circle::new(place, 3, INK.filled()))?;
            }
        }
    }
    area.present()?;
    Ok(())
}

/// The hub in the middle, the others around it.
fn places(graph: &Graph, (x, y): (i32, i32)) -> Vec<(i32, i32)> {
    let hub = (0..graph.len()).max_by_key(|&vertex| (graph.degree(vertex), graph.len() - vertex)).unwrap_or(0);
    let around = graph.len().saturating_sub(1).max(1) as f64;
    let place = |vertex: usize| {
        if vertex == hub {
            return (x, y);
        }
        let index = if vertex < hub { vertex } else { vertex - 1 };
        let (sin, cos) = (index as f64 / around * std::f64::consts::TAU).sin_cos();
        let reach = f64::from(SIZE) * 0.42;
        (x + (reach * sin) as i32, y - (reach * cos) as i32)
    };
    (0..graph.len()).map(place).collect()
}
