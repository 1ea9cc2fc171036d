//! A line of text over semihosting, without a logger and without a way to panic: for images that have neither.

use semihosting::sys::arm_compat::sys_writec;

/// Writes text and a number behind it.
pub fn number(text: &str, number: usize) {
    text.bytes().for_each(sys_writec);
    let (mut power, mut left) = (1_000_000_000, number as u32);
    let mut begun = false;
    while power > 0 {
        // Subtractions: nothing here divides.
        let mut digit = b'0';
        while left >= power {
            left -= power;
            digit += 1;
        }
        begun |= digit > b'0' || power == 1;
        if begun {
            sys_writec(digit);
        }
        power /= 10;
    }
}

/// Writes text and eight hexadecimal digits behind it.
pub fn hash(text: &str, hash: u32) {
    text.bytes().for_each(sys_writec);
    for place in (0..8).rev() {
        let digit = ((hash >> (4 * place)) & 15) as u8;
        sys_writec(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 });
    }
}

/// Ends the line.
pub fn end() {
    sys_writec(b'\n');
}
