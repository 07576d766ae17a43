//! A value for every lane.

use std::borrow::Cow;

use super::{Score, ScoreValues};
use crate::bits::Bits;
use crate::error::{EvaluationError, Fault};
use crate::facts::{Answer, Column, Dictionary, Read, value_of_answer};
use crate::value::{Evaluated, Value};

/// The outcomes of a node in all lanes. Lanes that were not asked for hold anything.
#[derive(Clone)]
pub(super) enum Vector<'a> {
    /// The same in all lanes.
    Same(Evaluated),
    Bool {
        truth: Bits,
        error: Bits,
    },
    Int {
        values: Cow<'a, [i64]>,
        error: Option<Bits>,
    },
    /// Integers held as doubles, see [`Column::Whole`]; no lane is in error.
    Whole(Cow<'a, [f64]>),
    Double {
        values: Cow<'a, [f64]>,
        error: Option<Bits>,
    },
    /// Strings by id; lanes of id 0 are in error. Lanes of `otherwise` have its text, whatever
    /// their id is.
    Text {
        ids: &'a [u32],
        dictionary: &'a dyn Dictionary,
        error: Bits,
        otherwise: Option<(Value, Bits)>,
    },
    /// The outcome of the class of a lane; [`NO_CLASS`] for lanes that were not asked for.
    Each {
        classes: Vec<u32>,
        outcomes: Vec<Evaluated>,
    },
}

pub(super) const NO_CLASS: u32 = u32::MAX;

impl<'a> Vector<'a> {
    /// The lanes of a column of a fact; `None` when it has none. `absent` gives the lanes in which
    /// the fact is not there.
    pub(super) fn of_column(
        column: Column<'a>,
        lanes: usize,
        read: &Read,
        origin: u32,
        absent: impl FnOnce(&[u32]) -> Bits,
    ) -> Option<Self> {
        Some(match column {
            Column::Constant(Answer::Unknown) | Column::Classes(_) | Column::Unavailable => {
                return None;
            }
            Column::Constant(answer) => {
                let outcome = value_of_answer(&read.fact.text, &read.args, answer, false);
                Self::Same(outcome.map_err(|fault| fault.at(origin)))
            }
            Column::Bool(words) => Self::Bool {
                truth: Bits::from_words(words.into_owned(), lanes),
                error: Bits::zeros(lanes),
            },
            Column::Int(values) => Self::Int { values: cut(values, lanes)?, error: None },
            Column::Whole(values) => Self::Whole(cut(values, lanes)?),
            Column::Double(values) => Self::Double { values: cut(values, lanes)?, error: None },
            Column::Sparse { column, absent: lacking } => {
                Self::of_column(*column, lanes, read, origin, absent)?.lacking(&lacking)?
            }
            Column::Text { ids, dictionary } => {
                let ids = ids.get(..lanes)?;
                Self::Text { ids, dictionary, error: absent(ids), otherwise: None }
            }
        })
    }

    /// The same with errors in the lanes that have no value; `None` for what says itself where it
    /// is absent.
    fn lacking(self, absent: &Bits) -> Option<Self> {
        let with =
            |error: Option<Bits>| Some(error.map_or_else(|| absent.clone(), |e| e.or(absent)));
        match self {
            Self::Bool { truth, error } => {
                Some(Self::Bool { truth: truth.minus(absent), error: error.or(absent) })
            }
            Self::Int { values, error } => Some(Self::Int { values, error: with(error) }),
            Self::Whole(values) => {
                Some(Self::Int { values: Cow::Owned(integers(&values)), error: with(None) })
            }
            Self::Double { values, error } => Some(Self::Double { values, error: with(error) }),
            Self::Same(_) | Self::Text { .. } | Self::Each { .. } => None,
        }
    }

    /// Whether the fact is there, lane by lane.
    pub(super) fn presence(
        column: &Column<'_>,
        lanes: usize,
        absent: impl FnOnce(&[u32]) -> Bits,
    ) -> Option<Self> {
        let truth = match column {
            Column::Constant(Answer::Known(_))
            | Column::Bool(_)
            | Column::Int(_)
            | Column::Whole(_)
            | Column::Double(_) => Bits::ones(lanes),
            Column::Constant(Answer::Absent) => Bits::zeros(lanes),
            Column::Text { ids, .. } => absent(ids.get(..lanes)?).not(),
            Column::Sparse { column, absent: lacking } => {
                let (truth, _) = Self::presence(column, lanes, absent)?.planes(lanes);
                truth.minus(lacking)
            }
            // Which classes have a value is asked of one lane of each.
            Column::Constant(_) | Column::Classes(_) | Column::Unavailable => return None,
        };
        Some(Self::Bool { truth, error: Bits::zeros(lanes) })
    }

