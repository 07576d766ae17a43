//! What a placed pod's volumes need before it can be bound: volumes that name their claim, claims that
//! name their node.

use crate::api::{PreBindWrite, VolumeWork};
use crate::model::Meta;
use crate::rules::reservation::Reservation;
use crate::snapshot::{Cluster, NodeView, Pod};

use super::VolumeBinding;
use super::decide::{Binding, decide, is_to_mark, names};
use super::needs::selected_node;

impl VolumeBinding {
    /// `None` for most pods: nothing is to be bound.
    pub(super) fn reservation(
        self,
        pod: &Pod,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> Option<Reservation> {
        if pod.template.volumes.is_empty() {
            return None;
        }
        let bindings = decide(pod, cluster, node).ok().filter(|found| !found.is_empty())?;
        let bind = bindings.bind.iter().map(|binding| self.to_bind(binding, cluster));
        let provision = bindings.provision.iter().map(|claim| {
            let shown = cluster.confirmed_claim(&claim.meta.namespace, &claim.meta.name);
            let shown = shown.unwrap_or(claim);
            VolumeWork {
                is_to_write: selected_node(shown) != Some(&node.node.name),
                ..self.of_claim(&shown.meta)
            }
        });
        let writes = bind.chain(provision).map(PreBindWrite::Volume).collect();
        let relied_on = bindings.relied_on().into_iter();
        Some(Reservation {
            promised: bindings.assumed(&node.node.name),
            relied_on: relied_on.map(|(kind, meta)| (kind, meta.clone())).collect(),
            writes,
            ..Reservation::default()
        })
    }

    fn to_bind(self, binding: &Binding, cluster: &Cluster) -> VolumeWork {
        let (volume, claim) = (&binding.volume, &binding.claim);
        // What another pod is promised is not written yet, and may never be.
        let shown = cluster.confirmed_volume(&volume.meta.name).unwrap_or(volume);
        VolumeWork {
            volume: shown.meta.name.clone(),
            volume_uid: shown.meta.uid.clone(),
            volume_version: shown.meta.resource_version.clone(),
            is_to_write: !names(shown, claim),
            is_to_mark: is_to_mark(shown, claim),
            ..self.of_claim(&claim.meta)
        }
    }

    fn of_claim(self, claim: &Meta) -> VolumeWork {
        VolumeWork {
            claim: claim.name.clone(),
            claim_uid: claim.uid.clone(),
            claim_version: claim.resource_version.clone(),
            volume: "".into(),
            volume_uid: "".into(),
            volume_version: "".into(),
            is_to_write: true,
            is_to_mark: false,
            seconds_max: self.bind_timeout_seconds,
        }
    }
}
