//! Time windows: each opens where a cron expression says, by the clock of a time zone, and stays open
//! for a duration.
//!
//! A clock that is put forward may skip the time at which a window opens: it opens as much later. One
//! that is put back may show it twice: the window opens the first time.

use super::cron::{Cron, has};
use super::{Duration, Timestamp, zone_offset};

const DAY: i64 = 86_400;
const MINUTE: i64 = 60;
/// How long a window may be open.
const SECONDS_MAX: i64 = 31 * DAY;
/// How far ahead the next opening is looked for: a leap day may be eight years away.
const DAYS_AHEAD: i64 = 8 * 366 + 2;

/// A window that opens again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    cron: Cron,
    seconds: i64,
    zone: Box<str>,
}

impl Window {
    /// The window, or what is wrong with what it was made of.
    pub(crate) fn new(cron: &str, open: Duration, zone: &str) -> Result<Self, String> {
        let Some(parsed) = Cron::parse(cron) else {
            return Err(format!("invalid cron expression: {cron}"));
        };
        let seconds = i64::try_from(open.nanos().div_euclid(1_000_000_000)).unwrap_or(i64::MAX);
        if !(MINUTE..=SECONDS_MAX).contains(&seconds) {
            return Err("a window is open for at least 1m and at most 744h".to_owned());
        }
        if zone_offset(zone, 0).is_none() {
            return Err(format!("unknown time zone: {zone}"));
        }
        Ok(Self { cron: parsed, seconds, zone: zone.into() })
    }

    /// Whether the window is open.
    pub fn is_open(&self, at: Timestamp) -> bool {
        self.opens_after(at.seconds() - self.seconds, at.seconds()).is_some()
    }

    /// The next whole minute at which the window may open or close; `None` if that is years ahead.
    pub fn changes_after(&self, at: Timestamp) -> Option<Timestamp> {
        let at = at.seconds();
        let closes = self.opens_after(at - self.seconds, at).map(|opened| opened + self.seconds);
        let opens = self.opens_after(at, closes.unwrap_or(at + DAYS_AHEAD * DAY));
        let next = closes.into_iter().chain(opens).min()?;
        Timestamp::new(next + (-next).rem_euclid(MINUTE), 0)
    }

    /// When it opens first after a moment, up to another one.
    fn opens_after(&self, after: i64, until: i64) -> Option<i64> {
        // The clock differs from Greenwich by less than the days that are looked at more.
        let (first, last) = (after.div_euclid(DAY) - 2, until.div_euclid(DAY) + 2);
        let last = last.min(first + DAYS_AHEAD + 4);
        for day in first..=last {
            let date = Timestamp::new(day * DAY, 0)?.civil(0);
            if !self.cron.has_date(date.month, date.day, date.weekday) {
                continue;
            }
            if let Some(opens) = self.opens_on(day * DAY, after) {
                return (opens <= until).then_some(opens);
            }
        }
        None
    }

    /// The first opening after a moment, of a day that begins at `midnight` by the clock.
    fn opens_on(&self, midnight: i64, after: i64) -> Option<i64> {
        let clock = Clock::of_day(&self.zone, midnight);
        let minutes = (0..60).filter(|minute| has(self.cron.minutes, *minute));
        let hours = (0..24).filter(|hour| has(self.cron.hours, *hour));
        let shown = hours.flat_map(|hour| {
            minutes.clone().map(move |minute| midnight + hour * 3600 + minute * MINUTE)
        });
        let mut moments = shown.map(|shown| clock.moment(shown)).filter(|opens| *opens > after);
        // What a clock shows in a row happens in a row, unless it is put forward or back that day.
        if clock.before == clock.after { moments.next() } else { moments.min() }
    }
}

/// The clock of a zone around one day, in seconds east of Greenwich.
struct Clock {
    before: i64,
    after: i64,
    /// The first moment with the offset `after`, where the two differ.
    changes: i64,
}

impl Clock {
    fn of_day(zone: &str, midnight: i64) -> Self {
        let at = |moment: i64| zone_offset(zone, moment).unwrap_or_default();
        let (mut first, mut last) = (midnight - DAY, midnight + 2 * DAY);
        let (before, after) = (at(first), at(last));
        while before != after && last - first > 1 {
            let middle = first.midpoint(last);
            if at(middle) == before { first = middle } else { last = middle }
        }
        Self { before, after, changes: last }
    }

