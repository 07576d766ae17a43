//! What one node gives to the claims of a pod, or why it does not (Filter).

use std::sync::Arc;

use crate::model::{Allocation, Meta, ResourceClaim};
use crate::rules::devices::extended::{Mapping, class_behind, requests};
use crate::rules::devices::{Outcome, Supply, allocate, supplies};
use crate::rules::{Code, Status};
use crate::snapshot::{Cluster, NodeView};

use super::state::{Extended, SPECIAL_NAME, State};

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
    TooLong {
        fails_cycle: bool,
    },
    Failed(String),
}

const NO_DEVICES: u16 = 1;
const UNAVAILABLE: u16 = 2;
const INVALID_POOLS: u16 = 3;
const LEFTOVER: u16 = 4;
const NO_RESOURCE: u16 = 5;
const TOO_LONG: u16 = 6;

impl Judged {
    pub(super) fn code(&self) -> Code {
        match self {
            Self::Fits(_) => Code::PASS,
            Self::NoDevices => Code::reject(NO_DEVICES),
            Self::Unavailable(_) => Code::reject(UNAVAILABLE),
            Self::InvalidPools => Code::reject(INVALID_POOLS),
            Self::Leftover => Code::reject(LEFTOVER),
            Self::NoResource => Code::reject(NO_RESOURCE),
            Self::TooLong { fails_cycle: false } => Code::reject(TOO_LONG),
            Self::TooLong { fails_cycle: true } | Self::Failed(_) => Code::fail(1),
        }
    }

    /// Why the cycle fails; `None` where it does not.
    pub(super) fn failure(self, node: &str) -> Option<String> {
        match self {
            Self::TooLong { fails_cycle: true } => {
                Some(format!("node {node}: timed out trying to allocate devices"))
            }
            Self::Failed(why) => Some(why),
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
        TOO_LONG => "timed out trying to allocate devices",
        _ => "cannot allocate all claims",
    })
}

/// The claim of a node for extended resources.
enum Special {
    None,
    Made(Box<ResourceClaim>, Vec<Mapping>),
}

impl State {
    pub(super) fn judge(&self, cluster: &Cluster, node: NodeView<'_>) -> Judged {
        let special = match self.special(cluster, node) {
            Ok(special) => special,
            Err(judged) => return judged,
        };
        let numbered = self.claims.iter().enumerate();
        let unavailable: Vec<usize> = numbered
            .filter(|(_, claim)| self.is_unavailable(claim, cluster, node))
            .map(|(place, _)| place)
            .collect();
        let open: Vec<&Arc<ResourceClaim>> =
            self.claims.iter().filter(|claim| claim.allocation.is_none()).collect();
        let mut wanted: Vec<&ResourceClaim> = open.iter().map(|claim| &***claim).collect();
        if let Special::Made(claim, _) = &special {
            wanted.push(claim);
        }
        let allocations = if wanted.is_empty() {
            Vec::new()
        } else {
            match allocate(&wanted, cluster, node, self.followed) {
                Outcome::Found(allocations) => allocations,
                Outcome::NoSolution => return Judged::NoDevices,
                Outcome::InvalidPools => return Judged::InvalidPools,
                Outcome::TooLong => {
                    let fails_cycle = self.followed.traits().slow_devices_fail_cycle;
                    return Judged::TooLong { fails_cycle };
                }
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

    /// What a node has for each request, if it has too few devices.
    pub(super) fn supplies(&self, cluster: &Cluster, node: NodeView<'_>) -> Vec<Supply> {
        if !matches!(self.judge(cluster, node), Judged::NoDevices) {
            return Vec::new();
        }
        let special = match self.special(cluster, node) {
            Ok(Special::Made(claim, _)) => Some(claim),
            _ => None,
        };
        let open = self.claims.iter().filter(|claim| claim.allocation.is_none());
        let wanted: Vec<&ResourceClaim> =
            open.map(AsRef::as_ref).chain(special.as_deref()).collect();
        supplies(&wanted, cluster, node, self.followed)
    }

    fn special(&self, cluster: &Cluster, node: NodeView<'_>) -> Result<Special, Judged> {
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
