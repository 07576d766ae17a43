//! Facts of the pending pod's place in the queue. Only what concerns the queue reads them.

use kpolicy_cel::Answer;

use crate::part::{Part, Parts};
use crate::rules::expression::lanes::Lanes;
use crate::rules::expression::queue_world::Waited;

use super::{Row, Source};

/// The name of the fact that time changes.
pub(crate) const AGE: &str = "queue.age";
pub(crate) const ATTEMPTS: &str = "queue.attempts";

const fn row(name: &'static str, parts: Parts, answer: fn(Waited) -> Answer) -> Row {
    let source = Source::Waited(answer);
    Row { name, arguments: &[], result: "int", parts, source, lanes: Lanes::None }
}

pub(super) static ROWS: [Row; 2] = [
    row("age", Parts::of(&[Part::Time]), |waited| waited.age_seconds.into()),
    row("attempts", Parts::of(&[Part::PodTemplate]), |waited| waited.attempts.into()),
];
