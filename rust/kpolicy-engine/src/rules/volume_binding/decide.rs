//! Decides a pod's claims on a node: the verdict, and what must be written if the node is chosen.
//!
//! [`decide`] is pure and gives [`Bindings`]. The caller that binds sends each object of
//! [`Bindings::assumed`] to the API server, waits until every claim of `bind` and `provision` is
//! bound, and only then binds the pod. Until the watch shows these writes, the same objects are in
//! the snapshot and keep other pods from taking the same volume; what the API server shows replaces
//! them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::{Kind, Labels, Meta, Object, PersistentVolume, PersistentVolumeClaim};
use crate::rules::label_classes::{LabelClasses, LabelKeys};
use crate::rules::volume_migration::is_migrated_on;
use crate::rules::{Code, Rejection, Status};
use crate::snapshot::{Cluster, NodeView, Pod};

use super::bound::{Bound, Reach};
use super::candidates::is_bound_to;
use super::needs::{Needs, Promised, SELECTED_NODE};
use super::provisioning::{Provisioned, Provisioning};

const REASONS: [(u16, &str); 4] = [
    (OUTSIDE, "node(s) didn't match PersistentVolume's node affinity"),
    (NO_VOLUME, "node(s) didn't find available persistent volumes to bind"),
    (NO_ROOM, "node(s) did not have enough free storage"),
    (MISSING, "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"),
];
const OUTSIDE: u16 = 1;
const NO_VOLUME: u16 = 1 << 1;
const NO_ROOM: u16 = 1 << 2;
const MISSING: u16 = 1 << 3;
const UNKNOWN: Code = Code::fail(1);
const BAD_SELECTOR: Code = Code::fail(2);

const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// A claim and the volume that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub volume: Arc<PersistentVolume>,
    pub claim: Arc<PersistentVolumeClaim>,
}

/// What is to be done before a pod can be bound to its node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bindings {
    /// Claims, each with the existing volume that it takes.
    pub bind: Vec<Binding>,
    /// To be provisioned on the node.
    pub provision: Vec<Arc<PersistentVolumeClaim>>,
}

/// What to bind and provision for a pod on a node, or why it cannot be there.
pub fn decide(pod: &Pod, cluster: &Cluster, node: NodeView<'_>) -> Result<Bindings, Status> {
    let needs = Needs::of(pod, cluster)?;
    let mut bindings = Bindings::default();
    let code = needs.judge(cluster, node, |step| match step {
        Step::Bind(binding) => bindings.bind.push(binding),
        Step::Provision(made) => bindings.provision.push(Arc::clone(&made.claim)),
    });
    if code.passes() { Ok(bindings) } else { Err(needs.describe(cluster, node, code)) }
}

pub(super) enum Step<'a> {
    Bind(Binding),
    Provision(&'a Provisioning),
}

impl Needs {
    /// The verdict, telling each step on the way; steps only count if the node passes.
    pub(super) fn judge(
        &self,
        cluster: &Cluster,
        node: NodeView<'_>,
        mut tell: impl FnMut(Step<'_>),
    ) -> Code {
        let bound = match self.reach(cluster, node) {
            Reach::Within => 0,
            Reach::Outside => OUTSIDE,
            Reach::Missing => MISSING,
            Reach::Unknown(_) => return UNKNOWN,
        };
        let is_elsewhere = |name: &str| *name != *node.node.name;
        if self.promised.iter().any(|promised| is_elsewhere(&promised.node_name)) {
            return code(bound | NO_VOLUME);
        }
        if self.open.iter().any(|open| open.candidates.has_bad_selector()) {
            return BAD_SELECTOR;
        }
        let promised = self.promised.iter().map(|promised| &promised.provisioning);
        let mut to_provision: Vec<&Provisioning> = promised.collect();
        let mut taken: Vec<&Arc<PersistentVolume>> = Vec::new();
        for open in &self.open {
            match open.candidates.find(node.node, &taken) {
                None => to_provision.push(&open.provisioning),
                Some(volume) => {
                    taken.push(volume);
                    let claim = Arc::clone(&open.candidates.claim);
                    tell(Step::Bind(Binding { volume: Arc::clone(volume), claim }));
                }
            }
        }
        for provisioning in to_provision {
            match provisioning.on(node.node) {
                Provisioned::Possible => tell(Step::Provision(provisioning)),
                Provisioned::NotHere => return code(bound | NO_VOLUME),
                Provisioned::NoRoom => return code(bound | NO_ROOM),
            }
        }
        code(bound)
    }

    /// As `judge` for every node: of nodes with equal values of the labels that matter, one is asked.
    pub(super) fn judge_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        let classes = self.classes(cluster);
        classes.check_all(cluster, codes, |view| self.judge(cluster, view, |_| {}));
    }

