//! What a placed pod's volumes need before it can be bound, and how far that is.
//!
//! Owns the step from a decision to promises in the snapshot and to the work told with it. Assumes
//! that whoever binds does the work and asks [`Engine::volumes`] until all of a pod's claims are
//! bound. Must not know how anything is written.

use std::sync::Arc;

use crate::api::{AwaitedVolume, VolumeProgress, VolumeWork};
use crate::cycle::Outcome;
use crate::model::Meta;
use crate::rules::volume_binding::{self, Binding, Bindings, VolumeBinding};
use crate::snapshot::{Cluster, NodeSlot, Pod};

use super::Engine;

/// What is to be bound and provisioned for a pod on a node.
pub(super) struct Work {
    rule: VolumeBinding,
    bindings: Bindings,
    node_name: Arc<str>,
}

impl Engine {
    /// Assumes the pod on the node, and its volumes as they will be.
    pub(super) fn place(&mut self, pod: &Arc<Pod>, slot: NodeSlot, work: Option<Work>) {
        self.cluster.assume(&pod.uid, slot);
        if let Some(Work { bindings, node_name, .. }) = work {
            let objects = bindings.assumed(&node_name);
            self.cluster.promise(&pod.uid, objects, &bindings.relied_on());
        }
    }

    /// What is to be written where the API server does not say so already.
    pub(super) fn told_work(&self, work: &Work) -> Vec<VolumeWork> {
        let Work { rule, bindings, node_name } = work;
        let bind = bindings.bind.iter().map(|binding| to_bind(binding, *rule, &self.cluster));
        let provision = bindings.provision.iter().map(|claim| {
            let told = self.cluster.told_claim(&claim.meta.namespace, &claim.meta.name);
            let told = told.unwrap_or(claim);
            VolumeWork {
                is_to_write: volume_binding::selected_node(told) != Some(node_name),
                ..of_claim(&told.meta, *rule)
            }
        });
        bind.chain(provision).collect()
    }

    /// How far each claim is, by what the API server said last.
    pub fn volumes(&self, awaited: &[AwaitedVolume]) -> Vec<VolumeProgress> {
        awaited.iter().map(|each| volume_binding::progress(each, &self.cluster)).collect()
    }

    /// `None` for most pods: nothing is to be done.
    pub(super) fn work_of(&self, pod: &Pod, profile: usize, outcome: &Outcome) -> Option<Work> {
        let Outcome::Chosen { slot, .. } = outcome else { return None };
        self.work_at(pod, profile, *slot)
    }

    /// The same where another has chosen the node.
    pub(super) fn work_at(&self, pod: &Pod, profile: usize, slot: NodeSlot) -> Option<Work> {
        if pod.template.volumes.is_empty() {
            return None;
        }
        let rule = self.program.profiles.get(profile)?.volume_binding()?;
        let view = self.cluster.nodes().view(slot)?;
        let bindings = volume_binding::decide(pod, &self.cluster, view).ok()?;
        let node_name = Arc::clone(&view.node.name);
        (!bindings.is_empty()).then_some(Work { rule, bindings, node_name })
    }
}

fn to_bind(binding: &Binding, rule: VolumeBinding, cluster: &Cluster) -> VolumeWork {
    let (volume, claim) = (&binding.volume, &binding.claim);
    // What another pod is promised is not written yet, and may never be.
    let told = cluster.told_volume(&volume.meta.name).unwrap_or(volume);
    VolumeWork {
        volume: told.meta.name.clone(),
        volume_uid: told.meta.uid.clone(),
        volume_version: told.meta.resource_version.clone(),
        is_to_write: !volume_binding::names(told, claim),
        is_to_mark: volume_binding::is_to_mark(told, claim),
        ..of_claim(&claim.meta, rule)
    }
}

fn of_claim(claim: &Meta, rule: VolumeBinding) -> VolumeWork {
    VolumeWork {
        claim: claim.name.clone(),
        claim_uid: claim.uid.clone(),
        claim_version: claim.resource_version.clone(),
        volume: "".into(),
        volume_uid: "".into(),
        volume_version: "".into(),
        is_to_write: true,
        is_to_mark: false,
        seconds_max: rule.bind_timeout_seconds,
    }
}
