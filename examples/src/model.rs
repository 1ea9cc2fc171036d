//! A restricted Boltzmann machine from a folder of NumPy files, and the digits that it has learnt.

use crate::bits::BitRows;
use crate::cli::Failure;
use crate::npy;
use bitmc::energy::{RbmError, pack_rows};
use bitmc::lane::{Block, LANES};
use bitmc::{Layout, Packed, Rbm};
use bitmc_desktop::formats::arrays::Arrays;
use std::path::Path;

/// Owned parameters that [`Rbm`] borrows.
#[derive(Clone, Debug)]
pub struct RbmFolder {
    weights: Vec<Block>,
    visible: Vec<f32>,
    hidden: Vec<Block>,
    units: usize,
}

impl RbmFolder {
    /// Reads `W.npy` (`visible` × hidden units), `a_vis.npy` and `b_hid.npy`.
    ///
    /// # Errors
    /// [`Failure::File`] names the file, and the unit, that is wrong.
    pub fn read(folder: &Path, visible: usize) -> Result<Self, Failure> {
        let (matrix, shape) = npy::read(&folder.join("W.npy"), &[visible as u64, 0])?;
        let (visible, _) = npy::read(&folder.join("a_vis.npy"), &[shape[0]])?;
        let (biases, _) = npy::read(&folder.join("b_hid.npy"), &[shape[1]])?;
        let model = Self::packed(&matrix, visible, &biases).map_err(|error| Failure::file(folder, error))?;
        model.checked().map_err(|error| {
            let file = match error {
                RbmError::VisibleNotFinite { .. } | RbmError::VisibleTooLarge { .. } => "a_vis.npy",
                RbmError::HiddenNotFinite { .. } => "b_hid.npy",
                _ => "W.npy",
            };
            Failure::file(&folder.join(file), error)
        })?;
        Ok(model)
    }

    /// Reads a `.npz` file of W, a and b, as `learn_digits --machine` writes it.
    ///
    /// # Errors
    /// [`Failure::File`] where it is no RBM of so many visible units.
    pub fn read_file(path: &Path, units: usize) -> Result<Self, Failure> {
        let Arrays::Rbm { weights, visible, hidden, .. } = Arrays::read(path)? else {
            return Err(Failure::file(path, "W, a and b of an RBM expected"));
        };
        if visible.len() != units {
            return Err(Failure::file(
                path,
                format!("{units} visible units expected, found {}", visible.len()),
            ));
        }
        let [weights, visible, hidden] =
            [weights, visible, hidden].map(|array| array.iter().map(|&w| w as f32).collect::<Vec<f32>>());
        let model = Self::packed(&weights, visible, &hidden).map_err(|error| Failure::file(path, error))?;
        model.checked().map_err(|error| Failure::file(path, error))?;
        Ok(model)
    }

    fn packed(matrix: &[f32], visible: Vec<f32>, biases: &[f32]) -> Result<Self, RbmError> {
        let units = biases.len();
        let blocks = Rbm::row_blocks(units);
        let mut weights = vec![[0.0; LANES]; blocks * visible.len()];
        let mut hidden = vec![[0.0; LANES]; blocks];
        pack_rows(matrix, units, &mut weights)?;
        pack_rows(biases, units, &mut hidden)?;
        Ok(Self { weights, visible, hidden, units })
    }

    /// The energy.
    #[must_use]
    pub fn rbm(&self) -> Rbm<'_> {
        self.checked().expect("checked when it was read")
    }

    fn checked(&self) -> Result<Rbm<'_>, RbmError> {
        Rbm::new(&self.weights, &self.visible, &self.hidden, self.units)
    }
}

/// Sites of a side of a digit.
pub const SIDE: u32 = 28;

/// The shape of a digit, row by row.
pub const DIGIT: Layout = Layout::binary((SIDE * SIDE) as usize);

/// Pictures of 28×28 bits to learn from: those of a file, or the 1,000 training and then the 1,000 test digits of a
/// folder such as `examples/data`.
///
/// # Errors
/// [`Failure::File`] names the file that is wrong.
pub fn pictures(from: &Path) -> Result<BitRows, Failure> {
    if from.is_file() {
        return BitRows::read(from, DIGIT.sites());
    }
    let mut rows = BitRows::read(&from.join("mnist/mnist_train1000.bits"), DIGIT.sites())?;
    let more = BitRows::read(&from.join("mnist/mnist_test1000.bits"), DIGIT.sites())?;
    more.rows().for_each(|row| rows.push(Packed::new(DIGIT, row).expect("a row of digits")));
    Ok(rows)
}

/// The files of a machine with its pictures: the parameters, pictures learned from, those held out, reference samples.
pub const MACHINE: &str = "machine.npz";
/// See [`MACHINE`].
pub const TRAIN: &str = "train.bits";
/// See [`MACHINE`].
pub const TEST: &str = "test.bits";
/// See [`MACHINE`].
pub const REFERENCE: &str = "reference.bits";

/// The model of 784 visible and 500 hidden units, and what belongs to it.
#[derive(Clone, Debug)]
pub struct DigitData {
    /// The model.
    pub model: RbmFolder,
    /// Training digits.
    pub train: BitRows,
    /// Test digits.
    pub test: BitRows,
    /// Block-Gibbs samples of the model's distribution.
    pub reference: BitRows,
}

impl DigitData {
    /// Reads them from a folder such as `examples/data`, or one that `learn_digits --machine` has written.
    ///
    /// # Errors
    /// [`Failure::File`] names the file that is wrong.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let sites = DIGIT.sites();
        let machine = folder.join(MACHINE);
        if machine.is_file() {
            let rows = |name| BitRows::read(&folder.join(name), sites);
            return Ok(Self {
                model: RbmFolder::read_file(&machine, sites)?,
                train: rows(TRAIN)?,
                test: rows(TEST)?,
                reference: rows(REFERENCE)?,
            });
        }
        Ok(Self {
            model: RbmFolder::read(&folder.join("rbm500"), sites)?,
            train: BitRows::read(&folder.join("mnist/mnist_train1000.bits"), sites)?,
            test: BitRows::read(&folder.join("mnist/mnist_test1000.bits"), sites)?,
            reference: BitRows::read(&folder.join("rbm500/gibbs_from_data_1000.bits"), sites)?,
        })
    }
}
