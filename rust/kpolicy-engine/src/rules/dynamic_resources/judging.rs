//! What one node gives to the claims of a pod, or why it does not (Filter).

use std::sync::Arc;

use crate::model::{Allocation, Meta, ResourceClaim};
use crate::rules::devices::extended::{Mapping, requests};
use crate::rules::devices::{
    CONTAINER_RESOURCE, Compared, Detail, Outcome, Supply, TooMuch, Work, allocate, supplies,
};
use crate::rules::{Code, Status};
use crate::snapshot::{Cluster, NodeView};

use super::state::{Extended, SPECIAL_NAME, State};
use super::supposed::Ahead;

/// A claim with the devices that a node gives it.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) claim: Arc<ResourceClaim>,
    pub(super) allocation: Allocation,
    /// Of the claim for extended resources.
    pub(super) special: Option<Vec<Mapping>>,
}

/// Why a node gives nothing.
#[derive(Debug)]
pub(super) enum Lack {
    /// There are not enough devices.
    NoDevices,
    InvalidPools,
    /// The claim of an earlier attempt has to go first.
    Leftover,
    /// Neither the node nor devices have the resource.
    NoResource,
    /// It takes more than it may. Which part of a claim it got to; empty: none.
    TooMuch(String),
    Failed(String),
}

impl From<TooMuch> for Lack {
    fn from(_: TooMuch) -> Self {
        Self::TooMuch(String::new())
    }
}

pub(super) const NO_DEVICES: u16 = 1;
pub(super) const UNAVAILABLE: u16 = 2;
const INVALID_POOLS: u16 = 3;
const LEFTOVER: u16 = 4;
const NO_RESOURCE: u16 = 5;

impl Lack {
    pub(super) fn code(&self) -> Code {
        match self {
            Self::NoDevices => Code::reject(NO_DEVICES),
            Self::InvalidPools => Code::reject(INVALID_POOLS),
            Self::Leftover => Code::reject(LEFTOVER),
            Self::NoResource => Code::reject(NO_RESOURCE),
            Self::TooMuch(_) | Self::Failed(_) => Code::fail(1),
        }
    }

    /// Why the cycle fails; `None` where it does not.
    pub(super) fn failure(self, units_max: u64) -> Option<Status> {
        match self {
            Self::TooMuch(part) => {
                let named = if part.is_empty() { String::new() } else { format!(" ({part})") };
                Some(Status::too_much(format!(
                    "the pod's spec.resourceClaims{named} take more work than one decision may: \
                     finding devices on a node needs more than {units_max} units"
                )))
            }
            Self::Failed(why) => Some(Status::error(why)),
            _ => None,
        }
    }
}

/// What a code other than a failure means. `frees_devices`: more devices are free on the node once pods
/// are evicted.
pub(super) fn meaning(code: Code, frees_devices: bool) -> Status {
    match code.meaning() {
        UNAVAILABLE => Status::unresolvable("resourceclaim not available on the node"),
        LEFTOVER => Status::unresolvable("cannot schedule extended resource claim"),
        NO_RESOURCE => Status::unresolvable("cannot fit resource"),
        lack => {
            let reason = match lack {
                INVALID_POOLS => "invalid resource pools were encountered",
                _ => "cannot allocate all claims",
            };
            if frees_devices { Status::unschedulable(reason) } else { Status::unresolvable(reason) }
        }
    }
}

/// The claim of a node for extended resources.
enum Special {
    None,
    Made(Box<ResourceClaim>, Vec<Mapping>),
}

