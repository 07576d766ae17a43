//! Patterns of RE2 in the syntax of the regex crate.

/// The pattern with the short classes written out: those of RE2 are ASCII, those of the regex crate
/// are Unicode.
pub(super) fn with_ascii_classes(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            written.push(character);
            continue;
        }
        match characters.next() {
            Some('d') => written.push_str("[0-9]"),
            Some('D') => written.push_str("[^0-9]"),
            Some('s') => written.push_str(r"[\t\n\f\r ]"),
            Some('S') => written.push_str(r"[^\t\n\f\r ]"),
            Some('w') => written.push_str("[0-9A-Za-z_]"),
            Some('W') => written.push_str("[^0-9A-Za-z_]"),
            Some('b') => written.push_str(r"(?-u:\b)"),
            Some('B') => written.push_str(r"(?-u:\B)"),
            Some(other) => written.extend(['\\', other]),
            None => written.push('\\'),
        }
    }
    written
}
