//! Densities in the plane as shaded panels, with paths and points over them, as PNG.

use crate::picture::{Colour, Picture, write};

/// Pixels a side of a panel.
pub const SIDE: usize = 300;
const MARGIN: u32 = 12;
const TITLE: u32 = 22;
const SHADE: [f64; 3] = [206.0, 150.0, 60.0];

/// What is drawn over a density.
#[derive(Clone, Debug)]
pub struct Marks {
    /// Points of the plane, in order.
    pub points: Vec<[f32; 2]>,
    /// Whether they are joined.
    pub joined: bool,
    /// Their colour.
    pub colour: Colour,
}

/// A density over a rectangle.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The title: ASCII.
    pub title: String,
    /// Probabilities of `SIDE`² cells, row by row from the top; empty for none.
    pub density: Vec<f64>,
    /// x and y at the left, right, bottom and top edge.
    pub edges: [f32; 4],
    /// What is drawn over it.
    pub marks: Vec<Marks>,
}

/// Panels in rows.
#[must_use]
pub fn draw(panels: &[Panel], columns: u32) -> Picture {
    let cell = SIDE as u32 + MARGIN;
    let rows = (panels.len() as u32).div_ceil(columns);
    let size = (columns * cell + MARGIN, rows * (cell + TITLE) + MARGIN);
    let mut picture = Picture::new(size.0, size.1, [255; 3]);
    for (panel, number) in panels.iter().zip(0..) {
        let left = MARGIN + number % columns * cell;
        let top = MARGIN + number / columns * (cell + TITLE);
        write(&mut picture, &panel.title, (left, top + 4), cell, 1);
        fill(&mut picture, panel, left, top + TITLE);
    }
    picture
}

fn fill(picture: &mut Picture, panel: &Panel, left: u32, top: u32) {
    let most = panel.density.iter().copied().fold(0.0, f64::max);
    for at in 0..SIDE * SIDE {
        // The square root shows the flanks.
        let depth = panel.density.get(at).map_or(0.0, |density| (density / most).sqrt());
        let colour = SHADE.map(|away| (250.0 - depth * away) as u8);
        picture.set(left + (at % SIDE) as u32, top + (at / SIDE) as u32, colour);
    }
    let [west, east, south, north] = panel.edges;
    let place = |[x, y]: [f32; 2]| {
        let across = (x - west) / (east - west) * SIDE as f32;
        [across, (north - y) / (north - south) * SIDE as f32]
    };
    let mut dot = |[x, y]: [f32; 2], colour| {
        let inside = |value: f32| value >= 0.0 && value < SIDE as f32;
        if inside(x) && inside(y) {
            picture.set(left + x as u32, top + y as u32, colour);
        }
    };
    for marks in &panel.marks {
        let points: Vec<_> = marks.points.iter().copied().map(place).collect();
        for pair in points.windows(2).filter(|_| marks.joined) {
            let [a, b] = [pair[0], pair[1]];
            let length = (a[0] - b[0]).abs().max((a[1] - b[1]).abs()).clamp(1.0, 4.0 * SIDE as f32);
            for step in 0..=length as u32 {
                let part = step as f32 / length;
                dot([a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])], marks.colour);
            }
        }
        for [x, y] in points {
            for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
                dot([x + dx, y + dy], marks.colour);
            }
        }
    }
}