    /// Nodes for which `judge` says the same, and takes the same steps.
    pub(super) fn classes(&self, cluster: &Cluster) -> LabelClasses {
        let mut keys = LabelKeys::new();
        self.bound.iter().for_each(|bound| bound.label_keys(&mut keys));
        self.promised.iter().for_each(|promised| promised.provisioning.label_keys(&mut keys));
        for open in &self.open {
            open.candidates.label_keys(&mut keys);
            open.provisioning.label_keys(&mut keys);
        }
        let plugins: BTreeSet<&str> =
            self.bound.iter().filter_map(Bound::migrated_plugin).collect();
        let others = |view: NodeView<'_>| {
            let csi_node = cluster.objects().csi_nodes.get("", &view.node.name);
            let is_migrated = |plugin: &&str| is_migrated_on(plugin, csi_node.map(AsRef::as_ref));
            let is_here = |promised: &Promised| *promised.node_name == *view.node.name;
            let bits = plugins.iter().map(is_migrated).fold(0, bit_after);
            bit_after(bits, self.promised.iter().all(is_here))
        };
        let reads_more = !plugins.is_empty() || !self.promised.is_empty();
        let more = reads_more.then_some(&others as &dyn Fn(NodeView<'_>) -> u32);
        LabelClasses::of(&keys, cluster, more)
    }

    /// The first bound claim that is not within reach decides for all.
    fn reach(&self, cluster: &Cluster, node: NodeView<'_>) -> Reach<'_> {
        let csi_nodes = &cluster.objects().csi_nodes;
        let is_asked = self.bound.iter().any(Bound::is_migrated);
        let csi_node = is_asked.then(|| csi_nodes.get("", &node.node.name)).flatten();
        let reaches =
            self.bound.iter().map(|bound| bound.reach(node.node, csi_node.map(AsRef::as_ref)));
        reaches.into_iter().find(|reach| *reach != Reach::Within).unwrap_or(Reach::Within)
    }

    pub(super) fn describe(&self, cluster: &Cluster, node: NodeView<'_>, code: Code) -> Status {
        if code == UNKNOWN {
            let why = match self.reach(cluster, node) {
                Reach::Unknown(why) => why,
                _ => "",
            };
            return Status::error(format!("could not translate pv: {why}"));
        }
        if code == BAD_SELECTOR {
            let bad = self.open.iter().find(|open| open.candidates.has_bad_selector());
            let meta = bad.map(|open| &open.candidates.claim.meta);
            let name = meta.map(|meta| format!("{}/{}", meta.namespace, meta.name));
            return Status::error(format!(
                "error creating internal label selector for claim: {}: \
                 its selector has a requirement that cannot be read",
                name.unwrap_or_default()
            ));
        }
        let given = REASONS.iter().filter(|(bit, _)| code.meaning() & bit != 0);
        let reasons = given.map(|(_, reason)| (*reason).into()).collect();
        Status { rejection: Rejection::Unresolvable, reasons, fault: None }
    }
}

/// Bits in a row as one number.
fn bit_after(bits: u32, bit: bool) -> u32 {
    bits << 1 | u32::from(bit)
}

fn code(reasons: u16) -> Code {
    if reasons == 0 { Code::PASS } else { Code::reject(reasons) }
}

impl Bindings {
    pub(crate) fn is_empty(&self) -> bool {
        self.bind.is_empty() && self.provision.is_empty()
    }

    /// Volumes and claims that must stay as they are until the pod is bound.
    pub(crate) fn relied_on(&self) -> Vec<(Kind, &Meta)> {
        let volumes =
            self.bind.iter().map(|binding| (Kind::PersistentVolume, &binding.volume.meta));
        let claims = self.provision.iter().map(|claim| (Kind::PersistentVolumeClaim, &claim.meta));
        volumes.chain(claims).collect()
    }

    /// The objects as they are to be written: volumes that name their claim, claims that name their
    /// node. A volume that says so already is left out.
    pub fn assumed(&self, node_name: &str) -> Vec<Object> {
        let volumes = self.bind.iter().filter_map(Binding::written);
        let volumes = volumes.map(|volume| Object::PersistentVolume(Arc::new(volume)));
        let claims = self.provision.iter().map(|claim| {
            let mut claim = PersistentVolumeClaim::clone(claim);
            claim.meta.annotations = with(&claim.meta.annotations, SELECTED_NODE, node_name);
            Object::PersistentVolumeClaim(Arc::new(claim))
        });
        volumes.chain(claims).collect()
    }
}

impl Binding {
    fn written(&self) -> Option<PersistentVolume> {
        if names(&self.volume, &self.claim) {
            return None;
        }
        let mut volume = PersistentVolume::clone(&self.volume);
        if is_to_mark(&volume, &self.claim) {
            volume.meta.annotations = with(&volume.meta.annotations, BOUND_BY_CONTROLLER, "yes");
        }
        let meta = &self.claim.meta;
        volume.claim = Some((meta.namespace.clone(), meta.name.clone(), meta.uid.clone()));
        Some(volume)
    }
}

/// Whether the volume names this very claim.
pub(super) fn names(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let meta = &claim.meta;
    volume.claim.as_ref().is_some_and(|(namespace, name, uid)| {
        (namespace, name, uid) == (&meta.namespace, &meta.name, &meta.uid)
    })
}

/// The API says that a volume which its user did not bind is annotated as bound by a controller.
pub(super) fn is_to_mark(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    !is_bound_to(volume, claim) && volume.meta.annotations.get(BOUND_BY_CONTROLLER).is_none()
}

fn with(annotations: &Labels, key: &str, value: &str) -> Labels {
    annotations.iter().chain([(key, value)]).collect()
}
