//! Follows the rule by which resizes in progress count, which a program brings with its release.

use std::sync::Arc;

use crate::resources::ResizeRule;

use super::Cluster;
use super::pod::Pod;
use super::pods::{Place, PodEntry};
use super::supposed::PodParts;

impl Cluster {
    /// Counts resizes by this rule from now on. Pods that hold something else by it get new rows.
    pub(crate) fn count_resizes(&mut self, rule: ResizeRule) {
        if !self.tables.count_resizes(rule) {
            return;
        }
        let differs = |pod: &Pod| pod.requests().by(rule).is_some();
        let entries = self.pods.found(|entry| match &entry.place {
            Place::On { held, .. } => differs(&entry.pod) || differs(held),
            Place::Pending => differs(&entry.pod),
        });
        for entry in entries {
            self.recount(&entry, rule);
        }
    }

    fn recount(&mut self, entry: &PodEntry, rule: ResizeRule) {
        let pod = self.counted_by(&entry.pod, rule);
        let place = match &entry.place {
            Place::On { node, held, is_assumed } => Place::On {
                node: Arc::clone(node),
                held: if Arc::ptr_eq(held, &entry.pod) {
                    Arc::clone(&pod)
                } else {
                    self.counted_by(held, rule)
                },
                is_assumed: *is_assumed,
            },
            Place::Pending => Place::Pending,
        };
        self.take_off(entry);
        if let Some(node) = self.nominations.node_of(&pod.uid).cloned() {
            self.nominations.set(&pod, &node);
        }
        self.release(entry, Some(&pod));
        self.put_back(PodEntry { pod, place });
    }

    fn counted_by(&mut self, pod: &Arc<Pod>, rule: ResizeRule) -> Arc<Pod> {
        let Some(requests) = pod.requests().by(rule) else { return Arc::clone(pod) };
        let parts = PodParts { requests: Some(requests), ..PodParts::default() };
        Arc::new(self.supposed_pod(pod, parts))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::model::pod::StatusResources;
    use crate::model::{self, Container, Meta, Quantity, ResourceList};
    use crate::resources::ResizeRule;
    use crate::snapshot::Cluster;

    fn cpu(units: i64) -> ResourceList {
        [("cpu", Quantity::from_units(units))].into_iter().collect()
    }

    fn resized(requested: i64, used: i64) -> Container {
        let status = StatusResources { requests: Some(cpu(used)), allocated: cpu(1) };
        Container {
            requests: cpu(requested),
            status: Some(Box::new(status)),
            ..Container::default()
        }
    }

    /// By sums it holds 6 processors, else 9.
    fn pod(uid: &str, node: &str) -> model::Pod {
        model::Pod {
            meta: Meta { uid: uid.into(), name: uid.into(), ..Meta::default() },
            node_name: node.into(),
            containers: [resized(5, 1), resized(1, 4)].into(),
            ..model::Pod::default()
        }
    }

    fn cluster_by(rule: ResizeRule) -> Cluster {
        let mut cluster = Cluster::default();
        cluster.count_resizes(rule);
        let meta = Meta { name: "n".into(), ..Meta::default() };
        cluster.set_node(model::Node { meta, ..model::Node::default() });
        for (uid, node) in [("bound", "n"), ("lost", "absent"), ("assumed", ""), ("nominated", "")]
        {
            cluster.set_pod(pod(uid, node));
        }
        let mut plain = pod("plain", "n");
        plain.containers = [resized(1, 1)].into();
        cluster.set_pod(plain);
        let slot = cluster.nodes.find("n").unwrap();
        let annotations = [("key".into(), "value".into())];
        assert!(cluster.assume("assumed", slot, &annotations));
        cluster.nominate("nominated", &"n".into());
        cluster
    }

    /// What the node holds, nominated pods and those that wait for their node.
    fn sums(cluster: &mut Cluster) -> [i64; 4] {
        let held = |pod: &Arc<super::Pod>| pod.requests().held.cpu_milli;
        let slot = cluster.nodes.find("n").unwrap();
        let load = cluster.nodes.view(slot).unwrap().load;
        let own: i64 = load.pods.iter().map(held).sum();
        let sums = [own, load.requested.cpu_milli, cluster.nominations.on("n").map(held).sum()];
        let lost = cluster.pods.waiting_for("absent");
        let [own, requested, nominated] = sums;
        let waiting = lost.iter().map(held).sum();
        lost.into_iter().for_each(|pod| cluster.pods.wait(&"absent".into(), pod));
        [own, requested, nominated, waiting]
    }

    #[test]
    fn pods_count_by_another_rule_as_if_it_had_been_in_force_before() {
        for from in ResizeRule::ALL {
            let mut cluster = cluster_by(from);
            for to in ResizeRule::ALL {
                cluster.count_resizes(to);
                let each = if to == ResizeRule::LargestSum { 6_000 } else { 9_000 };
                assert_eq!(sums(&mut cluster), [2 * each + 1_000, 2 * each + 1_000, each, each]);
                assert_eq!(sums(&mut cluster), sums(&mut cluster_by(to)));
                assert!(cluster.pods.get("assumed").unwrap().is_assumed());
                assert_eq!((cluster.pods.assumed(), cluster.pods.pending()), (1, 1));
            }
        }
    }

    #[test]
    fn only_pods_that_hold_something_else_get_new_rows() {
        let mut cluster = cluster_by(ResizeRule::LargestSum);
        let row = |cluster: &Cluster, uid| Arc::clone(&cluster.pods.get(uid).unwrap().pod);
        let before = ["plain", "bound"].map(|uid| row(&cluster, uid));
        let generation = cluster.generation();
        cluster.count_resizes(ResizeRule::LargestSum);
        assert_eq!(cluster.generation(), generation);
        cluster.count_resizes(ResizeRule::EachContainer);
        let after = ["plain", "bound"].map(|uid| row(&cluster, uid));
        assert!(Arc::ptr_eq(&before[0], &after[0]) && !Arc::ptr_eq(&before[1], &after[1]));
        assert!(cluster.generation() > generation);
    }
}
