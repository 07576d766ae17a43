//! Cron expressions with five fields, in the dialect of a CronJob's schedule.
//!
//! Minute, hour, day of the month, month, day of the week (0 is Sunday). If both days are restricted,
//! either of them is enough. `@hourly` and the like stand for five fields.

/// What an expression may hold, so that reading one is bounded.
const BYTES_MAX: usize = 256;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// When something begins, by the clock and the calendar of a place. A bit for each number that a
/// field allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cron {
    pub(super) minutes: u64,
    pub(super) hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both days are restricted.
    is_either_day: bool,
}

impl Cron {
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > BYTES_MAX {
            return None;
        }
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let mut fields = text.split_ascii_whitespace();
        let (minutes, _) = field(fields.next()?, 0..=59, &[])?;
        let (hours, _) = field(fields.next()?, 0..=23, &[])?;
        let (days, is_any_day) = field(fields.next()?, 1..=31, &[])?;
        let (months, _) = field(fields.next()?, 1..=12, &MONTHS)?;
        let (weekdays, is_any_weekday) = field(fields.next()?, 0..=6, &WEEKDAYS)?;
        let is_either_day = !is_any_day && !is_any_weekday;
        fields.next().is_none().then_some(Self {
            minutes,
            hours,
            days,
            months,
            weekdays,
            is_either_day,
        })
    }

    /// Whether it may begin on a date; the day of the week of a Sunday is 0.
    pub(super) fn has_date(&self, month: i64, day: i64, weekday: i64) -> bool {
        let of_month = has(self.days, day);
        let of_week = has(self.weekdays, weekday);
        let is_day = if self.is_either_day { of_month || of_week } else { of_month && of_week };
        has(self.months, month) && is_day
    }
}

pub(super) fn has(bits: u64, number: i64) -> bool {
    u32::try_from(number).is_ok_and(|number| number < u64::BITS && bits & (1 << number) != 0)
}

/// The numbers that a field allows, and whether it is `*` or `?`.
fn field(text: &str, range: std::ops::RangeInclusive<u32>, names: &[&str]) -> Option<(u64, bool)> {
    let mut bits = 0;
    let mut is_any = false;
    for item in text.split(',') {
        let (span, step) = match item.split_once('/') {
            Some((span, step)) => (span, Some(number(step)?).filter(|step| *step > 0)?),
            None => (item, 1),
        };
        let named = |word: &str| {
            let position = names.iter().position(|name| word.eq_ignore_ascii_case(name));
            let found = position.and_then(|position| u32::try_from(position).ok());
            found.map(|position| position + range.start()).or_else(|| number(word))
        };
        let (first, last) = match span.split_once('-') {
            Some((first, last)) => (named(first)?, named(last)?),
            None if span == "*" || span == "?" => {
                is_any |= step == 1;
                (*range.start(), *range.end())
            }
            // As in a CronJob, `5/10` goes on to the end.
            None if item.contains('/') => (named(span)?, *range.end()),
            None => (named(span)?, named(span)?),
        };
        if !range.contains(&first) || !range.contains(&last) || first > last {
            return None;
        }
        let step = usize::try_from(step).ok()?;
        (first..=last).step_by(step).for_each(|allowed| bits |= 1 << allowed);
    }
    Some((bits, is_any))
}

/// One or two figures, without a sign.
fn number(text: &str) -> Option<u32> {
    let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::Cron;

    #[test]
    fn the_dialect_of_a_cron_job() {
        let good = [
            "* * * * *",
            "0 22 * * 1-5",
            "*/15 0-6,22-23 1,15 JAN-mar MON",
            "5/10 ? ? * sun",
            "@daily",
            "  0  0 * * *  ",
        ];
        for text in good {
            assert!(Cron::parse(text).is_some(), "{text}");
        }
        let bad = [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 7",
            "5-1 * * * *",
            "*/0 * * * *",
            "+1 * * * *",
            "1- * * * *",
            "a * * * *",
            "1,,2 * * * *",
            "@every 5m",
            "* * * * MONDAY",
            "1/2/3 * * * *",
            "001 * * * *",
        ];
        for text in bad {
            assert_eq!(Cron::parse(text), None, "{text}");
        }
        assert_eq!(Cron::parse(&format!("0 {} * * *", "1,".repeat(200))), None);
    }

    #[test]
    fn either_day_is_enough_where_both_are_restricted() {
        let on = |text: &str, day, weekday| {
            Cron::parse(text).is_some_and(|cron| cron.has_date(3, day, weekday))
        };
        assert!(on("0 0 13 * 5", 13, 2) && on("0 0 13 * 5", 6, 5) && !on("0 0 13 * 5", 6, 4));
        assert!(on("0 0 13 * *", 13, 2) && !on("0 0 13 * *", 6, 5));
        assert!(on("0 0 * * 5", 6, 5) && !on("0 0 * * 5", 13, 2));
    }
}
