//! Whether a device is what a request asks for: selectors of its class, then its own, then whether the
//! node reaches the device.

use kpolicy_cel::{
    Answer, Budget, ErrorKind, Expression, Facts, Map, Quantity, Read, Semver, Value,
};

use crate::model::{Attribute, Device, DeviceCapacity, DeviceClass};
use crate::snapshot::device_selectors::{CATALOGUE, Compiled};

use super::attempt::Attempt;
use super::pools::reaches;
use super::requests::Request;
use super::search::Stop;
use super::work::{self, ANSWERS, SELECTOR, SELECTOR_BYTES, Work};

/// What one evaluation may spend, as in kube-scheduler.
const UNITS_MAX: u64 = 1_000_000;

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
        let accepted = self.judge(claim, request, place, &mut left);
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
        let accepted = self.judge(claim, request, place, &mut left);
        self.note(index, place, accepted, &left)
    }

    fn known(&self, index: usize, place: usize) -> Option<bool> {
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
        left: &mut Work,
    ) -> Result<bool, Stop> {
        let Some(candidate) = self.candidate(place) else { return Ok(false) };
        let has_conditions = !candidate.device.binding_conditions.is_empty();
        if has_conditions && !self.followed.has_binding_conditions() {
            return Ok(false);
        }
        let of_class = request.class.selectors.iter().map(|text| (Some(request.class), text));
        let own = request.ask.selectors.iter().map(|text| (None, text));
        let numbered = of_class.enumerate().chain(own.enumerate());
        for (number, (class, text)) in numbered {
            let Some(text) = text else { return Ok(false) };
            left.charge(SELECTOR + (text.len() / SELECTOR_BYTES) as u64)?;
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
            let expression = match self.cluster.objects().selectors.get(text) {
                Some(Compiled::Ready(expression)) => expression,
                Some(Compiled::Refused(why)) => {
                    return Err(fatal(false, &format!("CEL compile error: {why}")));
                }
                None => return Err(fatal(false, "CEL is not compiled yet")),
            };
            let units_max = left.left().min(UNITS_MAX);
            let mut budget = Budget::new(units_max);
            let facts = DeviceFacts { driver: &candidate.slice.driver, device: candidate.device };
            let has_hint = self.followed.traits().repairs_allocator;
            let accepted = evaluated(expression, &facts, &mut budget, has_hint);
            left.charge(budget.spent())?;
            let accepted = accepted.map_err(|failed| match failed {
                Failed::TooDear if units_max < UNITS_MAX => Stop::TooMuch,
                failed => fatal(true, &format!("CEL runtime error: {}", failed.text())),
            })?;
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
enum Failed {
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

fn evaluated(
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

/// A device as selectors see it.
struct DeviceFacts<'a> {
    driver: &'a str,
    device: &'a Device,
}

impl Facts for DeviceFacts<'_> {
    fn read(&self, read: &Read) -> Answer {
        match CATALOGUE.get(usize::from(read.fact.id)).copied() {
            Some("device.driver") => Value::string(self.driver).into(),
            Some("device.allowMultipleAllocations") => self.device.is_shared.into(),
            // A domain that the device does not have is empty, and not absent.
            Some("device.attributes[]") => self.attributes(read.key()).into(),
            Some("device.capacity[]") => self.capacities(read.key()).into(),
            Some("device.attributes?[]") => self.has(&self.device.attributes, read.key()),
            Some("device.capacity?[]") => self.has(&self.device.capacity, read.key()),
            Some("device.attributes") => {
                self.by_domain(&self.device.attributes, Self::attributes).into()
            }
            Some("device.capacity") => {
                self.by_domain(&self.device.capacity, Self::capacities).into()
            }
            _ => Answer::Unknown,
        }
    }

    fn entry(&self, read: &Read, name: &str) -> Option<Answer> {
        let found = match CATALOGUE.get(usize::from(read.fact.id)).copied() {
            Some("device.attributes[]") => {
                self.of_name(&self.device.attributes, read.key(), name, attribute_value)
            }
            Some("device.capacity[]") => {
                self.of_name(&self.device.capacity, read.key(), name, capacity_value)
            }
            _ => return None,
        };
        Some(found.map_or(Answer::Absent, Answer::from))
    }

    fn is_made(&self, read: &Read) -> bool {
        matches!(
            CATALOGUE.get(usize::from(read.fact.id)).copied(),
            Some(
                "device.attributes"
                    | "device.capacity"
                    | "device.attributes[]"
                    | "device.capacity[]"
            )
        )
    }
}

impl DeviceFacts<'_> {
    /// The domain and the rest of a name; a bare name belongs to the driver.
    fn split<'b>(&'b self, name: &'b str) -> (&'b str, &'b str) {
        name.split_once('/').unwrap_or((self.driver, name))
    }

    /// What `in` says of a domain.
    fn has<T>(&self, entries: &[(Box<str>, T)], domain: Option<&str>) -> Answer {
        let is_there = entries.iter().any(|(name, _)| Some(self.split(name).0) == domain);
        if is_there { true.into() } else { Answer::Absent }
    }

    fn of_domain<T>(
        &self,
        entries: &[(Box<str>, T)],
        domain: Option<&str>,
        value: impl Fn(&T) -> Option<Value>,
    ) -> Value {
        let own = entries.iter().filter_map(|(name, entry)| {
            let (have, id) = self.split(name);
            (Some(have) == domain).then(|| Some((id, value(entry)?))).flatten()
        });
        Value::map(Map::of_strings(own))
    }

    /// What the map of a domain has under a name.
    fn of_name<T>(
        &self,
        entries: &[(Box<str>, T)],
        domain: Option<&str>,
        name: &str,
        value: impl Fn(&T) -> Option<Value>,
    ) -> Option<Value> {
        let is_named = |(have, _): &&(Box<str>, T)| {
            let (own, id) = self.split(have);
            Some(own) == domain && id == name
        };
        entries.iter().rev().filter(is_named).find_map(|(_, entry)| value(entry))
    }

    fn attributes(&self, domain: Option<&str>) -> Value {
        self.of_domain(&self.device.attributes, domain, attribute_value)
    }

    fn capacities(&self, domain: Option<&str>) -> Value {
        self.of_domain(&self.device.capacity, domain, capacity_value)
    }

    fn by_domain<T>(
        &self,
        entries: &[(Box<str>, T)],
        of: fn(&Self, Option<&str>) -> Value,
    ) -> Value {
        let domains = entries.iter().map(|(name, _)| self.split(name).0);
        Value::map(Map::of_strings(domains.map(|domain| (domain, of(self, Some(domain))))))
    }
}

fn attribute_value(attribute: &Attribute) -> Option<Value> {
    match attribute {
        Attribute::Int(value) => Some(Value::Int(*value)),
        Attribute::Bool(value) => Some(Value::Bool(*value)),
        Attribute::Text(text) => Some(Value::string(&**text)),
        Attribute::Version(text) => {
            Semver::parse(text).ok().map(|version| Value::Semver(version.into()))
        }
        Attribute::Unknown => None,
    }
}

fn capacity_value(capacity: &DeviceCapacity) -> Option<Value> {
    Quantity::parse(&capacity.value.text()).map(|amount| Value::Quantity(amount.into()))
}
