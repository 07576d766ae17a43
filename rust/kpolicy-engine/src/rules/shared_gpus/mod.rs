//! `SharedGpus`: nodes whose GPUs have enough left for the pod, which devices it gets there, and how
//! much of the idle GPUs a placement leaves of no use.
//!
//! The devices are a part of the decision: their numbers are written with the bind, and pods on nodes
//! are counted by them.

pub(crate) mod asked;
mod fragmentation;
pub(crate) mod free;

use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::fields::{Fields, Refusals, UNKNOWN};
use crate::part::{Part, Parts};
use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

use super::{
    Code, Filter, HeldBytes, Key, Normalization, PreparedFilter, PreparedScore, Reads, Reservation,
    Score, Status,
};

use asked::{Asked, INDEX, index_text, is_model_among, models};
use fragmentation::{Idle, TypicalPods};
use free::{best_fit, count, fits, fitting, free, model};

pub(crate) const NAME: &str = "SharedGpus";
const OTHER_MODEL: &str = "node(s) didn't have a GPU of the model that the pod asks for";
const TOO_FEW: &str = "node(s) didn't have as many GPUs as the pod asks for";
const TOO_LITTLE_LEFT: &str = "node(s) didn't have enough left of their GPUs";

const HAS_OTHER_MODEL: Code = Code::reject(1);
const HAS_TOO_FEW: Code = Code::reject(2);
const HAS_TOO_LITTLE_LEFT: Code = Code::reject(3);

/// Which devices of a node a pod gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// Those with the least left that is enough.
    BestFit,
    /// Those that leave the smallest fragment.
    LeastFragmentation,
    /// Any, by a number that follows from the pod's uid.
    Random,
}

#[derive(Debug)]
pub(crate) struct SharedGpus {
    choice: Choice,
    typical: Arc<TypicalPods>,
}

#[derive(Debug, Clone)]
struct Fitting {
    asked: Asked,
    models: Box<str>,
}

#[derive(Debug)]
struct Fragmenting {
    asked: Asked,
    cpu_milli: i64,
    typical: Arc<TypicalPods>,
}

/// From the plugin's args; the same for filter and score.
pub(crate) fn from_args(args: &mut Fields<'_>, refusals: &mut Refusals) -> Option<SharedGpus> {
    let place = args.place_of("devices");
    let choice = match args.text_or("devices", "BestFit", refusals)? {
        "BestFit" => Choice::BestFit,
        "LeastFragmentation" => Choice::LeastFragmentation,
        "Random" => Choice::Random,
        other => {
            let hint = "one of BestFit, LeastFragmentation, Random";
            refusals.add(UNKNOWN, &place, format!("unknown choice of devices {other:?}"), hint);
            return None;
        }
    };
    let typical = Arc::new(TypicalPods::read(args, refusals)?);
    Some(SharedGpus { choice, typical })
}

fn key_of(pod: &Pod, key: &mut Key) -> Asked {
    let asked = Asked::of(pod);
    key.push(asked.count.cast_unsigned());
    key.push(asked.milli.cast_unsigned());
    asked
}

fn idle<'a>(node: NodeView<'a>, free: &'a [i64]) -> Idle<'a> {
    let has = node.node.allocatable.amounts.cpu_milli;
    let cpu_milli = has.saturating_sub(node.load.requested.cpu_milli);
    Idle { cpu_milli, free, model: model(node.node) }
}

impl SharedGpus {
    fn chosen(&self, pod: &Pod, asked: Asked, node: NodeView<'_>) -> Option<Vec<usize>> {
        let free = free(node);
        match self.choice {
            Choice::BestFit => best_fit(&free, asked),
            Choice::LeastFragmentation => {
                let cpu_milli = pod.requests().fit.cpu_milli;
                self.typical.best(idle(node, &free), cpu_milli, asked).map(|(devices, _)| devices)
            }
            Choice::Random => drawn(fitting(&free, asked)?, asked, &pod.uid),
        }
    }
}

/// As many as are asked for, beginning anywhere.
fn drawn(mut fitting: Vec<usize>, asked: Asked, uid: &str) -> Option<Vec<usize>> {
    let seed = uid.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // Texts that end differently differ in the low half of such a hash: it is spread over the whole.
    let spread = (seed ^ (seed >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let first = (u128::from(spread) * fitting.len() as u128) >> 64;
    fitting.rotate_left(usize::try_from(first).ok()?);
    fitting.truncate(usize::try_from(asked.count).ok()?);
    fitting.sort_unstable();
    Some(fitting)
}

impl Filter for SharedGpus {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key_of(pod, key);
        key.push_text(models(pod));
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        let asked = Asked::of(pod);
        if asked.is_nothing() {
            return None;
        }
        Some(Box::new(Fitting { asked, models: models(pod).into() }))
    }

    /// kube-scheduler has no such plugin and no hints: whatever changes what it reads is looked at.
    fn events(&self) -> Events {
        Events::NONE
    }

    fn parts(&self) -> Parts {
        Parts::of(&[
            Part::NodeExistence,
            Part::NodeLabels,
            Part::NodeAllocatable,
            Part::Load,
            Part::LoadInDetail,
        ])
    }

    fn wakes(&self, _: &Pod, _: Event, _: &Occurrence, _: &Cluster) -> bool {
        false
    }

    fn reserve(&self, pod: &Pod, _: &Cluster, node: NodeView<'_>) -> Option<Reservation> {
        let asked = Asked::of(pod);
        if asked.is_nothing() {
            return None;
        }
        let devices = self.chosen(pod, asked, node)?;
        let annotations = vec![(INDEX.into(), index_text(&devices).into())];
        Some(Reservation { annotations, ..Reservation::default() })
    }
}

impl PreparedFilter for Fitting {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS.with(NodeParts::ALLOCATABLE)).and_load()
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        let devices = i64::try_from(count(node.node)).unwrap_or(0);
        if devices < self.asked.count || self.asked.milli > asked::WHOLE {
            HAS_TOO_FEW
        } else if !is_model_among(model(node.node), &self.models) {
            HAS_OTHER_MODEL
        } else if fits(&free(node), self.asked) {
            Code::PASS
        } else {
            HAS_TOO_LITTLE_LEFT
        }
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, code: Code) -> Status {
        match code {
            HAS_OTHER_MODEL => Status::unresolvable(OTHER_MODEL),
            HAS_TOO_FEW => Status::unresolvable(TOO_FEW),
            _ => Status::unschedulable(TOO_LITTLE_LEFT),
        }
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + self.models.len())
    }
}

impl Score for SharedGpus {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key_of(pod, key);
        key.push(pod.template.requests.id());
    }

    /// Pods without a GPU score too: they take CPU that the pods with one would need.
    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let cpu_milli = pod.requests().fit.cpu_milli;
        let typical = Arc::clone(&self.typical);
        Some(Box::new(Fragmenting { asked: Asked::of(pod), cpu_milli, typical }))
    }
}

impl PreparedScore for Fragmenting {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS.with(NodeParts::ALLOCATABLE)).and_load()
    }

    #[allow(clippy::cast_precision_loss)] // from 0 to 100
    fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
        let free = free(node);
        let best = self.typical.best(idle(node, &free), self.cpu_milli, self.asked);
        best.map_or(0.0, |(_, score)| score as f64)
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::Percentage
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}

#[cfg(test)]
mod tests;
