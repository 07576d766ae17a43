//! The moment of the decision: the root is the fact.

use crate::part::{Part, Parts};
use crate::rules::expression::lanes::Lanes;

use super::{Row, Source};

pub(super) static ROWS: [Row; 1] = [Row {
    name: "",
    arguments: &[],
    result: "timestamp",
    parts: Parts::of(&[Part::Time]),
    source: Source::Moment,
    lanes: Lanes::None,
}];
