//! The named formats of the Kubernetes CEL library, such as `dns1123Label`: checks a text, and
//! explains in the API's own words why it does not match.
//!
//! Lengths are bytes. Each pattern is matched by a walk over the text.

use super::{Timestamp, Url};

/// A format of texts that the Kubernetes CEL library knows by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamedFormat {
    /// A label as RFC 1123 has it.
    Dns1123Label,
    /// A subdomain as RFC 1123 has it.
    Dns1123Subdomain,
    /// A label as RFC 1035 has it: its first character is a letter.
    Dns1035Label,
    /// A key of a label, perhaps with a prefix and a slash.
    QualifiedName,
    /// The beginning of a generated name that is an RFC 1123 label.
    Dns1123LabelPrefix,
    /// The beginning of a generated name that is an RFC 1123 subdomain.
    Dns1123SubdomainPrefix,
    /// The beginning of a generated name that is an RFC 1035 label.
    Dns1035LabelPrefix,
    /// A value of a label.
    LabelValue,
    /// A URL, or an absolute path.
    Uri,
    /// A UUID.
    Uuid,
    /// Bytes in base64.
    Byte,
    /// A date, as in `2026-01-31`.
    Date,
    /// A date with a time, as in `2026-01-31T12:00:00Z`.
    Datetime,
}

const LABEL_BYTES_MAX: usize = 63;
const SUBDOMAIN_BYTES_MAX: usize = 253;

const DNS_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS_SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const LABEL_KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

impl NamedFormat {
    /// Every format.
    pub const ALL: [Self; 13] = [
        Self::Dns1123Label,
        Self::Dns1123Subdomain,
        Self::Dns1035Label,
        Self::QualifiedName,
        Self::Dns1123LabelPrefix,
        Self::Dns1123SubdomainPrefix,
        Self::Dns1035LabelPrefix,
        Self::LabelValue,
        Self::Uri,
        Self::Uuid,
        Self::Byte,
        Self::Date,
        Self::Datetime,
    ];

    /// Its name in expressions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dns1123Label => "dns1123Label",
            Self::Dns1123Subdomain => "dns1123Subdomain",
            Self::Dns1035Label => "dns1035Label",
            Self::QualifiedName => "qualifiedName",
            Self::Dns1123LabelPrefix => "dns1123LabelPrefix",
            Self::Dns1123SubdomainPrefix => "dns1123SubdomainPrefix",
            Self::Dns1035LabelPrefix => "dns1035LabelPrefix",
            Self::LabelValue => "labelValue",
            Self::Uri => "uri",
            Self::Uuid => "uuid",
            Self::Byte => "byte",
            Self::Date => "date",
            Self::Datetime => "datetime",
        }
    }

    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// What is wrong with the text; nothing if it has the format.
    pub fn complaints(self, text: &str) -> Vec<String> {
        match self {
            Self::Dns1123Label => dns_label(text),
            Self::Dns1123LabelPrefix => dns_label(&masked(text)),
            Self::Dns1123Subdomain => dns_subdomain(text, CHARACTERS),
            Self::Dns1123SubdomainPrefix => dns_subdomain(&masked(text), CHARACTERS),
            Self::Dns1035Label => dns_1035(text),
            Self::Dns1035LabelPrefix => dns_1035(&masked(text)),
            Self::QualifiedName => qualified_name(text),
            Self::LabelValue => {
                let is_value = text.is_empty() || is_label_key(text);
                listed([too_long(text, LABEL_BYTES_MAX, BYTES), unless(is_value, LABEL_VALUE)])
            }
            Self::Uri => Url::is_request(text).err().into_iter().collect(),
            Self::Uuid => listed([unless(is_uuid(text), "does not match the UUID format")]),
            Self::Byte => listed([unless(is_base64(text), "invalid base64")]),
            Self::Date => listed([unless(is_date(text), "invalid date")]),
            Self::Datetime => listed([unless(is_datetime(text), "invalid datetime")]),
        }
    }
}

