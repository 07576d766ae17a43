//! Whether a device is what a request asks for: selectors of its class, then its own, then whether the
//! node reaches the device.

use kpolicy_cel::{
    Answer, Budget, ErrorKind, Expression, Facts, Map, Quantity, Read, Semver, Value,
};

use crate::model::{Attribute, Device, DeviceClass};
use crate::snapshot::device_selectors::{CATALOGUE, Compiled};

use super::attempt::Attempt;
use super::pools::reaches;
use super::requests::Request;
use super::search::Stop;

/// What one evaluation may spend, as in kube-scheduler.
const UNITS_MAX: u64 = 1_000_000;
/// So many units of an evaluation take as long as a step of the search.
const UNITS_A_STEP: u64 = 10;

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
        let (accepted, steps) = self.judge(claim, request, place)?;
        self.note(index, place, accepted, steps);
        Ok(accepted)
    }

    /// Whether a request of this place among all requests takes a device, whoever has it.
    pub(super) fn is_selected(
        &mut self,
        claim: usize,
        index: usize,
        request: &Request<'a>,
        place: usize,
    ) -> Result<bool, Stop> {
        let (accepted, steps) = self.judge(claim, request, place)?;
        self.note(index, place, accepted, steps);
        Ok(accepted)
    }

    fn known(&self, index: usize, place: usize) -> Option<bool> {
        match self.selected.get(index * self.candidates.len() + place) {
            Some(&YES) => Some(true),
            Some(&NO) => Some(false),
            _ => None,
        }
    }

    fn note(&mut self, index: usize, place: usize, accepted: bool, steps: u64) {
        let at = index * self.candidates.len() + place;
        if self.selected.len() <= at {
            self.selected.resize((index + 1) * self.candidates.len(), 0);
        }
        if let Some(cell) = self.selected.get_mut(at) {
            *cell = if accepted { YES } else { NO };
        }
        self.steps += steps;
    }

    /// The answer, and the steps that it took.
    fn judge(
        &self,
        claim: usize,
        request: &Request<'a>,
        place: usize,
    ) -> Result<(bool, u64), Stop> {
        let Some(candidate) = self.candidate(place) else { return Ok((false, 0)) };
        let has_conditions = !candidate.device.binding_conditions.is_empty();
        if has_conditions && !self.followed.has_binding_conditions() {
            return Ok((false, 1));
        }
        let mut steps = 1;
        let of_class = request.class.selectors.iter().map(|text| (Some(request.class), text));
        let own = request.ask.selectors.iter().map(|text| (None, text));
        let numbered = of_class.enumerate().chain(own.enumerate());
        for (number, (class, text)) in numbered {
            let Some(text) = text else { return Ok((false, steps)) };
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
            let mut budget = Budget::new(UNITS_MAX);
            let facts = DeviceFacts { driver: &candidate.slice.driver, device: candidate.device };
            let accepted = evaluated(
                expression,
                &facts,
                &mut budget,
                self.followed.traits().repairs_allocator,
            )
            .map_err(|why| fatal(true, &format!("CEL runtime error: {why}")))?;
            steps += budget.spent() / UNITS_A_STEP;
            if !accepted {
                return Ok((false, steps));
            }
        }
        let is_reached = !candidate.slice.is_per_device
            || reaches(&candidate.device.place, self.node).map_err(Stop::Fatal)?;
        Ok((is_reached, steps))
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

fn evaluated(
    expression: &Expression,
    facts: &DeviceFacts<'_>,
    budget: &mut Budget,
    has_hint: bool,
) -> Result<bool, String> {
    match expression.evaluate(facts, budget) {
        Ok(Value::Bool(accepted)) => Ok(accepted),
        Ok(other) => {
            let kind = other.type_name();
            Err(format!(
                "CEL result of type {kind} could not be converted to bool: unsupported native conversion from '{kind}' to 'bool'"
            ))
        }
        Err(error) => Err(match error.kind {
            ErrorKind::CostExceeded => "operation cancelled: actual cost limit exceeded".to_owned(),
            ErrorKind::NoSuchKey if has_hint => format!("{error}{OPTIONAL_HINT}"),
            _ => error.to_string(),
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

    fn attributes(&self, domain: Option<&str>) -> Value {
        self.of_domain(&self.device.attributes, domain, |attribute| match attribute {
            Attribute::Int(value) => Some(Value::Int(*value)),
            Attribute::Bool(value) => Some(Value::Bool(*value)),
            Attribute::Text(text) => Some(Value::string(&**text)),
            Attribute::Version(text) => {
                Semver::parse(text).ok().map(|version| Value::Semver(version.into()))
            }
            Attribute::Unknown => None,
        })
    }

    fn capacities(&self, domain: Option<&str>) -> Value {
        self.of_domain(&self.device.capacity, domain, |capacity| {
            Quantity::parse(&capacity.value.text()).map(|amount| Value::Quantity(amount.into()))
        })
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
