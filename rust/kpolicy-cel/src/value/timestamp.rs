//! Points in time and their calendar: UTC, or a fixed offset. Years 1 to 9999.

use super::Duration;

const NANOS: i128 = 1_000_000_000;
const DAY: i64 = 86_400;
/// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// Seconds and nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp {
    seconds: i64,
    nanos: u32,
}

/// A timestamp taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Civil {
    /// The year.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// 0 to 23.
    pub hour: i64,
    /// 0 to 59.
    pub minute: i64,
    /// 0 to 59.
    pub second: i64,
    /// Nanoseconds within the second.
    pub nanos: i64,
    /// 0 is Sunday.
    pub weekday: i64,
    /// 0 is the first of January.
    pub day_of_year: i64,
}

impl Timestamp {
    /// The first moment of the range, which is Go's zero.
    pub const MIN: Self = Self { seconds: *SECONDS.start(), nanos: 0 };

    /// The moment so long after the epoch, unless it is out of range.
    pub fn new(seconds: i64, nanos: u32) -> Option<Self> {
        (SECONDS.contains(&seconds) && nanos < 1_000_000_000).then_some(Self { seconds, nanos })
    }

    fn from_nanos(nanos: i128) -> Option<Self> {
        let seconds = i64::try_from(nanos.div_euclid(NANOS)).ok()?;
        Self::new(seconds, u32::try_from(nanos.rem_euclid(NANOS)).ok()?)
    }

    fn since_epoch(self) -> i128 {
        i128::from(self.seconds) * NANOS + i128::from(self.nanos)
    }

    /// Whole seconds since the epoch.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// The moment later by a duration, unless it is out of range.
    pub fn plus(self, duration: Duration) -> Option<Self> {
        Self::from_nanos(self.since_epoch().checked_add(duration.nanos())?)
    }

    /// The moment earlier by a duration, unless it is out of range.
    pub fn minus(self, duration: Duration) -> Option<Self> {
        // Nor may the duration be one that has no opposite.
        Self::from_nanos(self.since_epoch() + Duration::from_nanos(-duration.nanos())?.nanos())
    }

    /// The time from `earlier` until this moment, unless it is out of range.
    pub fn since(self, earlier: Self) -> Option<Duration> {
        Duration::from_nanos(self.since_epoch() - earlier.since_epoch())
    }

    /// The calendar at `offset` seconds east of Greenwich.
    pub fn civil(self, offset: i64) -> Civil {
        let local = self.seconds + offset;
        let days = local.div_euclid(DAY);
        let second_of_day = local.rem_euclid(DAY);
        let (year, month, day) = date_of(days);
        Civil {
            year,
            month,
            day,
            hour: second_of_day / 3600,
            minute: second_of_day / 60 % 60,
            second: second_of_day % 60,
            nanos: i64::from(self.nanos),
            weekday: (days + 4).rem_euclid(7),
            day_of_year: days - days_of(year, 1, 1),
        }
    }

    /// Reads RFC 3339 as Go does: the hour may have one figure, a comma may stand for the point,
    /// and an offset may be 24 hours or 60 minutes.
    pub fn parse(text: &str) -> Option<Self> {
        let year = digits(text.get(0..4)?)?;
        let month = digits(text.get(5..7)?)?;
        let day = digits(text.get(8..10)?)?;
        let clock = text.get(11..)?;
        let (hour, rest) =
            clock.split_at_checked(clock.find(':').filter(|at| (1..=2).contains(at))?)?;
        let hour = digits(hour)?;
        let minute = digits(rest.get(1..3)?)?;
        let second = digits(rest.get(4..6)?)?;
        let fits = text.get(4..=4)? == "-"
            && text.get(7..=7)? == "-"
            && text.get(10..=10)? == "T"
            && rest.get(3..=3)? == ":"
            && (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        if !fits {
            return None;
        }
        let (nanos, zone) = fraction(rest.get(6..)?)?;
        let seconds = days_of(year, month, day) * DAY + hour * 3600 + minute * 60 + second
            - fixed_offset(zone)?;
        Self::new(seconds, nanos)
    }

    /// RFC 3339 in UTC, with as many digits of a second as needed.
    pub fn text(self) -> String {
        let at = self.civil(0);
        let mut text = format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            at.year, at.month, at.day, at.hour, at.minute, at.second
        );
        if self.nanos != 0 {
            text.push('.');
            text.push_str(format!("{:09}", self.nanos).trim_end_matches('0'));
        }
        text.push('Z');
        text
    }
}

/// Seconds east of Greenwich of `Z`, `+02:00`, `-08:30`.
fn fixed_offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, rest) = match zone.as_bytes().first()? {
        b'-' => (-1, zone.get(1..)?),
        b'+' => (1, zone.get(1..)?),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours <= 24 && minutes <= 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn digits(text: &str) -> Option<i64> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Splits `.123456789Z` into nanoseconds and the zone.
fn fraction(text: &str) -> Option<(u32, &str)> {
    let Some(rest) = text.strip_prefix(['.', ',']) else {
        return Some((0, text));
    };
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (figures, zone) = rest.split_at(end);
    if figures.is_empty() {
        return None;
    }
    // Figures behind the ninth are cut off.
    let nanos: u32 = format!("{figures:0<9}").get(..9)?.parse().ok()?;
    Some((nanos, zone))
}

fn leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar, counted in eras of 400
/// years that begin in March.
pub(super) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}
