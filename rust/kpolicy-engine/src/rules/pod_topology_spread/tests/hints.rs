//! The events that wake a pod that spreading rejected.

use std::sync::Arc;

use super::super::testing::{constraint, pod, row, spread_pod};
use super::{system, two_zones};
use crate::event::{Event, Occurrence};
use crate::model::{SpreadConstraint, Toleration, TolerationOperator};
use crate::rules::Filter;
use crate::snapshot::{Cluster, Node, NodeParts, Pod};

#[test]
fn events_that_may_help() {
    let mut cluster = two_zones();
    let honoring =
        SpreadConstraint { honors_taints: true, ..constraint("zone", true, 1, "app=web") };
    let waiting = row(&mut cluster, spread_pod("app=web", &[honoring]));
    let wakes = |event: Event, occurrence: &Occurrence, cluster: &Cluster| {
        assert!(Filter::events(&system()).contains(event));
        system().wakes(&waiting, event, occurrence, cluster)
    };
    let mut of = |pairs: &str| row(&mut cluster, pod("other", pairs, "n1"));
    let (web, db) = (of("app=web"), of("app=db"));
    let placed = |old: Option<&Arc<Pod>>, new: Option<&Arc<Pod>>, is_assigned| Occurrence::Pod {
        old: old.cloned(),
        new: new.cloned(),
        is_assigned,
    };
    let cluster = &cluster;
    assert!(wakes(Event::PodAdd, &placed(None, Some(&web), true), cluster));
    assert!(!wakes(Event::PodAdd, &placed(None, Some(&db), true), cluster));
    assert!(!wakes(Event::PodAdd, &placed(None, Some(&web), false), cluster));
    assert!(wakes(Event::PodDelete, &placed(Some(&web), None, true), cluster));
    assert!(wakes(Event::PodLabel, &placed(Some(&web), Some(&db), true), cluster));
    assert!(!wakes(Event::PodLabel, &placed(Some(&db), Some(&db), true), cluster));
    assert!(!wakes(Event::PodToleration, &placed(Some(&waiting), Some(&waiting), false), cluster));

    let view = |name: &str| cluster.nodes().shared(cluster.nodes().find(name).unwrap()).unwrap();
    let changed = |old: Option<Arc<Node>>, new: Option<Arc<Node>>| Occurrence::Node {
        old,
        new,
        parts: NodeParts::ALL,
    };
    assert!(wakes(Event::NodeAdd, &changed(None, Some(view("n1"))), cluster));
    assert!(!wakes(Event::NodeAdd, &changed(None, Some(view("n4"))), cluster));
    assert!(wakes(Event::NodeDelete, &changed(Some(view("n1")), None), cluster));
    assert!(wakes(Event::NodeLabel, &changed(Some(view("n1")), Some(view("n3"))), cluster));
    assert!(wakes(Event::NodeLabel, &changed(Some(view("n4")), Some(view("n3"))), cluster));
    assert!(!wakes(Event::NodeLabel, &changed(Some(view("n1")), Some(view("n2"))), cluster));
}

#[test]
fn own_tolerations_matter_where_taints_are_honoured() {
    let mut cluster = Cluster::default();
    let mut update = |honors_taints| {
        let one = SpreadConstraint { honors_taints, ..constraint("zone", true, 1, "app=web") };
        let old = spread_pod("app=web", &[one]);
        let mut new = old.clone();
        new.tolerations = [Toleration {
            key: "t".into(),
            operator: TolerationOperator::Exists,
            value: "".into(),
            effect: None,
        }]
        .into();
        let (old, new) = (row(&mut cluster, old), row(&mut cluster, new));
        let occurrence =
            Occurrence::Pod { old: Some(old), new: Some(Arc::clone(&new)), is_assigned: false };
        system().wakes(&new, Event::PodToleration, &occurrence, &cluster)
    };
    assert!(update(true));
    assert!(!update(false));
}
