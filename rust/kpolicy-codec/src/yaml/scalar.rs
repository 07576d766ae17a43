//! Scalars of YAML: which are words and numbers, and how text is written in JSON.
//!
//! Specification: the YAML 1.1 rules of `sigs.k8s.io/yaml`, except that `y` and `n` are text.
//! Numbers keep their digits, so that quantities stay exact.

use std::fmt::Write;

use saphyr_parser::{ScalarStyle, Tag};

/// Whether a scalar may be something else than text.
pub(super) fn is_resolved(style: ScalarStyle, tag: Option<&Tag>) -> bool {
    match tag {
        None => style == ScalarStyle::Plain,
        Some(tag) => {
            tag.is_yaml_core_schema() && matches!(&*tag.suffix, "int" | "float" | "bool" | "null")
        }
    }
}

pub(super) fn push_resolved(json: &mut String, text: &str) {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => json.push_str("null"),
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => {
            json.push_str("true");
        }
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            json.push_str("false");
        }
        _ => match number(text) {
            Some(number) => json.push_str(&number),
            None => push_text(json, text),
        },
    }
}

pub(super) fn push_text(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            control if control < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(json, "\\u{:04x}", u32::from(control));
            }
            other => json.push(other),
        }
    }
    json.push('"');
}

/// The text as a JSON number.
fn number(text: &str) -> Option<String> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", text.get(1..)?),
        b'+' => ("", text.get(1..)?),
        _ => ("", text),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let digits = digits.replace('_', "");
    let number = match based(&digits) {
        Some((base, rest)) if rest.starts_with(|first: char| first.is_digit(base)) => {
            u64::from_str_radix(rest, base).ok()?.to_string()
        }
        Some(_) => return None,
        None => decimal(&digits)?,
    };
    Some(format!("{sign}{number}"))
}

/// The base that is written, and what follows.
fn based(digits: &str) -> Option<(u32, &str)> {
    let bases = [("0x", 16), ("0X", 16), ("0o", 8), ("0b", 2), ("0B", 2)];
    let prefixed = bases
        .into_iter()
        .find_map(|(prefix, base)| digits.strip_prefix(prefix).map(|rest| (base, rest)));
    let is_octal =
        |rest: &&str| !rest.is_empty() && rest.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    prefixed.or_else(|| digits.strip_prefix('0').filter(is_octal).map(|rest| (8, rest)))
}

fn decimal(digits: &str) -> Option<String> {
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (digits, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let mut number = whole.trim_start_matches('0').to_owned();
    if number.is_empty() {
        number.push('0');
    }
    if !fraction.is_empty() {
        number.push('.');
        number.push_str(fraction);
    }
    if let Some(exponent) = exponent {
        let magnitude = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if magnitude.is_empty() || !are_digits(magnitude) {
            return None;
        }
        number.push('e');
        number.push_str(exponent);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::{push_resolved, push_text};

    fn resolved(text: &str) -> String {
        let mut json = String::new();
        push_resolved(&mut json, text);
        json
    }

    #[test]
    fn words_and_numbers_are_resolved() {
        let cases = [
            ("null", "null"),
            ("~", "null"),
            ("Yes", "true"),
            ("off", "false"),
            ("0", "0"),
            ("-12", "-12"),
            ("+12", "12"),
            ("007", "7"),
            ("010", "8"),
            ("08", "8"),
            ("0x1F", "31"),
            ("0b101", "5"),
            ("1_000", "1000"),
            ("0.1", "0.1"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1e3", "1e3"),
            ("1.50E-3", "1.50e-3"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
        ];
        for (text, want) in cases {
            assert_eq!(resolved(text), want, "{text}");
            assert!(serde_json::from_str::<&serde_json::value::RawValue>(want).is_ok(), "{want}");
        }
    }

    #[test]
    fn the_rest_is_text() {
        let texts = [
            "100m",
            "1.5Gi",
            "y",
            "n",
            "1:30",
            "2026-01-01",
            "2026-01-01T00:00:00Z",
            ".inf",
            ".nan",
            "1e",
            "1e+",
            "0x",
            "0xg",
            "0x-1",
            "1.2.3",
            "-",
            "--1",
            "_1",
            "._",
            ".",
            "0o8",
            "e3",
        ];
        for text in texts {
            assert_eq!(resolved(text), format!("\"{text}\""));
        }
    }

    #[test]
    fn text_is_escaped() {
        let mut json = String::new();
        push_text(&mut json, "a\"b\\c\nd\te\u{1}é\u{2028}");
        let text: String = serde_json::from_str(&json).expect(&json);
        assert_eq!(text, "a\"b\\c\nd\te\u{1}é\u{2028}");
    }
}
