//! A restricted Boltzmann machine from a folder of NumPy files, and the digits that it has learnt.

use crate::bits::BitRows;
use crate::cli::Failure;
use crate::npy;
use bitmc::energy::{RbmError, pack_rows};
use bitmc::lane::{Block, LANES};
use bitmc::{Layout, Rbm};
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
        let units = biases.len();
        let blocks = Rbm::row_blocks(units);
        let mut weights = vec![[0.0; LANES]; blocks * visible.len()];
        let mut hidden = vec![[0.0; LANES]; blocks];
        let packed =
            pack_rows(&matrix, units, &mut weights).and_then(|()| pack_rows(&biases, units, &mut hidden));
        packed.map_err(|error| Failure::file(folder, error))?;
        let model = Self { weights, visible, hidden, units };
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

/// The model of 784 visible and 500 hidden units, and what belongs to it.
#[derive(Clone, Debug)]
pub struct DigitData {
    /// The model.
    pub model: RbmFolder,
    /// Training digits.
    pub train: BitRows,
    /// Test digits.
    pub test: BitRows,
    /// Block-Gibbs samples of the model's law.
    pub reference: BitRows,
}

impl DigitData {
    /// Reads them from a folder such as `examples/data`.
    ///
    /// # Errors
    /// [`Failure::File`] names the file that is wrong.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let sites = DIGIT.sites();
        Ok(Self {
            model: RbmFolder::read(&folder.join("rbm500"), sites)?,
            train: BitRows::read(&folder.join("mnist/mnist_train1000.bits"), sites)?,
            test: BitRows::read(&folder.join("mnist/mnist_test1000.bits"), sites)?,
            reference: BitRows::read(&folder.join("rbm500/gibbs_from_data_1000.bits"), sites)?,
        })
    }
}
