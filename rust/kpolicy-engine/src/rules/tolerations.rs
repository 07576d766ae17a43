//! When a toleration tolerates a taint.

use crate::model::{Taint, Toleration, TolerationOperator};

/// The API says that an empty effect or key matches any, and that `Exists` compares no value.
pub(crate) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    toleration.effect.is_none_or(|effect| effect == taint.effect)
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && match toleration.operator {
            TolerationOperator::Equal => toleration.value == taint.value,
            TolerationOperator::Exists => true,
            TolerationOperator::Unknown => false,
        }
}

/// The first taint that keeps pods away and is not tolerated.
pub(crate) fn first_untolerated_hard<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
) -> Option<&'a Taint> {
    taints.iter().find(|taint| {
        taint.effect.is_hard() && !tolerations.iter().any(|toleration| tolerates(toleration, taint))
    })
}
