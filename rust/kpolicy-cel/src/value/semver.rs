//! Semantic versions, parsed, normalized and ordered as in the Kubernetes CEL library. Build
//! metadata is checked and has no part in equality.

use std::cmp::Ordering;

/// A semantic version.
#[derive(Clone, Debug)]
pub struct Semver {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    prerelease: Vec<Part>,
    build: String,
}

/// Numbers come before texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Text(String),
}

impl Semver {
    /// Reads exactly `MAJOR.MINOR.PATCH`, with a pre-release and build metadata or without.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts.as_slice() else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (*rest, None),
        };
        let (patch, prerelease) = match rest.split_once('-') {
            Some((patch, prerelease)) => (patch, Some(prerelease)),
            None => (rest, None),
        };
        Ok(Self {
            major: number(major, "major")?,
            minor: number(minor, "minor")?,
            patch: number(patch, "patch")?,
            prerelease: prerelease
                .map_or(Ok(Vec::new()), |all| all.split('.').map(part).collect())?,
            build: build.map_or(Ok(String::new()), checked_build)?,
        })
    }

    /// Reads what is nearly a version: a leading `v`, missing parts, leading zeros.
    pub fn parse_normalized(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".into());
        }
        parts.resize(3, "0".into());
        Self::parse(&parts.join("."))
    }

    /// The order of precedence: a pre-release comes before its release.
    pub fn compare(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                _ => self.prerelease.cmp(&other.prerelease),
            }
        })
    }

    /// The version as text, which reads back as the same version.
    pub fn text(&self) -> String {
        let mut text = format!("{}.{}.{}", self.major, self.minor, self.patch);
        for (index, part) in self.prerelease.iter().enumerate() {
            text.push(if index == 0 { '-' } else { '.' });
            match part {
                Part::Number(number) => text.push_str(&number.to_string()),
                Part::Text(part) => text.push_str(part),
            }
        }
        if !self.build.is_empty() {
            text.push('+');
            text.push_str(&self.build);
        }
        text
    }
}

impl PartialEq for Semver {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other).is_eq()
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn number(text: &str, which: &str) -> Result<u64, String> {
    if !is_digits(text) {
        return Err(format!("Invalid character(s) found in {which} number {text:?}"));
    }
    if text.len() > 1 && text.starts_with('0') {
        let mut which = which.to_owned();
        if let Some(first) = which.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        return Err(format!("{which} number must not contain leading zeroes {text:?}"));
    }
    text.parse().map_err(|_| format!("{which} number {text:?} out of range"))
}

fn part(text: &str) -> Result<Part, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".into());
    }
    if !is_word(text) {
        return Err(format!("Invalid character(s) found in prerelease {text:?}"));
    }
    if !is_digits(text) {
        return Ok(Part::Text(text.into()));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("Numeric PreRelease version must not contain leading zeroes {text:?}"));
    }
    text.parse().map(Part::Number).map_err(|_| format!("prerelease {text:?} out of range"))
}

fn checked_build(text: &str) -> Result<String, String> {
    for part in text.split('.') {
        if part.is_empty() {
            return Err("Build meta data is empty".into());
        }
        if !is_word(part) {
            return Err(format!("Invalid character(s) found in build meta data {part:?}"));
        }
    }
    Ok(text.into())
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.into();
    }
    let bare = part.trim_start_matches('0');
    if bare.starts_with(|first: char| first.is_ascii_digit()) {
        bare.into()
    } else {
        format!("0{bare}")
    }
}

#[cfg(test)]
mod tests {
    use super::Semver;

    #[test]
    fn only_versions_are_versions() {
        let accepted =
            ["1.2.3", "0.0.0", "1.2.3-beta.1+build.1", "1.2.3--", "1.2.3+01", "1.2.3-0a"];
        for text in accepted {
            assert_eq!(Semver::parse(text).map(|version| version.text()), Ok(text.into()));
        }
        for text in [
            "",
            "1",
            "1.1",
            "v1.0.0",
            " 1.0.0",
            "1. 0.0",
            "1.0.0 ",
            "01.1.1",
            "1.0.0-",
            "1.0.0-01",
            "1.0.0-a..b",
            "1.0.0+",
            "1.0.0+a..b",
            "1.0.0-a_b",
            "1.2.3.4",
            "18446744073709551616.0.0",
        ] {
            assert!(Semver::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn normalizing_adds_what_is_missing() {
        for (text, whole) in [
            ("v01.01", "1.1.0"),
            ("1", "1.0.0"),
            ("v1.28.3-gke.100", "1.28.3-gke.100"),
            ("00.00.00", "0.0.0"),
            ("1.0.00-rc.1", "1.0.0-rc.1"),
        ] {
            let version = Semver::parse_normalized(text).map(|version| version.text());
            assert_eq!(version, Ok(whole.into()), "{text}");
        }
        for text in ["", " 1.0.0", "1. 0.0", "1.0.0 ", "1.0-rc", "vv1.0.0", "V1.0.0"] {
            assert!(Semver::parse_normalized(text).is_err(), "{text}");
        }
    }

    #[test]
    fn precedence_is_that_of_the_specification() {
        let rising = [
            "0.9.9",
            "1.0.0-1",
            "1.0.0-2",
            "1.0.0-10",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "1.1.0",
            "2.0.0",
        ];
        let versions: Vec<Semver> =
            rising.iter().map(|text| Semver::parse(text).expect("it is a version")).collect();
        for pair in versions.windows(2) {
            assert!(pair[0].compare(&pair[1]).is_lt(), "{pair:?}");
        }
        assert_eq!(Semver::parse("1.0.0+a"), Semver::parse("1.0.0+b"));
    }
}