    /// Whether some lane may be in error.
    pub(super) fn may_err(&self) -> bool {
        match self {
            Self::Same(outcome) => outcome.is_err(),
            Self::Bool { error, .. } | Self::Text { error, .. } => error.any(),
            Self::Int { error, .. } | Self::Double { error, .. } => {
                error.as_ref().is_some_and(Bits::any)
            }
            Self::Whole(_) => false,
            Self::Each { .. } => true,
        }
    }

    /// Packs outcomes by class into the narrowest form.
    pub(super) fn packed(classes: Vec<u32>, outcomes: Vec<Evaluated>) -> Self {
        let is = |test: fn(&Value) -> bool| outcomes.iter().flatten().all(test);
        if outcomes.iter().flatten().next().is_none() {
            return Self::Each { classes, outcomes };
        }
        if is(|value| matches!(value, Value::Bool(_))) {
            let of = |class: &u32| outcomes.get(*class as usize);
            let lanes = classes.len();
            let truth = |class: &u32| matches!(of(class), Some(Ok(Value::Bool(true))));
            return Self::Bool {
                truth: Bits::collect(lanes, classes.iter().map(truth)),
                error: errors(&classes, &outcomes),
            };
        }
        if is(|value| matches!(value, Value::Int(_))) {
            let values = numbers(&classes, &outcomes, |value| match value {
                Value::Int(value) => *value,
                _ => 0,
            });
            return Self::Int { values, error: Some(errors(&classes, &outcomes)) };
        }
        if is(|value| matches!(value, Value::Double(_))) {
            let values = numbers(&classes, &outcomes, |value| match value {
                Value::Double(value) => *value,
                _ => 0.0,
            });
            return Self::Double { values, error: Some(errors(&classes, &outcomes)) };
        }
        Self::Each { classes, outcomes }
    }

    /// The outcome in one lane; `None` where it was not asked for.
    pub(super) fn outcome(&self, lane: usize, origin: u32) -> Option<Evaluated> {
        let failed = || Err(Fault::invalid("an operand of this lane failed").at(origin));
        let erring = |error: &Option<Bits>| error.as_ref().is_some_and(|error| error.get(lane));
        match self {
            Self::Same(outcome) => Some(outcome.clone()),
            Self::Bool { error, .. } if error.get(lane) => Some(failed()),
            Self::Bool { truth, .. } => Some(Ok(Value::Bool(truth.get(lane)))),
            Self::Int { error, .. } | Self::Double { error, .. } if erring(error) => Some(failed()),
            Self::Int { values, .. } => values.get(lane).map(|value| Ok(Value::Int(*value))),
            Self::Whole(values) => values.get(lane).map(|value| Ok(Value::Int(integer(*value)))),
            Self::Double { values, .. } => values.get(lane).map(|value| Ok(Value::Double(*value))),
            Self::Text { otherwise: Some((text, lanes)), .. } if lanes.get(lane) => {
                Some(Ok(text.clone()))
            }
            Self::Text { ids, dictionary, .. } => ids.get(lane).map(|id| match id {
                0 => failed(),
                id => Ok(Value::from(dictionary.text(*id))),
            }),
            Self::Each { classes, outcomes } => {
                classes.get(lane).and_then(|class| outcomes.get(*class as usize)).cloned()
            }
        }
    }

    /// As a condition: the lanes where it is true, and where it is an error or no bool.
    pub(super) fn planes(self, lanes: usize) -> (Bits, Bits) {
        match self {
            Self::Bool { truth, error } => (truth, error),
            Self::Same(Ok(Value::Bool(value))) => (Bits::filled(value, lanes), Bits::zeros(lanes)),
            Self::Each { classes, outcomes } => {
                let is = |class: &u32, wanted: bool| matches!(outcomes.get(*class as usize), Some(Ok(Value::Bool(b))) if *b == wanted);
                let truth = Bits::collect(lanes, classes.iter().map(|class| is(class, true)));
                let falsity = Bits::collect(lanes, classes.iter().map(|class| is(class, false)));
                let error = truth.or(&falsity).not();
                (truth, error)
            }
            _ => (Bits::zeros(lanes), Bits::ones(lanes)),
        }
    }