impl State {
    /// The devices that a node gives to the claims that are not allocated, if it fits.
    pub(super) fn given(
        &self,
        work: &mut Work,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> Option<Vec<Given>> {
        self.given_as(work, cluster, node).map(|(given, _)| given)
    }

    /// As [`State::given`], with what came of comparing it with what else the node can give.
    pub(super) fn given_as(
        &self,
        work: &mut Work,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> Option<(Vec<Given>, Option<Compared>)> {
        // Where other pods get theirs first, all of them get what is found first.
        let is_first = self.supposed.ahead.is_empty();
        let choice = self.choice.as_deref().filter(|choice| is_first && !choice.rules.is_empty());
        let given = match choice {
            Some(choice) => {
                let chosen = self.chosen_within(choice, work, cluster, node);
                chosen.map(|(given, compared)| (given, Some(compared)))
            }
            None => {
                let found = self.found_within(work, cluster, node, Detail::Written);
                found.map(|given| (given, None))
            }
        };
        given.ok().filter(|_| !self.is_any_unavailable(cluster, node))
    }

    /// What a node gives to the claims that are not allocated. It is charged for.
    pub(super) fn found(
        &self,
        cluster: &Cluster,
        node: NodeView<'_>,
        detail: Detail,
    ) -> Result<Vec<Given>, Lack> {
        let mut work = Work::of(self.units_a_node);
        let found = self.found_within(&mut work, cluster, node, detail);
        cluster.objects().add_units_of_devices(self.units_a_node - work.left());
        found
    }

    pub(super) fn found_within(
        &self,
        work: &mut Work,
        cluster: &Cluster,
        node: NodeView<'_>,
        detail: Detail,
    ) -> Result<Vec<Given>, Lack> {
        let (on, given) = ((node, self.followed), (cluster, &self.supposed.in_use));
        self.searched(work, node, |claims, work| allocate(claims, given, on, work, detail))
    }

    /// What such a search gives to the claims that are not allocated.
    pub(super) fn searched(
        &self,
        work: &mut Work,
        node: NodeView<'_>,
        search: impl FnOnce(&[&ResourceClaim], &mut Work) -> Outcome,
    ) -> Result<Vec<Given>, Lack> {
        let special = self.special(node, work)?;
        let open: Vec<&Arc<ResourceClaim>> =
            self.claims.iter().filter(|claim| claim.allocation.is_none()).collect();
        let mut wanted: Vec<&ResourceClaim> = open.iter().map(|claim| &***claim).collect();
        if let Special::Made(claim, _) = &special {
            wanted.push(claim);
        }
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let before = self.specials_ahead(node, work)?;
        let is_own = |claim: &ResourceClaim| open.iter().any(|own| own.meta == claim.meta);
        let mut together = self.wanted_ahead(&before);
        together.retain(|claim| !is_own(claim));
        let ahead = together.len();
        together.append(&mut wanted);
        let allocations = match search(&together, work) {
            Outcome::Found(allocations) => allocations.into_iter().skip(ahead),
            // Whoever fails: the others keep their devices.
            _ if ahead > 0 => return Err(Lack::NoDevices),
            Outcome::NoSolution => return Err(Lack::NoDevices),
            Outcome::InvalidPools => return Err(Lack::InvalidPools),
            Outcome::TooMuch(part) => return Err(Lack::TooMuch(part)),
            Outcome::Failed(why) => return Err(Lack::Failed(why)),
        };
        let mut claims: Vec<(Arc<ResourceClaim>, Option<Vec<Mapping>>)> =
            open.into_iter().map(|claim| (Arc::clone(claim), None)).collect();
        if let Special::Made(claim, mappings) = special {
            claims.push((Arc::from(claim), Some(mappings)));
        }
        let given = claims.into_iter().zip(allocations);
        let given =
            given.map(|((claim, special), allocation)| Given { claim, allocation, special });
        Ok(given.collect())
    }

    /// The claims of the node for extended resources of pods that get devices first.
    fn specials_ahead(&self, node: NodeView<'_>, work: &mut Work) -> Result<Vec<Special>, Lack> {
        let ahead = self.supposed.ahead.iter();
        // Who has no place there is not placed.
        let of_pod = |ahead: &Ahead| ahead.state.special(node, work).map_err(|_| Lack::NoDevices);
        ahead.map(of_pod).collect()
    }

    /// What these pods need, in order.
    fn wanted_ahead<'a>(&'a self, specials: &'a [Special]) -> Vec<&'a ResourceClaim> {
        let mut wanted: Vec<&ResourceClaim> = Vec::new();
        for (ahead, special) in self.supposed.ahead.iter().zip(specials) {
            let open = ahead.state.claims.iter().filter(|claim| claim.allocation.is_none());
            for claim in open.map(AsRef::as_ref) {
                // Several pods may share it.
                if !wanted.iter().any(|have| have.meta == claim.meta) {
                    wanted.push(claim);
                }
            }
            if let Special::Made(claim, _) = special {
                wanted.push(claim);
            }
        }
        wanted
    }

    /// Places of claims that are allocated elsewhere, or in vain.
    pub(super) fn unavailable(&self, cluster: &Cluster, node: NodeView<'_>) -> Vec<usize> {
        let places = 0..self.claims.len();
        places.filter(|place| self.is_unavailable(*place, cluster, node)).collect()
    }

    pub(super) fn is_any_unavailable(&self, cluster: &Cluster, node: NodeView<'_>) -> bool {
        (0..self.claims.len()).any(|place| self.is_unavailable(place, cluster, node))
    }

    /// What a node has for each request, if it has too few devices.
    pub(super) fn supplies(
        &self,
        work: &mut Work,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> Vec<Supply> {
        if !self.answer(cluster, node).lacks_devices() {
            return Vec::new();
        }
        let special = match self.special(node, work) {
            Ok(Special::Made(claim, _)) => Some(claim),
            _ => None,
        };
        let open = self.claims.iter().filter(|claim| claim.allocation.is_none());
        let wanted: Vec<&ResourceClaim> =
            open.map(AsRef::as_ref).chain(special.as_deref()).collect();
        supplies(&wanted, cluster, node, self.followed, work)
    }

    /// Which of the extended resources devices of the node have to stand for, by their places.
    pub(super) fn backed(&self, node: NodeView<'_>) -> Result<Vec<usize>, Lack> {
        let Some(Extended { left, asked, .. }) = &self.extended else { return Ok(Vec::new()) };
        if left.is_some() {
            return Err(Lack::Leftover);
        }
        let mut backed = Vec::new();
        let has = &node.node.allocatable.amounts.scalars;
        for (place, (name, class)) in asked.iter().enumerate() {
            let listed = has.iter().find(|(have, _)| have == name).map(|(_, amount)| *amount);
            if class.is_some() && listed.unwrap_or(0) == 0 {
                backed.push(place);
            } else if listed.is_none() {
                return Err(Lack::NoResource);
            }
        }
        Ok(backed)
    }

    fn special(&self, node: NodeView<'_>, work: &mut Work) -> Result<Special, Lack> {
        let Some(Extended { asked, containers, .. }) = &self.extended else {
            return Ok(Special::None);
        };
        let backed = self.backed(node)?;
        if backed.is_empty() && self.claims.is_empty() {
            return Ok(Special::None);
        }
        let containers_count = containers.init.len() + containers.regular.len();
        let entries = (containers_count as u64).saturating_mul(backed.len() as u64);
        work.charge(entries.saturating_mul(CONTAINER_RESOURCE))?;
        let of_place = |place: &usize| {
            let (name, class) = asked.get(*place)?;
            Some((&***name, class.as_deref()?))
        };
        let mut backed: Vec<(&str, &str)> = backed.iter().filter_map(of_place).collect();
        backed.sort_unstable();
        let (requests, mappings) = requests(containers, &backed);
        let meta = Meta {
            namespace: self.namespace.clone(),
            name: SPECIAL_NAME.into(),
            ..Meta::default()
        };
        let claim = ResourceClaim { meta, requests: requests.into(), ..ResourceClaim::default() };
        Ok(Special::Made(claim.into(), mappings))
    }
}
