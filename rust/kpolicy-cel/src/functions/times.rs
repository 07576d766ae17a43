//! Parts of timestamps and durations.

use super::{Call, Family, family};
use crate::error::Fault;
use crate::prices::WINDOW;
use crate::value::{Civil, Value, Window, zone_offset};

const TIME: &[(&str, &str, &str)] =
    &[("timestamp", "timestamp", "int"), ("timestamp_zone", "timestamp string", "int")];
const BOTH: &[(&str, &str, &str)] = &[
    ("timestamp", "timestamp", "int"),
    ("timestamp_zone", "timestamp string", "int"),
    ("duration", "duration", "int"),
];

pub(super) const FAMILIES: &[Family] = &[
    family("get_full_year", |call| part(call, |at| at.year, None), TIME).parsing(),
    family("get_month", |call| part(call, |at| at.month - 1, None), TIME).parsing(),
    family("get_date", |call| part(call, |at| at.day, None), TIME).parsing(),
    family("get_day_of_month", |call| part(call, |at| at.day - 1, None), TIME).parsing(),
    family("get_day_of_week", |call| part(call, |at| at.weekday, None), TIME).parsing(),
    family("get_day_of_year", |call| part(call, |at| at.day_of_year, None), TIME).parsing(),
    family("get_hours", |call| part(call, |at| at.hour, Some(3_600_000_000_000)), BOTH).parsing(),
    family("get_minutes", |call| part(call, |at| at.minute, Some(60_000_000_000)), BOTH).parsing(),
    family("get_seconds", |call| part(call, |at| at.second, Some(1_000_000_000)), BOTH).parsing(),
    family("get_milliseconds", |call| part(call, |at| at.nanos / 1_000_000, Some(1_000_000)), BOTH)
        .parsing(),
    family(
        "within",
        within,
        &[
            ("timestamp_duration", "timestamp string duration", "bool"),
            ("timestamp_duration_zone", "timestamp string duration string", "bool"),
        ],
    )
    .parsing(),
];

/// The window of a call of `within`, by the operands behind the timestamp; without a zone by UTC.
pub(crate) fn window_of(args: &[Value]) -> Result<Window, Fault> {
    let (cron, open, zone) = match args {
        [Value::String(cron), Value::Duration(open)] => (cron, open, "UTC"),
        [Value::String(cron), Value::Duration(open), Value::String(zone)] => (cron, open, &**zone),
        _ => return Err(Fault::no_such_overload()),
    };
    Window::new(cron, *open, zone).map_err(Fault::invalid)
}

/// `time.within(cron, duration[, zone])`.
fn within(call: &mut Call<'_>) -> Result<Value, Fault> {
    let Some((Value::Timestamp(time), window)) = call.args.split_first() else {
        return Err(Fault::no_such_overload());
    };
    call.budget.charge(WINDOW)?;
    Ok(Value::Bool(window_of(window)?.is_open(*time)))
}

/// `of` of a timestamp; of a duration the whole of it in units of so many nanoseconds.
fn part(
    call: &mut Call<'_>,
    of: fn(Civil) -> i64,
    in_duration: Option<i128>,
) -> Result<Value, Fault> {
    match (call.args, in_duration) {
        ([Value::Timestamp(time)], _) => Ok(Value::Int(of(time.civil(0)))),
        ([Value::Timestamp(time), Value::String(zone)], _) => {
            let offset = zone_offset(zone, time.seconds())
                .ok_or_else(|| Fault::invalid(format!("unknown time zone: {zone}")))?;
            Ok(Value::Int(of(time.civil(offset))))
        }
        ([Value::Duration(duration)], Some(unit)) => {
            let units = duration.nanos() / unit;
            i64::try_from(units).map(Value::Int).map_err(|_| Fault::overflow("duration"))
        }
        _ => Err(Fault::no_such_overload()),
    }
}
