//! What one node gives to the claims of a pod, or why it does not (Filter).

use std::sync::Arc;

use crate::model::{Allocation, Meta, ResourceClaim};
use crate::rules::devices::extended::{Mapping, class_behind, requests};
use crate::rules::devices::{
    CONTAINER_RESOURCE, Detail, Outcome, Supply, TooMuch, Work, allocate, supplies,
};
use crate::rules::{Code, Status};
use crate::snapshot::{Cluster, NodeView};

use super::state::{Extended, SPECIAL_NAME, State, WithoutDevices};

/// A claim with the devices that a node gives it.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) claim: Arc<ResourceClaim>,
    pub(super) allocation: Allocation,
    /// Of the claim for extended resources.
    pub(super) special: Option<Vec<Mapping>>,
}

/// A node's answer.
#[derive(Debug)]
pub(super) enum Judged {
    Fits(Vec<Given>),
    /// There are not enough devices.
    NoDevices,
    /// Places of claims that are allocated elsewhere, or in vain.
    Unavailable(Vec<usize>),
    InvalidPools,
    /// The claim of an earlier attempt has to go first.
    Leftover,
    /// Neither the node nor devices have the resource.
    NoResource,
    /// It takes more than it may. Which part of a claim it got to; empty: none.
    TooMuch(String),
    Failed(String),
}

impl From<TooMuch> for Judged {
    fn from(_: TooMuch) -> Self {
        Self::TooMuch(String::new())
    }
}

const NO_DEVICES: u16 = 1;
const UNAVAILABLE: u16 = 2;
const INVALID_POOLS: u16 = 3;
const LEFTOVER: u16 = 4;
const NO_RESOURCE: u16 = 5;

/// Counting what a node has asks every device for every request; it is only done to explain.
const SUPPLY_TIMES: u64 = 4;

