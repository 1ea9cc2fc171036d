//! Sorting a row in place.

use super::Entry;

/// Heap sort by neighbour: in place, no recursion, n log n at worst.
pub(super) fn sort(row: &mut [Entry]) {
    let sift = |row: &mut [Entry], mut root: usize, len: usize| {
        loop {
            let key = |row: &[Entry], at: usize| row.get(at).filter(|_| at < len).map(|e| e.site);
            let (left, right) = (2 * root + 1, 2 * root + 2);
            let child = if key(row, right) > key(row, left) { right } else { left };
            if key(row, child).is_none() || key(row, child) <= key(row, root) {
                return;
            }
            swap(row, root, child);
            root = child;
        }
    };
    if row.is_sorted_by_key(|entry| entry.site) {
        return;
    }
    for root in (0..row.len() / 2).rev() {
        sift(row, root, row.len());
    }
    for last in (1..row.len()).rev() {
        swap(row, 0, last);
        sift(row, 0, last);
    }
}

fn swap(row: &mut [Entry], a: usize, b: usize) {
    if let Ok([a, b]) = row.get_disjoint_mut([a, b]) {
        core::mem::swap(a, b);
    }
}
