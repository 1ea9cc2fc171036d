//! Densities as pictures: panels in rows.

use crate::picture::{MARGIN, Picture, TITLE, write};

/// Sites of the lattice that one pixel shows, each way.
const CELL: usize = 2;

/// A density under a title.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The title: ASCII.
    pub title: String,
    /// One number a state, the first site to the right, the second upwards.
    pub cells: Vec<f64>,
    /// Values a site.
    pub side: usize,
}

/// Rows of panels of one size, in columns as wide as the widest title. Every panel is scaled to the largest pixel of the
/// first in its row, and shows square roots, so that thin tails are seen. A dot of a letter has `dot` pixels a side, 1 or 2.
#[must_use]
pub fn draw(rows: &[Vec<Panel>], dot: u32) -> Picture {
    let size = rows.first().and_then(|row| row.first()).map_or(0, |panel| panel.side.div_ceil(CELL)) as u32;
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0) as u32;
    let widest = rows.iter().flatten().map(|panel| 8 * dot * panel.title.len() as u32).max().unwrap_or(0);
    let (width, height) = (size.max(widest) + MARGIN, size + TITLE + MARGIN);
    let mut picture =
        Picture::new(MARGIN + columns * width, MARGIN + rows.len() as u32 * height, [214, 218, 224]);
    for (row, top) in rows.iter().zip((0..).map(|row| MARGIN + row * height)) {
        let most = row.first().map_or(0.0, |panel| coarse(panel).into_iter().fold(0.0, f64::max));
        for (panel, left) in row.iter().zip((0..).map(|column| MARGIN + column * width)) {
            write(&mut picture, &panel.title, (left, top), width, dot);
            for (share, pixel) in coarse(panel).into_iter().zip(0..) {
                let ink = (share / most).min(1.0).sqrt();
                let fade = |dark: f64| (255.0 - ink * (255.0 - dark)) as u8;
                let (x, y) = (left + pixel / size, top + TITLE + size - 1 - pixel % size);
                picture.set(x, y, [fade(20.0), fade(82.0), fade(168.0)]);
            }
        }
    }
    picture
}

/// Sums over squares of [`CELL`] sites a side.
fn coarse(panel: &Panel) -> Vec<f64> {
    let size = panel.side.div_ceil(CELL);
    let mut out = vec![0.0; size * size];
    for (cell, share) in panel.cells.iter().enumerate() {
        out[cell / panel.side / CELL * size + cell % panel.side / CELL] += share;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_room() {
        let panel = |title: &str| Panel { title: title.into(), cells: vec![1.0; 1600], side: 40 };
        let draw = |title: &str, dot| draw(&[vec![panel(title), panel("")]], dot);
        // Two letters of eight pixels fit above twenty; more make the columns wider, and so do larger ones.
        assert_eq!(draw("ab", 1).width(), draw("", 1).width());
        assert_eq!(draw("abcd", 1).width(), draw("", 1).width() + 2 * (32 - 20));
        assert_eq!(draw("ab", 2).width(), draw("abcd", 1).width());
        assert_ne!(draw("a wide title", 1), draw("a wide titlf", 1));
    }
}
