//! Pictures of binary images: titled panels side by side, as PNG.

use crate::bits::BitRows;
use crate::cli::Failure;
use crate::report;
use font8x8::{BASIC_FONTS, UnicodeFonts};
use std::ops::Range;
use std::path::Path;

/// A colour.
pub type Colour = [u8; 3];

/// For what was given or is real.
pub const INK: Colour = [34, 34, 40];
/// For what was sampled.
pub const BLUE: Colour = [20, 82, 168];
const PAPER: Colour = [255, 255, 255];
const GROUND: Colour = [214, 218, 224];
const UNKNOWN: Colour = [238, 232, 214];

/// Pixels a side of one site.
const SCALE: u32 = 3;
/// Pixels between two images of a panel.
const GAP: u32 = 4;
/// Pixels around a panel.
pub(crate) const MARGIN: u32 = 14;
/// Pixels that a line between panels is wide.
const LINE: u32 = 4;
/// Pixels a side of a dot of a title.
const DOT: u32 = 2;
/// Pixels that a title needs.
pub(crate) const TITLE: u32 = 8 * DOT + 8;

/// Coloured pixels, row by row from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    pixels: Vec<Colour>,
}

impl Picture {
    /// Of one colour.
    #[must_use]
    pub fn new(width: u32, height: u32, colour: Colour) -> Self {
        Self { width, pixels: vec![colour; width as usize * height as usize] }
    }

    /// Pixels from left to right.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Colours the pixel of a column and a row.
    ///
    /// # Panics
    /// Where there is none.
    pub fn set(&mut self, x: u32, y: u32, colour: Colour) {
        assert!(x < self.width, "column {x} of {}", self.width);
        self.pixels[y as usize * self.width as usize + x as usize] = colour;
    }
}

/// A square image of binary sites, row by row.
#[derive(Clone, Debug)]
pub struct Tile {
    side: u32,
    colours: Vec<Colour>,
}

impl Tile {
    /// An image of which nothing is known yet.
    #[must_use]
    pub fn unknown(side: u32) -> Self {
        Self { side, colours: vec![UNKNOWN; (side * side) as usize] }
    }

    /// The image of a packed state in one ink.
    #[must_use]
    pub fn of(words: &[u32], side: u32, ink: Colour) -> Self {
        Self::unknown(side).paint(words, 0..side, ink)
    }

    /// Paints some rows of a packed state.
    #[must_use]
    pub fn paint(mut self, words: &[u32], rows: Range<u32>, ink: Colour) -> Self {
        for site in rows.start * self.side..rows.end * self.side {
            let set = words[site as usize / 32] >> (site % 32) & 1 == 1;
            self.colours[site as usize] = if set { ink } else { PAPER };
        }
        self
    }
}

/// Images under a title.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The title: ASCII.
    pub title: String,
    /// Whether a line sets it off from the panel on its left.
    pub apart: bool,
    /// Images in a row.
    pub columns: u32,
    /// The images, row by row.
    pub tiles: Vec<Tile>,
}

/// The first 100 samples, in blue, beside the first 100 real images of `side` × `side` sites.
#[must_use]
pub fn sampled(samples: &BitRows, real: &BitRows, side: u32) -> Picture {
    let tiles = |rows: &BitRows, ink| rows.rows().take(100).map(|row| Tile::of(row, side, ink)).collect();
    let panel = |title: &str, apart, tiles| Panel { title: title.into(), apart, columns: 10, tiles };
    let samples = panel("samples of the model", false, tiles(samples, BLUE));
    draw(&[samples, panel("real digits", true, tiles(real, INK))])
}

/// The first 50 images as triples: the upper half that was given, the lower half that was drawn to it, in
/// blue, and the real image.
#[must_use]
pub fn inpainted(samples: &BitRows, real: &BitRows, side: u32) -> Picture {
    const ROWS: usize = 10;
    let half = side / 2;
    let given = |index| Tile::unknown(side).paint(real.row(index), 0..half, INK);
    let filled = |index| given(index).paint(samples.row(index), half..side, BLUE);
    let truth = |index| Tile::of(real.row(index), side, INK);
    let mut panels = Vec::new();
    for first in (0..samples.len().min(5 * ROWS)).step_by(ROWS) {
        let indices = first..samples.len().min(first + ROWS);
        for (title, tiles) in [
            ("given", indices.clone().map(given).collect()),
            ("filled", indices.clone().map(filled).collect()),
            ("true", indices.map(truth).collect()),
        ] {
            let apart = first > 0 && title == "given";
            panels.push(Panel { title: title.into(), apart, columns: 1, tiles });
        }
    }
    draw(&panels)
}

