//! Percent encoding of the parts of URLs, as Go's `net/url` does it.

use super::quoted;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Path,
    Host,
    Zone,
    User,
    Query,
    Fragment,
}

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn is_host(byte: u8) -> bool {
    is_unreserved(byte) || b"!\"$&'()*+,:;<=>[]".contains(&byte)
}

fn is_path(byte: u8) -> bool {
    is_unreserved(byte) || b"$&+,/:;=@".contains(&byte)
}

/// Whether a path may stay as it was written.
pub(super) fn is_valid_encoded(path: &str) -> bool {
    path.bytes().all(|byte| is_path(byte) || b"!'()*[]%".contains(&byte))
}

/// A path with everything escaped that must be.
pub(super) fn escape(path: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if is_path(byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// The text behind the percent signs; bytes that are no UTF-8 become the replacement character.
pub(super) fn unescape(text: &str, mode: Mode) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        let byte = match (*first, behind) {
            (b'%', [high, low, after @ ..]) if is_hex(*high) && is_hex(*low) => {
                rest = after;
                let byte = (hex(*high) << 4) | hex(*low);
                if !may_escape(byte, mode) {
                    return Err(bad_escape(&[b'%', *high, *low]));
                }
                byte
            }
            (b'%', behind) => {
                let mut shown = vec![b'%'];
                shown.extend(behind.iter().take(2));
                return Err(bad_escape(&shown));
            }
            (b'+', _) if mode == Mode::Query => b' ',
            (byte, _)
                if matches!(mode, Mode::Host | Mode::Zone) && byte < 0x80 && !is_host(byte) =>
            {
                let shown = quoted(&char::from(byte).to_string());
                return Err(format!("invalid character {shown} in host name"));
            }
            (byte, _) => byte,
        };
        bytes.push(byte);
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// A host may escape what is not ASCII, a zone what a host may hold; both the percent sign.
fn may_escape(byte: u8, mode: Mode) -> bool {
    match mode {
        Mode::Host => byte >= 0x80 || byte == b'%',
        Mode::Zone => byte == b'%' || byte == b' ' || is_host(byte),
        _ => true,
    }
}

fn bad_escape(bytes: &[u8]) -> String {
    format!("invalid URL escape {}", quoted(&String::from_utf8_lossy(bytes)))
}

const fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

const fn hex(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        _ => byte.wrapping_sub(b'A').wrapping_add(10),
    }
}