    pub(super) fn into_score(self, selected: &Bits) -> Score {
        let lanes = selected.lanes();
        let (mut values, error) = match self {
            Self::Int { values, error } => (ScoreValues::Int(values.into_owned()), error),
            Self::Whole(values) => (ScoreValues::Int(integers(&values)), None),
            Self::Double { values, error } => (ScoreValues::Double(values.into_owned()), error),
            Self::Same(Ok(Value::Int(value))) => (ScoreValues::Int(vec![value; lanes]), None),
            Self::Same(Ok(Value::Double(value))) => (ScoreValues::Double(vec![value; lanes]), None),
            other => mixed(&other, selected),
        };
        let error = error.unwrap_or_else(|| Bits::zeros(lanes)).and(selected);
        match &mut values {
            ScoreValues::Int(values) => blank(values, &selected.minus(&error)),
            ScoreValues::Double(values) => blank(values, &selected.minus(&error)),
        }
        Score { values, error }
    }
}

/// The integer that a double of [`Column::Whole`] holds: with this added, the lowest bits of the sum
/// are the integer, in steps that a processor does for several lanes at once.
fn integer(value: f64) -> i64 {
    const TO_INTEGER: f64 = 6_755_399_441_055_744.0;
    (value + TO_INTEGER).to_bits().wrapping_sub(TO_INTEGER.to_bits()).cast_signed()
}

pub(super) fn integers(values: &[f64]) -> Vec<i64> {
    values.iter().map(|value| integer(*value)).collect()
}

/// Numbers of both kinds, as doubles; zeros of the narrower kind where no lane has a number.
#[expect(clippy::cast_precision_loss)]
fn mixed(vector: &Vector<'_>, selected: &Bits) -> (ScoreValues, Option<Bits>) {
    let mut values = vec![0.0; selected.lanes()];
    let mut error = Bits::zeros(selected.lanes());
    for lane in selected.iter() {
        let number = match vector.outcome(lane, 0) {
            Some(Ok(Value::Int(value))) => Some(value as f64),
            Some(Ok(Value::Uint(value))) => Some(value as f64),
            Some(Ok(Value::Double(value))) => Some(value),
            _ => None,
        };
        match (number, values.get_mut(lane)) {
            (Some(number), Some(place)) => *place = number,
            _ => error.set(lane),
        }
    }
    if error.count() == selected.count() {
        return (ScoreValues::Int(vec![0; selected.lanes()]), Some(error));
    }
    (ScoreValues::Double(values), Some(error))
}

fn blank<T: Default>(values: &mut [T], keep: &Bits) {
    if keep.count() == values.len() {
        return;
    }
    for (lane, value) in values.iter_mut().enumerate() {
        if !keep.get(lane) {
            *value = T::default();
        }
    }
}

fn cut<T: Clone>(values: Cow<'_, [T]>, lanes: usize) -> Option<Cow<'_, [T]>> {
    match values {
        Cow::Borrowed(values) => values.get(..lanes).map(Cow::Borrowed),
        Cow::Owned(mut values) => {
            values.truncate(lanes);
            (values.len() == lanes).then_some(Cow::Owned(values))
        }
    }
}

fn errors(classes: &[u32], outcomes: &[Result<Value, EvaluationError>]) -> Bits {
    let erring = |class: &u32| matches!(outcomes.get(*class as usize), Some(Err(_)));
    Bits::collect(classes.len(), classes.iter().map(erring))
}

fn numbers<T: Copy + Default>(
    classes: &[u32],
    outcomes: &[Evaluated],
    of: impl Fn(&Value) -> T,
) -> Cow<'static, [T]>
where
    [T]: ToOwned<Owned = Vec<T>>,
{
    let by_class: Vec<T> =
        outcomes.iter().map(|outcome| outcome.as_ref().map_or(T::default(), &of)).collect();
    let value = |class: &u32| by_class.get(*class as usize).copied().unwrap_or_default();
    Cow::Owned(classes.iter().map(value).collect())
}
