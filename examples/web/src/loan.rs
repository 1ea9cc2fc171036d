//! Memory that a model borrows, in the same struct as the model.

use std::ptr::NonNull;

/// A box whose content is borrowed for as long as the box is there. The kernel's models borrow their buffers. A page
/// keeps a model from one frame to the next, and so it keeps the buffers too.
pub(crate) struct Loan<T: ?Sized>(NonNull<T>);

impl<T: ?Sized> Loan<T> {
    pub(crate) fn new(owned: Box<T>) -> Self {
        Self(NonNull::from(Box::leak(owned)))
    }

    /// The content.
    ///
    /// # Safety
    /// Call it once, and use the reference only while this loan has not been dropped.
    pub(crate) unsafe fn lend(&self) -> &'static mut T {
        // SAFETY: the box is alive until `drop`, and the caller makes one reference only.
        unsafe { &mut *self.0.as_ptr() }
    }
}

impl<T: ?Sized> Drop for Loan<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box in `new`, and is freed once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