impl Judged {
    pub(super) fn code(&self) -> Code {
        match self {
            Self::Fits(_) => Code::PASS,
            Self::NoDevices => Code::reject(NO_DEVICES),
            Self::Unavailable(_) => Code::reject(UNAVAILABLE),
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

/// What a code other than a failure means.
pub(super) fn meaning(code: Code) -> Status {
    Status::unresolvable(match code.meaning() {
        UNAVAILABLE => "resourceclaim not available on the node",
        INVALID_POOLS => "invalid resource pools were encountered",
        LEFTOVER => "cannot schedule extended resource claim",
        NO_RESOURCE => "cannot fit resource",
        _ => "cannot allocate all claims",
    })
}

/// The claim of a node for extended resources.
enum Special {
    None,
    Made(Box<ResourceClaim>, Vec<Mapping>),
}

impl State {
    pub(super) fn judge(&self, cluster: &Cluster, node: NodeView<'_>, detail: Detail) -> Judged {
        let mut work = Work::of(self.units_a_node);
        let judged = self.judge_within(&mut work, cluster, node, detail);
        cluster.objects().add_units_of_devices(self.units_a_node - work.left());
        judged
    }

    fn judge_within(
        &self,
        work: &mut Work,
        cluster: &Cluster,
        node: NodeView<'_>,
        detail: Detail,
    ) -> Judged {
        let special = match self.special(cluster, node, work) {
            Ok(special) => special,
            Err(judged) => return judged,
        };
        let unavailable = self.unavailable(cluster, node);
        let open: Vec<&Arc<ResourceClaim>> =
            self.claims.iter().filter(|claim| claim.allocation.is_none()).collect();
        let mut wanted: Vec<&ResourceClaim> = open.iter().map(|claim| &***claim).collect();
        if let Special::Made(claim, _) = &special {
            wanted.push(claim);
        }
        let allocations = if wanted.is_empty() {
            Vec::new()
        } else {
            let context = (node, self.followed);
            let mut found = || allocate(&wanted, cluster, context, work, detail);
            let outcome = match &special {
                Special::None if !self.reaches_slices(cluster, node) => self.without_devices(found),
                _ => found(),
            };
            match outcome {
                Outcome::Found(allocations) => allocations,
                Outcome::NoSolution => return Judged::NoDevices,
                Outcome::InvalidPools => return Judged::InvalidPools,
                Outcome::TooMuch(part) => return Judged::TooMuch(part),
                Outcome::Failed(why) => return Judged::Failed(why),
            }
        };
        if !unavailable.is_empty() {
            return Judged::Unavailable(unavailable);
        }
        let mut claims: Vec<(Arc<ResourceClaim>, Option<Vec<Mapping>>)> =
            open.into_iter().map(|claim| (Arc::clone(claim), None)).collect();
        if let Special::Made(claim, mappings) = special {
            claims.push((Arc::from(claim), Some(mappings)));
        }
        let given = claims.into_iter().zip(allocations);
        let given =
            given.map(|((claim, special), allocation)| Given { claim, allocation, special });
        Judged::Fits(given.collect())
    }

    /// Places of claims that are allocated elsewhere, or in vain.
    pub(super) fn unavailable(&self, cluster: &Cluster, node: NodeView<'_>) -> Vec<usize> {
        let places = 0..self.claims.len();
        places.filter(|place| self.is_unavailable(*place, cluster, node)).collect()
    }

    fn reaches_slices(&self, cluster: &Cluster, node: NodeView<'_>) -> bool {
        let all_counters = !self.followed.traits().repairs_allocator;
        let slices = &cluster.objects().device_slices;
        slices.for_node(&node.node.name, all_counters).next().is_some()
    }

    /// What comes of claims on a node that reaches no slice. It is asked once.
    fn without_devices(&self, found: impl FnOnce() -> Outcome) -> Outcome {
        let known = match self.without_devices.get() {
            Some(known) => known,
            None => {
                let outcome = found();
                let known = match &outcome {
                    Outcome::NoSolution => WithoutDevices::NotEnough,
                    Outcome::Failed(why) => WithoutDevices::Failed(why.clone()),
                    Outcome::TooMuch(part) => WithoutDevices::TooMuch(part.clone()),
                    Outcome::Found(_) | Outcome::InvalidPools => WithoutDevices::Other,
                };
                self.without_devices.get_or_init(|| known);
                return outcome;
            }
        };
        match known {
            WithoutDevices::NotEnough => Outcome::NoSolution,
            WithoutDevices::Failed(why) => Outcome::Failed(why.clone()),
            WithoutDevices::TooMuch(part) => Outcome::TooMuch(part.clone()),
            WithoutDevices::Other => found(),
        }
    }

    /// What a node has for each request, if it has too few devices.
    pub(super) fn supplies(&self, cluster: &Cluster, node: NodeView<'_>) -> Vec<Supply> {
        if !matches!(self.judge(cluster, node, Detail::Devices), Judged::NoDevices) {
            return Vec::new();
        }
        let mut work = Work::of(self.units_a_node.saturating_mul(SUPPLY_TIMES));
        let special = match self.special(cluster, node, &mut work) {
            Ok(Special::Made(claim, _)) => Some(claim),
            _ => None,
        };
        let open = self.claims.iter().filter(|claim| claim.allocation.is_none());
        let wanted: Vec<&ResourceClaim> =
            open.map(AsRef::as_ref).chain(special.as_deref()).collect();
        supplies(&wanted, cluster, node, self.followed, work)
    }

    fn special(
        &self,
        cluster: &Cluster,
        node: NodeView<'_>,
        work: &mut Work,
    ) -> Result<Special, Judged> {
        let Some(Extended { left, asked, containers }) = &self.extended else {
            return Ok(Special::None);
        };
        if left.is_some() {
            return Err(Judged::Leftover);
        }
        let mut backed: Vec<(&str, &str)> = Vec::new();
        let has = &node.node.allocatable.amounts.scalars;
        for (name, _) in asked {
            let listed = has.iter().find(|(have, _)| have == name).map(|(_, amount)| *amount);
            let class = class_behind(name, cluster, self.followed);
            if let Some(class) = class.filter(|_| listed.unwrap_or(0) == 0) {
                backed.push((name, class));
            } else if listed.is_none() {
                return Err(Judged::NoResource);
            }
        }
        if backed.is_empty() && self.claims.is_empty() {
            return Ok(Special::None);
        }
        let containers_count = containers.init.len() + containers.regular.len();
        let entries = (containers_count as u64).saturating_mul(backed.len() as u64);
        work.charge(entries.saturating_mul(CONTAINER_RESOURCE))?;
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
