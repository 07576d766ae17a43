//! Timestamps: RFC 3339 text to seconds since the epoch.
//!
//! Specification: `metav1.Time` is RFC 3339 with a date, a time of day and `Z` or an offset. A
//! fraction is read and dropped, as the API keeps whole seconds.

/// `None` where the text is not a timestamp.
pub(crate) fn seconds(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let year: i64 = number(date.get(0..4)?)?;
    let month = number(date.get(5..7)?)?;
    let day = number(date.get(8..10)?)?;
    let separated = date.get(4..5)? == "-" && date.get(7..8)? == "-";
    if !separated || !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (time, rest) = rest.split_at_checked(8)?;
    let hour = number(time.get(0..2)?)?;
    let minute = number(time.get(3..5)?)?;
    let second = number(time.get(6..8)?)?;
    let separated = time.get(2..3)? == ":" && time.get(5..6)? == ":";
    if !separated || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            if zone.len() == fraction.len() {
                return None;
            }
            zone
        }
        None => rest,
    };
    let of_day = hour * 3_600 + minute * 60 + second - offset(zone)?;
    Some(days_since_epoch(year, month, day) * 86_400 + of_day)
}

fn number(text: &str) -> Option<i64> {
    text.bytes()
        .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

/// Seconds east of UTC.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" || zone == "z" {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hour = number(zone.get(1..3)?)?;
    let minute = number(zone.get(4..6)?)?;
    let is_whole = zone.len() == 6 && zone.get(3..4)? == ":" && hour <= 23 && minute <= 59;
    is_whole.then_some(sign * (hour * 3_600 + minute * 60))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the proleptic Gregorian calendar; years start in March so that leap days come last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    const DAYS_TO_EPOCH: i64 = 719_468;
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + of_year - DAYS_TO_EPOCH
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_are_read_with_offsets_and_fractions() {
        let cases = [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-02T00:00:01Z", 86_401),
            ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-11-21T13:24:14Z", 1_795_267_454),
            ("2026-11-21T13:24:14.123456789Z", 1_795_267_454),
            ("2026-11-21T14:24:14+01:00", 1_795_267_454),
            ("2026-11-21T07:54:14-05:30", 1_795_267_454),
            ("0001-01-01T00:00:00Z", -62_135_596_800),
        ];
        for (text, want) in cases {
            assert_eq!(seconds(text), Some(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let cases = [
            "",
            "2026-11-21",
            "2026-11-21T13:24:14",
            "2026-13-01T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2026-11-21T24:00:00Z",
            "2026-11-21T13:24:14.Z",
            "2026-11-21T13:24:14+0100",
            "2026-11-21T13:24:14+01:00x",
            "+026-11-21T13:24:14Z",
            "2026/11/21T13:24:14Z",
            "１９７０-01-01T00:00:00Z",
        ];
        for text in cases {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
