//! Doubles as `format` writes them: in English, with commas between groups of figures.

/// `1,234.500000`.
pub(super) fn fixed(value: f64, precision: usize) -> String {
    if !value.is_finite() {
        return special(value).into();
    }
    let text = format!("{:.precision$}", value.abs());
    let (whole, fraction) = text.split_once('.').map_or((&*text, ""), |(a, b)| (a, b));
    let mut written = String::from(if value < 0.0 { "-" } else { "" });
    for (at, figure) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            written.push(',');
        }
        written.push(figure);
    }
    if !fraction.is_empty() {
        written.push('.');
        written.push_str(fraction);
    }
    written
}

/// `1.234500×10⁰³`. There are always six decimal places: the precision is the least width of the
/// whole.
pub(super) fn scientific(value: f64, width: usize) -> String {
    let text = if value.is_finite() { powered(value) } else { special(value).into() };
    let missing = width.saturating_sub(text.chars().count());
    format!("{}{text}", " ".repeat(missing))
}

fn powered(value: f64) -> String {
    let text = format!("{:.6e}", value.abs());
    let (figures, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mut written = String::from(if value < 0.0 { "-" } else { "" });
    written.push_str(figures);
    written.push_str("×10");
    if exponent < 0 {
        written.push('⁻');
    }
    written.extend(format!("{:02}", exponent.unsigned_abs()).chars().filter_map(raised));
    written
}

fn raised(figure: char) -> Option<char> {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    RAISED.get(usize::try_from(figure.to_digit(10)?).ok()?).copied()
}

const fn special(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "∞"
    } else {
        "-∞"
    }
}