    /// The moment at which it shows something first; what it skips, it shows later by what it skips.
    fn moment(&self, shown: i64) -> i64 {
        let (early, late) = (shown - self.before, shown - self.after);
        if early >= self.changes && late >= self.changes { late } else { early }
    }
}

#[cfg(test)]
mod tests {
    use super::Window;
    use crate::value::{Duration, Timestamp};

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn window(cron: &str, minutes: i128, zone: &str) -> Window {
        Window::new(cron, Duration::from_nanos(minutes * 60_000_000_000).unwrap(), zone).unwrap()
    }

    #[test]
    fn open_from_the_minute_it_opens_until_it_closes() {
        let nights = window("0 22 * * 1-5", 8 * 60, "Europe/Berlin");
        // A Friday evening in winter: 22:00 is 21:00 in Greenwich.
        let cases = [
            ("2026-11-27T20:59:59Z", false, "2026-11-27T21:00:00Z"),
            ("2026-11-27T21:00:00Z", true, "2026-11-28T05:00:00Z"),
            ("2026-11-28T04:59:00Z", true, "2026-11-28T05:00:00Z"),
            ("2026-11-28T05:00:00Z", false, "2026-11-30T21:00:00Z"),
            ("2026-07-01T20:00:00Z", true, "2026-07-02T04:00:00Z"),
        ];
        for (time, is_open, next) in cases {
            assert_eq!(nights.is_open(at(time)), is_open, "{time}");
            assert_eq!(nights.changes_after(at(time)), Some(at(next)), "{time}");
        }
    }

    /// In Berlin on 29 March 2026 there is no 02:30, on 25 October 2026 there are two.
    #[test]
    fn a_clock_that_is_put_forward_or_back() {
        let daily = window("30 2 * * *", 60, "Europe/Berlin");
        let cases = [
            ("2026-03-29T01:29:00Z", false),
            ("2026-03-29T01:30:00Z", true),
            ("2026-03-29T02:29:00Z", true),
            ("2026-03-29T02:30:00Z", false),
            ("2026-10-25T00:30:00Z", true),
            ("2026-10-25T01:29:00Z", true),
            ("2026-10-25T01:30:00Z", false),
        ];
        for (time, is_open) in cases {
            assert_eq!(daily.is_open(at(time)), is_open, "{time}");
        }
    }

    /// What is told of changes is what asking each minute finds.
    #[test]
    fn nothing_changes_before_it_is_told() {
        let windows = [
            window("0 22 * * 1-5", 8 * 60, "America/New_York"),
            window("*/20 1-3 * * *", 45, "Australia/Lord_Howe"),
            window("0 0 1 * *", 31 * 24 * 60, "UTC"),
            window("15 4 29 2 *", 30, "-08:30"),
            window("* * * * *", 1, "Asia/Kathmandu"),
        ];
        let mut minutes = 0;
        for window in windows {
            let mut time = at("2028-02-27T00:00:00Z");
            let end = at("2028-04-04T00:00:00Z");
            let mut told = window.changes_after(time);
            while time < end {
                let next = Timestamp::new(time.seconds() + 60, 0).unwrap();
                let is_told = told.is_some_and(|told| told <= next);
                assert!(
                    is_told || window.is_open(time) == window.is_open(next),
                    "{window:?} {next:?}"
                );
                told = if is_told { window.changes_after(next) } else { told };
                time = next;
                minutes += 1;
            }
        }
        assert_eq!(minutes, 5 * 37 * 24 * 60);
    }

    #[test]
    fn what_is_no_window() {
        let hour = Duration::from_nanos(3_600_000_000_000).unwrap();
        let short = Duration::from_nanos(1_000_000_000).unwrap();
        let told = |cron, open, zone| Window::new(cron, open, zone).unwrap_err();
        assert_eq!(told("0 22 * *", hour, "UTC"), "invalid cron expression: 0 22 * *");
        assert_eq!(told("0 22 * * *", hour, "Nowhere/Town"), "unknown time zone: Nowhere/Town");
        assert_eq!(
            told("0 22 * * *", short, "UTC"),
            "a window is open for at least 1m and at most 744h"
        );
    }
}
