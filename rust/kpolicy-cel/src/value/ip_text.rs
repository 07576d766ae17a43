//! Addresses in the brackets of a URL, read as Go's `net/netip` does: the messages are its own.

use super::quoted;

/// Which sort of address a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

const GROUPS: usize = 8;
/// An IPv4 address at the end takes so many groups.
const GROUPS_OF_V4: usize = 2;

/// Reads an address, with or without a zone.
pub(super) fn family(text: &str) -> Result<Family, String> {
    let failed = |why: &str| Err(because(text, why, ""));
    match text.bytes().find(|byte| b".:%".contains(byte)) {
        Some(b'.') => v4(text, text).map(|()| Family::V4),
        Some(b':') => v6(text).map(|()| Family::V6),
        Some(_) => failed("missing IPv6 address"),
        None => failed("unable to parse IP"),
    }
}

fn because(text: &str, why: &str, at: &str) -> String {
    let whole = format!("ParseAddr({}): {why}", quoted(text));
    if at.is_empty() { whole } else { format!("{whole} (at {})", quoted(at)) }
}

/// Reads `part` of a text as an IPv4 address.
fn v4(text: &str, part: &str) -> Result<(), String> {
    let failed = |why: &str, at: &str| Err(because(text, why, at));
    let (mut value, mut digits, mut dots) = (0_u32, 0, 0);
    let mut before = b'.';
    for (index, byte) in part.bytes().enumerate() {
        let rest = part.get(index..).unwrap_or_default();
        if byte.is_ascii_digit() {
            if digits == 1 && value == 0 {
                return failed("IPv4 field has octet with leading zero", "");
            }
            value = value * 10 + u32::from(byte - b'0');
            digits += 1;
            if value > 255 {
                return failed("IPv4 field has value >255", "");
            }
        } else if byte == b'.' {
            if before == b'.' || rest.len() == 1 {
                return failed("IPv4 field must have at least one digit", rest);
            }
            if dots == 3 {
                return failed("IPv4 address too long", "");
            }
            dots += 1;
            (value, digits) = (0, 0);
        } else {
            return failed("unexpected character", rest);
        }
        before = byte;
    }
    if dots < 3 {
        return failed("IPv4 address too short", "");
    }
    Ok(())
}

fn v6(text: &str) -> Result<(), String> {
    let failed = |why: &str, at: &str| Err(because(text, why, at));
    let mut rest = match text.split_once('%') {
        Some((_, "")) => return failed("zone must be a non-empty string", ""),
        Some((address, _)) => address,
        None => text,
    };
    let mut has_gap = false;
    if let Some(after) = rest.strip_prefix("::") {
        (has_gap, rest) = (true, after);
        if rest.is_empty() {
            return Ok(());
        }
    }
    let mut groups = 0;
    while groups < GROUPS {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return failed("each group must have 4 or less digits", rest);
        }
        if digits == 0 {
            let why = "each colon-separated field must have at least one digit";
            return failed(why, rest);
        }
        let after = rest.get(digits..).unwrap_or_default();
        if after.starts_with('.') {
            if !has_gap && groups != GROUPS - GROUPS_OF_V4 {
                let why = "embedded IPv4 address must replace the final 2 fields of the address";
                return failed(why, rest);
            }
            if groups + GROUPS_OF_V4 > GROUPS {
                let why = "too many hex fields to fit an embedded IPv4 at the end of the address";
                return failed(why, rest);
            }
            v4(text, rest)?;
            (rest, groups) = ("", groups + GROUPS_OF_V4);
            break;
        }
        groups += 1;
        rest = after;
        if rest.is_empty() {
            break;
        }
        rest = match rest.strip_prefix(':') {
            None => return failed("unexpected character, want colon", rest),
            Some("") => return failed("colon must be followed by more characters", rest),
            Some(after) => after,
        };
        if let Some(after) = rest.strip_prefix(':') {
            if has_gap {
                return failed("multiple :: in address", rest);
            }
            (has_gap, rest) = (true, after);
            if rest.is_empty() {
                break;
            }
        }
    }
    match (groups < GROUPS, has_gap) {
        _ if !rest.is_empty() => failed("trailing garbage after address", rest),
        (true, false) => failed("address string too short", ""),
        (false, true) => failed("the :: must expand to at least one field of zeros", ""),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, family};

    #[test]
    fn what_is_an_address() {
        for text in ["::", "::1", "fe80::1%en0", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::"] {
            assert_eq!(family(text), Ok(Family::V6), "{text}");
        }
        assert_eq!(family("1.2.3.4"), Ok(Family::V4));
    }

    #[test]
    fn why_a_text_is_none() {
        for (text, why) in [
            ("", "unable to parse IP"),
            ("%en0", "missing IPv6 address"),
            ("::1%", "zone must be a non-empty string"),
            ("1.2.3.04", "IPv4 field has octet with leading zero"),
            ("1.2.3.256", "IPv4 field has value >255"),
            ("1..3.4", r#"IPv4 field must have at least one digit (at ".3.4")"#),
            ("1.2.3.4.5", "IPv4 address too long"),
            ("1.2.3", "IPv4 address too short"),
            ("1.2.3.x", r#"unexpected character (at "x")"#),
            ("12345::", r#"each group must have 4 or less digits (at "12345::")"#),
            (":1", r#"each colon-separated field must have at least one digit (at ":1")"#),
            (
                "1:1.2.3.4",
                r#"embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")"#,
            ),
            (
                "::1:2:3:4:5:6:7:1.2.3.4",
                r#"too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")"#,
            ),
            ("1:x", r#"each colon-separated field must have at least one digit (at "x")"#),
            ("1g::", r#"unexpected character, want colon (at "g::")"#),
            ("1:2:", r#"colon must be followed by more characters (at ":")"#),
            ("1::2::3", r#"multiple :: in address (at ":3")"#),
            ("1:2:3:4:5:6:7:8:9", r#"trailing garbage after address (at "9")"#),
            ("1:2", "address string too short"),
            ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
        ] {
            let want = Err(format!("ParseAddr({text:?}): {why}"));
            assert_eq!(family(text), want, "{text}");
        }
    }
}
