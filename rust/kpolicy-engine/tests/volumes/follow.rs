//! A prepared form that followed every change answers as a newly prepared one.

use std::sync::Arc;

use kpolicy_engine::model::{Kind, Object};
use kpolicy_engine::rules::{Code, Filter, PreparedFilter, Refresh, Stage};
use kpolicy_engine::snapshot::{Change, Changes, Cluster, Generation, NodeParts, NodeView, Pod};

use super::clusters::{self, DISK_RULES, RULES};

/// The recorded clusters are put over each other, this many at a time.
const CLUSTERS_AT_ONCE: usize = 8;
const PODS: usize = 5;

/// What one rule says of one pod, kept up to date as the cycle does it.
struct Column {
    name: &'static str,
    rule: Box<dyn Filter>,
    pod: Arc<Pod>,
    prepared: Box<dyn PreparedFilter>,
    codes: Vec<Code>,
    seen: Generation,
}

fn filled(prepared: &dyn PreparedFilter, cluster: &Cluster) -> Vec<Code> {
    let mut codes = vec![Code::PASS; cluster.nodes().slots()];
    prepared.check_all(cluster, &mut codes);
    codes
}

impl Column {
    fn new(name: &'static str, pod: &Arc<Pod>, cluster: &Cluster) -> Option<Self> {
        let rule = clusters::rule(name);
        let prepared = rule.prepare(pod, cluster)?;
        let codes = filled(prepared.as_ref(), cluster);
        let (pod, seen) = (Arc::clone(pod), cluster.generation());
        Some(Self { name, rule, pod, prepared, codes, seen })
    }

    fn follow(&mut self, cluster: &Cluster) {
        let changes = cluster.log().since(self.seen).expect("the log reaches back");
        self.seen = cluster.generation();
        match self.prepared.refresh(changes, cluster) {
            Refresh::Nodes => self.touch(changes, cluster),
            Refresh::All => self.codes = filled(self.prepared.as_ref(), cluster),
            Refresh::Again => {
                self.prepared =
                    self.rule.prepare(&self.pod, cluster).expect("it had something to say");
                self.codes = filled(self.prepared.as_ref(), cluster);
            }
        }
    }

    fn touch(&mut self, changes: Changes<'_>, cluster: &Cluster) {
        self.codes.resize(cluster.nodes().slots(), Code::PASS);
        let reads = self.prepared.reads();
        for change in changes.iter() {
            let is_read = match change {
                Change::Node(_, parts) => parts.meets(reads.node.with(NodeParts::EXISTENCE)),
                Change::PodPut(..) | Change::PodTaken(..) => reads.load,
                Change::Object(_) | Change::Time(..) => false,
            };
            let Some(slot) = change.slot().filter(|_| is_read) else { continue };
            let code = cluster.nodes().view(slot).map(|view| self.prepared.check(cluster, view));
            self.codes[slot.index()] = code.unwrap_or_default();
        }
    }

    /// How many nodes were compared.
    fn compare(&self, cluster: &Cluster) -> usize {
        let fresh = self.rule.prepare(&self.pod, cluster).expect("it had something to say");
        let (key, name) = (self.pod.key(), self.name);
        let stage = stage_of(fresh.as_ref());
        assert_eq!(stage_of(self.prepared.as_ref()), stage, "{name} {key}");
        if stage != "check" {
            return 0;
        }
        let want = filled(fresh.as_ref(), cluster);
        let at = |codes: &[Code], view: NodeView<'_>| codes.get(view.slot.index()).copied();
        for view in cluster.nodes().iter() {
            let place = format!("{name} {key} {}", view.node.name);
            assert_eq!(at(&self.codes, view), at(&want, view), "{place}");
        }
        cluster.nodes().len()
    }
}

fn stage_of(prepared: &dyn PreparedFilter) -> String {
    match prepared.stage() {
        Stage::Check => "check".to_owned(),
        Stage::Skip => "skip".to_owned(),
        Stage::Reject(status) => status.message(),
    }
}

fn pending(objects: &[Object], cluster: &mut Cluster) -> Vec<Arc<Pod>> {
    let rows = objects.iter().filter_map(|object| match object {
        Object::Pod(pod) if pod.node_name.is_empty() => Some(cluster.row((**pod).clone())),
        _ => None,
    });
    rows.filter(|pod| !pod.template.volumes.is_empty()).take(PODS).collect()
}

fn take_away(cluster: &mut Cluster, object: &Object) {
    let meta = object.meta();
    match object.kind() {
        Kind::Pod => drop(cluster.remove_pod(&meta.uid)),
        Kind::Node => drop(cluster.remove_node(&meta.name)),
        kind => drop(cluster.remove_object(kind, &meta.namespace, &meta.name)),
    }
}

#[test]
fn what_followed_agrees_with_what_is_new() {
    let cases = clusters::recorded_cases();
    let (mut changes, mut compared) = (0, 0);
    for stretch in cases.chunks(CLUSTERS_AT_ONCE).take(6) {
        let mut cluster = Cluster::default();
        let clusters: Vec<Vec<Object>> =
            stretch.iter().map(|(list, _)| clusters::objects(list)).collect();
        let pods: Vec<Arc<Pod>> =
            clusters.iter().take(2).flat_map(|objects| pending(objects, &mut cluster)).collect();
        let names = RULES.into_iter().chain(DISK_RULES);
        let mut columns: Vec<Column> = names
            .flat_map(|name| pods.iter().map(move |pod| (name, pod)))
            .filter_map(|(name, pod)| Column::new(name, pod, &cluster))
            .collect();
        for (position, object) in clusters.into_iter().flatten().enumerate() {
            if position % 7 == 3 {
                take_away(&mut cluster, &object);
            } else {
                clusters::put(&mut cluster, object);
            }
            changes += 1;
            for column in &mut columns {
                column.follow(&cluster);
                compared += column.compare(&cluster);
            }
        }
    }
    println!("{changes} changes, {compared} verdicts");
    assert!(changes > 2_000 && compared > 100_000, "{changes} {compared}");
}
