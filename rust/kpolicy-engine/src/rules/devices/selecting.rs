//! Whether a device is what a request asks for: selectors of its class, then its own, then whether the
//! node reaches the device.

use std::mem;

use kpolicy_cel::{Budget, ErrorKind, Expression, Value};

use crate::model::DeviceClass;
use crate::snapshot::device_selectors::Compiled;

use super::attempt::Attempt;
use super::device_facts::DeviceFacts;
use super::pools::reaches;
use super::remembered::Remembered;
use super::requests::Request;
use super::search::Stop;
use super::work::{self, ANSWERS, ASKING, Work};

/// What one evaluation may spend, as in kube-scheduler.
pub(super) const UNITS_MAX: u64 = 1_000_000;

const YES: u8 = 1;
const NO: u8 = 2;

impl<'a> Attempt<'a> {
    /// As `is_selected`, of a request that is among all requests.
    pub(super) fn accepts(
        &mut self,
        claim: usize,
        index: usize,
        place: usize,
    ) -> Result<bool, Stop> {
        if let Some(known) = self.known(index, place) {
            return Ok(known);
        }
        let Some(request) = self.requests.get(index) else { return Ok(false) };
        let mut left = Work::of(self.work.left());
        let mut remembered = mem::take(&mut self.remembered);
        let accepted = self.judge(claim, request, place, &mut remembered, &mut left);
        self.remembered = remembered;
        self.note(index, place, accepted, &left)
    }

    /// Whether a request of this place among all requests takes a device, whoever has it.
    pub(super) fn is_selected(
        &mut self,
        claim: usize,
        index: usize,
        request: &Request<'a>,
        place: usize,
    ) -> Result<bool, Stop> {
        let mut left = Work::of(self.work.left());
        let mut remembered = mem::take(&mut self.remembered);
        let accepted = self.judge(claim, request, place, &mut remembered, &mut left);
        self.remembered = remembered;
        self.note(index, place, accepted, &left)
    }

    /// What was said of a device before.
    pub(super) fn known(&self, index: usize, place: usize) -> Option<bool> {
        match self.selected.get(index * self.candidates.len() + place) {
            Some(&YES) => Some(true),
            Some(&NO) => Some(false),
            _ => None,
        }
    }

    /// Remembers an answer, and charges for it.
    fn note(
        &mut self,
        index: usize,
        place: usize,
        accepted: Result<bool, Stop>,
        left: &Work,
    ) -> Result<bool, Stop> {
        self.work.charge(self.work.left().saturating_sub(left.left()))?;
        let accepted = accepted?;
        let at = index * self.candidates.len() + place;
        if self.selected.len() <= at {
            let len = (index + 1) * self.candidates.len();
            self.work.charge(((len - self.selected.len()) / ANSWERS) as u64)?;
            self.selected.resize(len, 0);
        }
        if let Some(cell) = self.selected.get_mut(at) {
            *cell = if accepted { YES } else { NO };
        }
        Ok(accepted)
    }

    /// The answer, charged to `left`.
    fn judge(
        &self,
        claim: usize,
        request: &Request<'a>,
        place: usize,
        remembered: &mut Remembered<'a>,
        left: &mut Work,
    ) -> Result<bool, Stop> {
        let Some(candidate) = self.candidate(place) else { return Ok(false) };
        if candidate.row.flags().has_binding_conditions() && !self.followed.has_binding_conditions()
        {
            return Ok(false);
        }
        let facts = DeviceFacts { driver: &candidate.slice.driver, row: candidate.row };
        let of_class = request.class.selectors.len();
        for (position, selector) in request.selectors.iter().enumerate() {
            let (class, number) = match position.checked_sub(of_class) {
                None => (Some(request.class), position),
                Some(number) => (None, number),
            };
            let selector = selector.and_then(|selector| remembered.get_mut(selector));
            let Some(selector) = selector else { return Ok(false) };
            let fatal = |on_device: bool, what: &str| {
                let from = self.origin(claim, class);
                let on = if on_device && self.followed.traits().repairs_allocator {
                    let (driver, pool) = (&candidate.slice.driver, &candidate.slice.pool);
                    format!(" on device {driver}/{pool}/{}", candidate.device.name)
                } else {
                    String::new()
                };
                Stop::Fatal(format!("{from}: selector #{number}{on}: {what}"))
            };
            let expression = match selector.compiled {
                Some(Compiled::Ready(expression, _)) => expression,
                Some(Compiled::Refused(why)) => {
                    return Err(fatal(false, &format!("CEL compile error: {why}")));
                }
                None => return Err(fatal(false, "CEL is not compiled yet")),
            };
            let (known, units) = selector.known(&facts);
            left.charge(units)?;
            match known {
                Some(true) => continue,
                Some(false) => return Ok(false),
                None => left.charge(ASKING)?,
            }
            let units_max = work::spendable(left.left()).min(UNITS_MAX);
            let mut budget = Budget::new(units_max);
            let has_hint = self.followed.traits().repairs_allocator;
            let accepted = evaluated(expression, &facts, &mut budget, has_hint);
            left.charge(work::of_evaluating(budget.spent()))?;
            let accepted = accepted.map_err(|failed| match failed {
                Failed::TooDear if units_max < UNITS_MAX => Stop::TooMuch,
                failed => fatal(true, &format!("CEL runtime error: {}", failed.text())),
            })?;
            selector.keep(accepted);
            if !accepted {
                return Ok(false);
            }
        }
        if !candidate.slice.is_per_device {
            return Ok(true);
        }
        left.charge(work::of_place(&candidate.device.place))?;
        reaches(&candidate.device.place, self.node).map_err(Stop::Fatal)
    }

