//! The requests of claims made ready for a search: their class, how many devices, and which ones where
//! all are asked for.

use crate::model::{Ask, DeviceClass, Mode, ResourceClaim, Wanted};
use crate::release::Gate;

use super::attempt::Attempt;
use super::key_of;
use super::pools::State;
use super::search::Stop;
use super::work::{REQUEST, SELECTOR, SELECTOR_BYTES, STEP};

/// The most devices that the API stores in one allocation.
pub(super) const DEVICES_MAX: usize = 32;

/// A request, or one alternative of it.
#[derive(Debug)]
pub(super) struct Request<'a> {
    /// The name of the request.
    pub(super) base: &'a str,
    /// The name of the alternative.
    pub(super) alternative: Option<&'a str>,
    pub(super) ask: &'a Ask,
    pub(super) class: &'a DeviceClass,
    /// Places of the selectors of the class, then of its own; `None`: one of another type.
    pub(super) selectors: Vec<Option<usize>>,
    pub(super) count: usize,
    /// Where all devices are asked for: these, by their places.
    pub(super) all: Option<Vec<usize>>,
}

impl Request<'_> {
    /// As allocations name it.
    pub(super) fn full_name(&self) -> Box<str> {
        match self.alternative {
            Some(alternative) => format!("{}/{alternative}", self.base).into(),
            None => self.base.into(),
        }
    }

    /// Whether a list of names of requests has it.
    pub(super) fn is_among(&self, names: &[Box<str>]) -> bool {
        let full = self.full_name();
        names.iter().any(|name| **name == *self.base || *name == full)
    }
}

/// A request of a claim: where its alternatives, or itself, begin among all requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) first: usize,
    pub(super) alternatives: usize,
    pub(super) is_list: bool,
}

fn fatal(claim: &ResourceClaim, request: &str, what: &str) -> Stop {
    Stop::Fatal(format!("claim {}, request {request}{what}", key_of(claim)))
}

impl<'a> Attempt<'a> {
    /// Makes the requests of one claim ready. The least number of devices that it needs must fit into
    /// an allocation.
    pub(super) fn prepare_claim(
        &mut self,
        index: usize,
        claim: &'a ResourceClaim,
    ) -> Result<(), Stop> {
        let mut entries = Vec::with_capacity(claim.requests.len());
        let mut least = 0_usize;
        for request in claim.requests.iter() {
            let first = self.requests.len();
            self.reached = (index, &request.name);
            let needed = match &request.wanted {
                Wanted::Exactly(ask) => {
                    let ready = self.request(index, claim, &request.name, None, ask)?;
                    let count = ready.count;
                    self.requests.push(ready);
                    count
                }
                Wanted::FirstAvailable(asks) => {
                    let mut fewest = usize::MAX;
                    for ask in asks {
                        let alternative = Some(&*ask.name);
                        let ready = self.request(index, claim, &request.name, alternative, ask)?;
                        fewest = fewest.min(ready.count);
                        self.requests.push(ready);
                    }
                    fewest
                }
                Wanted::Unknown => {
                    let what = ": missing device class name (unsupported request type?)";
                    return Err(fatal(claim, &request.name, what));
                }
            };
            let alternatives = self.requests.len() - first;
            let is_list = matches!(request.wanted, Wanted::FirstAvailable(_));
            entries.push(Entry { first, alternatives, is_list });
            if self.followed.traits().repairs_allocator
                && least.saturating_add(needed) > DEVICES_MAX
            {
                let what = format!(
                    ": adding {needed} devices exceeds the claim limit of {DEVICES_MAX}, with {least} already accounted for"
                );
                return Err(fatal(claim, &request.name, &what));
            }
            least = least.saturating_add(needed);
        }
        if least > DEVICES_MAX {
            let key = key_of(claim);
            return Err(Stop::Fatal(format!(
                "claim {key}: number of requested devices {least} exceeds the claim limit of {DEVICES_MAX}"
            )));
        }
        self.entries.push(entries);
        Ok(())
    }

    fn request(
        &mut self,
        claim_index: usize,
        claim: &'a ResourceClaim,
        base: &'a str,
        alternative: Option<&'a str>,
        ask: &'a Ask,
    ) -> Result<Request<'a>, Stop> {
        self.work.charge(REQUEST)?;
        if let Some(number) = ask.selectors.iter().position(Option::is_none) {
            let what =
                format!(", selector #{number}: CEL expression empty (unsupported selector type?)");
            return Err(fatal(claim, &ask.name, &what));
        }
        if ask.is_admin && !self.followed.has(Gate::DRAAdminAccess) {
            let what = ": admin access is requested, but the feature is disabled";
            return Err(fatal(claim, &ask.name, what));
        }
        if ask.class.is_empty() {
            let what = ": missing device class name (unsupported request type?)";
            return Err(fatal(claim, &ask.name, what));
        }
        let classes = &self.cluster.objects().device_classes;
        let Some(class) = classes.get("", &ask.class) else {
            let name = &ask.class;
            let what = format!(
                ": could not retrieve device class {name}: deviceclass.resource.k8s.io \"{name}\" not found"
            );
            return Err(fatal(claim, &ask.name, &what));
        };
        let selectors = self.selectors_of(class, ask)?;
        let mut request = Request { base, alternative, ask, class, selectors, count: 0, all: None };
        match &ask.mode {
            Mode::Exact(count) => request.count = usize::try_from(*count).unwrap_or(0),
            Mode::Unknown(mode) => {
                return Err(fatal(claim, &ask.name, &format!(": unsupported count mode {mode}")));
            }
            Mode::All => {
                let all = self.all_devices(claim_index, claim, &request)?;
                request.count = all.len();
                request.all = Some(all);
            }
        }
        Ok(request)
    }

    /// Looks up each selector once.
    fn selectors_of(
        &mut self,
        class: &'a DeviceClass,
        ask: &'a Ask,
    ) -> Result<Vec<Option<usize>>, Stop> {
        let mut places = Vec::with_capacity(class.selectors.len() + ask.selectors.len());
        for text in class.selectors.iter().chain(&ask.selectors) {
            let bytes = text.as_deref().map_or(0, str::len);
            self.work.charge(SELECTOR + (bytes / SELECTOR_BYTES) as u64)?;
            let text = text.as_deref();
            places.push(text.map(|text| self.remembered.place_of(text, self.cluster)));
        }
        Ok(places)
    }

    /// The places of all devices that will do, whether or not they are taken.
    fn all_devices(
        &mut self,
        claim_index: usize,
        claim: &ResourceClaim,
        request: &Request<'a>,
    ) -> Result<Vec<usize>, Stop> {
        let mut all = Vec::new();
        let mut place = 0;
        for pool in self.pools {
            let problem = match pool.state {
                State::Whole => None,
                State::Incomplete => Some("being updated"),
                State::Invalid => Some("invalid"),
            };
            if let Some(problem) = problem {
                let (driver, name) = (pool.driver, pool.name);
                let what = format!(
                    ": asks for all devices, but resource pool {driver}/{name} is currently {problem}"
                );
                return Err(fatal(claim, &request.ask.name, &what));
            }
            for _ in 0..pool.places() {
                let index = self.requests.len();
                self.work.charge(STEP)?;
                if self.is_selected(claim_index, index, request, place)? {
                    self.work.charge(self.units_of_capacity(request.ask, place))?;
                    let of_all = self.followed.traits().repairs_allocator;
                    if self.has_capacity(request.ask, place, of_all)? {
                        all.push(place);
                    }
                }
                place += 1;
            }
        }
        Ok(all)
    }
}
