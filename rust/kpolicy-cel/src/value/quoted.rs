//! Texts in double quotes as Go writes them, in messages and in literals of CEL.

use std::fmt::Write as _;

/// The text in quotes; what cannot be printed is escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            ' '..='~' => quoted.push(character),
            _ => escaped(&mut quoted, character),
        }
    }
    quoted.push('"');
    quoted
}

fn escaped(quoted: &mut String, character: char) {
    let point = u32::from(character);
    let written = if point < 0x80 {
        write!(quoted, "\\x{point:02x}")
    } else if !character.escape_debug().eq([character]) {
        let width = if point < 0x1_0000 { 4 } else { 8 };
        let letter = if point < 0x1_0000 { 'u' } else { 'U' };
        write!(quoted, "\\{letter}{point:0width$x}")
    } else {
        write!(quoted, "{character}")
    };
    debug_assert!(written.is_ok(), "a string takes everything");
}