    /// The first selector that refuses a device, for people; `None`: none does, but the node does not
    /// reach the device, or it cannot be said.
    pub(super) fn refusing(&mut self, index: usize, place: usize) -> Option<String> {
        let (request, candidate) = (self.requests.get(index)?, self.candidates.get(place)?);
        let facts = DeviceFacts { driver: &candidate.slice.driver, row: candidate.row };
        let of_class = request.class.selectors.len();
        for (position, selector) in request.selectors.iter().enumerate() {
            let selector = selector.and_then(|selector| self.remembered.get_mut(selector))?;
            let Some(Compiled::Ready(expression, _)) = selector.compiled else { return None };
            let (known, units) = selector.known(&facts);
            self.work.charge(units).ok()?;
            let accepts = match known {
                Some(known) => known,
                None => {
                    let mut budget = Budget::new(work::spendable(self.work.left()).min(UNITS_MAX));
                    let accepts = evaluated(expression, &facts, &mut budget, false);
                    self.work.charge(work::of_evaluating(budget.spent())).ok()?;
                    accepts.ok()?
                }
            };
            if !accepts {
                return Some(match position.checked_sub(of_class) {
                    None => format!("class {}: selector #{position}", request.class.meta.name),
                    Some(own) => format!("request {}: selector #{own}", request.full_name()),
                });
            }
        }
        None
    }

    fn origin(&self, claim: usize, class: Option<&DeviceClass>) -> String {
        match class {
            Some(class) => format!("class {}", class.meta.name),
            None => {
                let claim = self.claims.get(claim);
                format!("claim {}", claim.map(|claim| super::key_of(claim)).unwrap_or_default())
            }
        }
    }
}

const OPTIONAL_HINT: &str = ". consider using CEL optional chaining (.? followed by orValue()) or \
                             guarding the check with has() for optional fields";

/// Why a selector has no answer.
pub(super) enum Failed {
    /// It would have spent more than it may.
    TooDear,
    Otherwise(String),
}

impl Failed {
    fn text(&self) -> &str {
        match self {
            Self::TooDear => "operation cancelled: actual cost limit exceeded",
            Self::Otherwise(why) => why,
        }
    }
}

pub(super) fn evaluated(
    expression: &Expression,
    facts: &DeviceFacts<'_>,
    budget: &mut Budget,
    has_hint: bool,
) -> Result<bool, Failed> {
    match expression.evaluate(facts, budget) {
        Ok(Value::Bool(accepted)) => Ok(accepted),
        Ok(other) => {
            let kind = other.type_name();
            Err(Failed::Otherwise(format!(
                "CEL result of type {kind} could not be converted to bool: unsupported native conversion from '{kind}' to 'bool'"
            )))
        }
        Err(error) => Err(match error.kind {
            ErrorKind::CostExceeded => Failed::TooDear,
            ErrorKind::NoSuchKey if has_hint => {
                Failed::Otherwise(format!("{error}{OPTIONAL_HINT}"))
            }
            _ => Failed::Otherwise(error.to_string()),
        }),
    }
}