/// The panels from left to right.
#[must_use]
pub fn draw(panels: &[Panel]) -> Picture {
    let pitch = |panel: &Panel| panel.tiles.first().map_or(0, |tile| tile.side * SCALE + GAP);
    let width = |panel: &Panel| (panel.columns * pitch(panel)).max(text_width(&panel.title) + GAP) + MARGIN;
    let height = |panel: &Panel| (panel.tiles.len() as u32).div_ceil(panel.columns) * pitch(panel);
    let line = |panel: &Panel| if panel.apart { MARGIN + LINE } else { 0 };
    let full_width = MARGIN + panels.iter().map(|panel| width(panel) + line(panel)).sum::<u32>();
    let full_height = 2 * MARGIN + TITLE + panels.iter().map(height).max().unwrap_or(0);
    let mut picture = Picture::new(full_width, full_height, GROUND);
    let mut left = MARGIN;
    for panel in panels {
        if panel.apart {
            (0..full_height / LINE).for_each(|y| square(&mut picture, left, y * LINE, LINE, INK));
            left += line(panel);
        }
        write(&mut picture, &panel.title, (left, MARGIN), width(panel), DOT);
        for (tile, index) in panel.tiles.iter().zip(0..) {
            let x = left + index % panel.columns * pitch(panel);
            let y = MARGIN + TITLE + index / panel.columns * pitch(panel);
            for (&colour, site) in tile.colours.iter().zip(0..) {
                let (column, row) = (site % tile.side, site / tile.side);
                square(&mut picture, x + column * SCALE, y + row * SCALE, SCALE, colour);
            }
        }
        left += width(panel);
    }
    picture
}

/// Writes a picture as PNG.
///
/// # Errors
/// [`Failure::File`] where it cannot be written.
pub fn save(path: &Path, picture: &Picture) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    let height = (picture.pixels.len() / picture.width.max(1) as usize) as u32;
    let mut encoder = png::Encoder::new(&mut bytes, picture.width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder
        .write_header()
        .and_then(|mut file| file.write_image_data(picture.pixels.as_flattened()))
        .map_err(|error| Failure::file(path, error))?;
    report::write(path, &bytes)
}

/// A picture of a film.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What is shown.
    pub picture: Picture,
    /// For how long.
    pub milliseconds: u16,
}

/// Writes pictures of one size as an animated PNG that starts again when it ends. They have at most 16 colours together.
///
/// # Errors
/// [`Failure::File`] where it cannot be written.
pub fn save_film(path: &Path, frames: &[Frame]) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    encode_film(frames, &mut bytes).map_err(|error| Failure::file(path, error))?;
    report::write(path, &bytes)
}

fn encode_film(frames: &[Frame], into: &mut Vec<u8>) -> Result<(), png::EncodingError> {
    let mut palette: Vec<Colour> =
        frames.iter().flat_map(|frame| frame.picture.pixels.iter().copied()).collect();
    palette.sort_unstable();
    palette.dedup();
    let width = frames.first().map_or(0, |frame| frame.picture.width) as usize;
    let height = frames.first().map_or(0, |frame| frame.picture.pixels.len() / width.max(1));
    let mut encoder = png::Encoder::new(into, width as u32, height as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Four);
    encoder.set_palette(palette.as_flattened().to_vec());
    encoder.set_compression(png::Compression::High);
    encoder.set_animated(frames.len() as u32, 0)?;
    let mut file = encoder.write_header()?;
    for frame in frames {
        file.set_frame_delay(frame.milliseconds, 1000)?;
        let nibble = |colour: &Colour| palette.binary_search(colour).unwrap_or(0) as u8;
        let byte = |pair: &[Colour]| nibble(&pair[0]) << 4 | pair.get(1).map_or(0, nibble);
        let rows = frame.picture.pixels.chunks(width.max(1));
        file.write_image_data(&rows.flat_map(|row| row.chunks(2).map(byte)).collect::<Vec<u8>>())?;
    }
    file.finish()
}

fn text_width(text: &str) -> u32 {
    text.len() as u32 * 8 * DOT
}

/// Writes as many letters of a text as are whole within a width, with dots of so many pixels a side.
pub(crate) fn write(picture: &mut Picture, text: &str, (left, top): (u32, u32), width: u32, dot: u32) {
    for (character, index) in text.chars().zip(0..width / (8 * dot)) {
        for (row, y) in BASIC_FONTS.get(character).unwrap_or_default().iter().zip(0..) {
            for x in (0..8).filter(|x| row >> x & 1 == 1) {
                square(picture, left + (index * 8 + x) * dot, top + y * dot, dot, INK);
            }
        }
    }
}

fn square(picture: &mut Picture, left: u32, top: u32, side: u32, colour: Colour) {
    for (x, y) in (0..side).flat_map(|x| (0..side).map(move |y| (x, y))) {
        picture.set(left + x, top + y, colour);
    }
}
