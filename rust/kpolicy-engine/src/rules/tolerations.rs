//! When a toleration tolerates a taint.

use crate::model::{Taint, Toleration, TolerationOperator};
use crate::release::{Followed, Gate};

/// Which operators of tolerations are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operators {
    /// `Equal` and `Exists`.
    Plain,
    /// Also `Lt` and `Gt`, which compare whole numbers.
    Comparing,
}

impl Operators {
    pub(crate) fn of(followed: Followed) -> Self {
        let compares = followed.has(Gate::TaintTolerationComparisonOperators);
        if compares { Self::Comparing } else { Self::Plain }
    }
}

/// The API says that an empty effect or key matches any, and that `Exists` compares no value.
pub(crate) fn tolerates(toleration: &Toleration, taint: &Taint, operators: Operators) -> bool {
    let compares = |wanted: fn(&i64, &i64) -> bool| {
        let numbers = whole_number(&taint.value).zip(whole_number(&toleration.value));
        operators == Operators::Comparing && numbers.is_some_and(|(has, than)| wanted(&has, &than))
    };
    toleration.effect.is_none_or(|effect| effect == taint.effect)
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && match toleration.operator {
            TolerationOperator::Equal => toleration.value == taint.value,
            TolerationOperator::Exists => true,
            TolerationOperator::Lt => compares(i64::lt),
            TolerationOperator::Gt => compares(i64::gt),
            TolerationOperator::Unknown => false,
        }
}

/// The first taint that keeps pods away and is not tolerated.
pub(crate) fn first_untolerated_hard<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    operators: Operators,
) -> Option<&'a Taint> {
    taints.iter().find(|taint| {
        let tolerated = |toleration| tolerates(toleration, taint, operators);
        taint.effect.is_hard() && !tolerations.iter().any(tolerated)
    })
}

/// As Kubernetes writes it: no sign but a minus, no zeros in front.
fn whole_number(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::{Operators, tolerates};
    use crate::model::{Effect, Taint, Toleration, TolerationOperator};

    #[test]
    fn numbers_are_compared_where_the_gate_is_open() {
        let tolerated = |has: &str, operator, than: &str, operators| {
            let taint = Taint { key: "k".into(), value: has.into(), effect: Effect::NoSchedule };
            let (key, value) = ("k".into(), than.into());
            tolerates(&Toleration { key, operator, value, effect: None }, &taint, operators)
        };
        let (less, greater) = (TolerationOperator::Lt, TolerationOperator::Gt);
        for (has, operator, than, want) in [
            ("4", less, "5", true),
            ("5", less, "5", false),
            ("-6", less, "-5", true),
            ("6", greater, "5", true),
            ("5", greater, "5", false),
            ("06", greater, "5", false),
            ("+6", greater, "5", false),
            ("6", greater, "five", false),
            ("99999999999999999999", greater, "5", false),
        ] {
            assert_eq!(tolerated(has, operator, than, Operators::Comparing), want, "{has} {than}");
            assert!(!tolerated(has, operator, than, Operators::Plain), "{has} {than}");
        }
    }
}