fn listed<const COUNT: usize>(found: [Option<String>; COUNT]) -> Vec<String> {
    found.into_iter().flatten().collect()
}

fn unless(holds: bool, complaint: &str) -> Option<String> {
    (!holds).then(|| complaint.to_owned())
}

/// The API says `bytes` of keys and values of labels, and `characters` of other names.
const BYTES: &str = "bytes";
const CHARACTERS: &str = "characters";

fn too_long(text: &str, bytes_max: usize, unit: &str) -> Option<String> {
    (text.len() > bytes_max).then(|| format!("must be no more than {bytes_max} {unit}"))
}

/// A name that will get something appended may end in a dash: its last two characters stand for one
/// that is fine.
fn masked(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(bare) if !bare.is_empty() => {
            let mut kept: String = bare.into();
            kept.pop();
            kept.push('a');
            kept
        }
        _ => text.into(),
    }
}

const fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_dns_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().copied().is_some_and(is_lower)
        && bytes.last().copied().is_some_and(is_lower)
        && bytes.iter().all(|byte| is_lower(*byte) || *byte == b'-')
}

fn is_dns_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns_label)
}

fn is_label_key(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn dns_label(text: &str) -> Vec<String> {
    let complaint = if is_dns_subdomain(text) { "must not contain dots" } else { DNS_LABEL };
    listed([too_long(text, LABEL_BYTES_MAX, CHARACTERS), unless(is_dns_label(text), complaint)])
}

fn dns_subdomain(text: &str, unit: &str) -> Vec<String> {
    listed([
        too_long(text, SUBDOMAIN_BYTES_MAX, unit),
        unless(is_dns_subdomain(text), DNS_SUBDOMAIN),
    ])
}

fn dns_1035(text: &str) -> Vec<String> {
    let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let is_label = starts_well && is_dns_label(text);
    listed([too_long(text, LABEL_BYTES_MAX, CHARACTERS), unless(is_label, DNS_1035)])
}

fn qualified_name(text: &str) -> Vec<String> {
    let mut parts = text.split('/');
    let (first, second, third) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if third.is_some() {
        return vec![format!(
            "a valid label key {LABEL_KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )];
    }
    let (prefix, name) = match second {
        Some(name) => (Some(first), name),
        None => (None, first),
    };
    let mut found: Vec<String> = match prefix {
        Some("") => vec!["prefix part must be non-empty".into()],
        Some(prefix) => dns_subdomain(prefix, BYTES)
            .into_iter()
            .map(|each| format!("prefix part {each}"))
            .collect(),
        None => Vec::new(),
    };
    let length = if name.is_empty() {
        Some("must be non-empty".into())
    } else {
        too_long(name, LABEL_BYTES_MAX, BYTES)
    };
    let of_name = listed([length, unless(is_label_key(name), LABEL_KEY)]);
    found.extend(of_name.into_iter().map(|each| format!("name part {each}")));
    found
}

/// 8-4-4-4-12 hexadecimal digits, each dash optional.
fn is_uuid(text: &str) -> bool {
    let mut rest = text.as_bytes();
    for (index, digits) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let Some((group, behind)) = rest.split_at_checked(digits) else { return false };
        if !group.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        rest = behind;
    }
    rest.is_empty()
}

/// Padded base64 of at least one byte.
fn is_base64(text: &str) -> bool {
    let bare = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    !bare.is_empty() && text.len().is_multiple_of(4) && bare.bytes().all(is_digit)
}

/// The year 0 is a leap year as 2000 is, but before the first timestamp.
fn is_date(text: &str) -> bool {
    let later = text.strip_prefix("0000").map(|day| format!("2000{day}"));
    let date = later.as_deref().unwrap_or(text);
    date.len() == 10 && Timestamp::parse(&format!("{date}T00:00:00Z")).is_some()
}

fn is_datetime(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time(time)
}

/// `hh:mm:ss`, one of any character with digits behind it, `z` or an offset.
fn is_time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else { return false };
    let zone = |rest: &str| rest == "z" || is_offset(rest);
    let mut characters = rest.chars();
    characters.next();
    let behind = characters.as_str();
    let fraction = behind.trim_start_matches(|each: char| each.is_ascii_digit());
    is_clock(clock) && (zone(rest) || (fraction.len() < behind.len() && zone(fraction)))
}

fn is_clock(text: &str) -> bool {
    match text.as_bytes() {
        [h, hh, b':', m, mm, b':', s, ss] => {
            [h, hh, m, mm, s, ss].into_iter().all(u8::is_ascii_digit)
                && (*h, *hh) <= (b'2', b'3')
                && *m <= b'5'
                && *s <= b'5'
        }
        _ => false,
    }
}

fn is_offset(text: &str) -> bool {
    match text.as_bytes() {
        [b'+' | b'-', h, hh, b':', m, mm] => [h, hh, m, mm].into_iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::NamedFormat::{self, *};

    fn check(format: NamedFormat, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(format.complaints(text), [""; 0], "{format:?} {text}");
        }
        for text in bad {
            assert!(!format.complaints(text).is_empty(), "{format:?} {text}");
        }
    }

    #[test]
    fn texts_have_the_format_or_not() {
        let long = "a".repeat(64);
        check(Dns1123Label, &["my-label", "0", "a"], &["", "A", "-a", "a-", "a.b", "a b", &long]);
        check(Dns1123Subdomain, &["a.b-c.d", &long], &["", ".a", "a.", "a..b", "a.-b", "A"]);
        check(Dns1035Label, &["my-label", "a1"], &["1a", "a-", "", "a.b", &long]);
        check(Dns1123LabelPrefix, &["my-prefix-", "a"], &["my prefix-", "-"]);
        check(Dns1123SubdomainPrefix, &["my.sub.-", "a-"], &["a__-"]);
        check(Dns1035LabelPrefix, &["my-"], &["1ab-", "a z-b-"]);
        check(LabelValue, &["", "my-Value_1.x"], &["-a", "a-", "a/b", &long]);
        check(QualifiedName, &["a.b/c_D", "x"], &["", "/x", "a/", "A/b", "a/b/c", "a/-", &long]);
        check(Uri, &["http://example.com", "/x"], &["x", ""]);
        let uuid = "123e4567-e89b-12d3-a456-426614174000";
        check(
            Uuid,
            &[uuid, "123E4567e89b12d3a456426614174000"],
            &["", "123e4567", &format!("{uuid}0")],
        );
        check(Byte, &["aGVsbG8=", "aGVs"], &["aGVsbG8", "", "=", "aGV*"]);
        check(Date, &["2020-02-29"], &["2020-01-32", "2021-02-29", "2020-1-1", "x"]);
        check(
            Datetime,
            &["2021-01-01T00:00:00Z", "2021-01-01t23:59:59.123+01:00", "2021-01-01T00:00:00,5z"],
            &[
                "2020-01-32T00:00:00Z",
                "2021-01-01T24:00:00Z",
                "2021-01-01T00:60:00Z",
                "2021-01-01",
                "2021-01-01T00:00:00",
                "2021-01-01T00:00:00.Z",
                "2021-01-01T00:00:0éZ",
            ],
        );
    }

    #[test]
    fn a_dotted_label_is_told_so() {
        assert_eq!(Dns1123Label.complaints("a.b"), ["must not contain dots"]);
        let both = Dns1123Label.complaints(&"a.".repeat(40));
        assert_eq!(both.len(), 2);
        assert_eq!(both[0], "must be no more than 63 characters");
    }

    #[test]
    fn names_lead_back() {
        for format in NamedFormat::ALL {
            assert_eq!(NamedFormat::named(format.name()), Some(format));
        }
        assert_eq!(NamedFormat::named("unknown"), None);
    }
}
