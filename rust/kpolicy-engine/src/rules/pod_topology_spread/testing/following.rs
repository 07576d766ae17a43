//! Compares a rule that follows changes with a newly prepared one, over many random changes.

use super::{cluster, node, pod, row, scores, service, verdicts};
use crate::model::{self, Kind};
use crate::rules::{Filter, Refresh, Score};
use crate::snapshot::{Cluster, Generation};

const STEPS: usize = 2_000;
const NODES: u64 = 9;
const PODS: u64 = 40;

/// Of this many comparisons, with the rule following and not prepared anew each time.
const FOLLOWED_MIN: usize = 800;

/// A small generator, so that every run makes the same changes.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        const FACTOR: u64 = 6_364_136_223_846_793_005;
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick(&mut self, list: &[&'static str]) -> &'static str {
        let index = self.roll(u64::try_from(list.len()).unwrap());
        list[usize::try_from(index).unwrap()]
    }
}

fn start() -> Cluster {
    let labels: Vec<(String, String)> = (0..NODES)
        .map(|index| {
            (format!("n{index}"), format!("zone={},kubernetes.io/hostname=n{index}", index % 3))
        })
        .collect();
    let nodes: Vec<(&str, &str)> = labels.iter().map(|(name, of)| (&**name, &**of)).collect();
    cluster(&nodes, &[])
}

fn change(cluster: &mut Cluster, dice: &mut Dice) {
    let zones = [
        "zone=0,",
        "zone=1,",
        "zone=2,topology.kubernetes.io/zone=2,",
        "zone=,topology.kubernetes.io/zone=,",
        "",
    ];
    let apps = ["app=web", "app=db", "app=web,tier=front"];
    let name = format!("n{}", dice.roll(NODES));
    match dice.roll(40) {
        0 => {
            cluster.remove_node(&name);
        }
        1 => {
            let pairs = format!("{}kubernetes.io/hostname={name}", dice.pick(&zones));
            cluster.set_node(node(&name, &pairs));
        }
        2 => {
            cluster.set_object(service(dice.pick(&["s", "t"]), dice.pick(&apps)));
        }
        3 => {
            cluster.remove_object(Kind::Service, "ns", dice.pick(&["s", "t"]));
        }
        4..=14 => {
            cluster.remove_pod(&format!("p{}", dice.roll(PODS)));
        }
        _ => {
            let mut pod = pod(&format!("p{}", dice.roll(PODS)), dice.pick(&apps), &name);
            pod.meta.deletion_seconds = (dice.roll(6) == 0).then_some(1);
            cluster.set_pod(pod);
        }
    }
    cluster.settle_order();
}

/// Makes changes and compares after each few; `follow` says whether the rule followed them.
fn many_changes(mut follow: impl FnMut(Generation, &mut Cluster) -> bool, cluster: &mut Cluster) {
    let mut dice = Dice(7);
    let mut followed = 0;
    for _ in 0..STEPS {
        let seen = cluster.generation();
        for _ in 0..=dice.roll(3) {
            change(cluster, &mut dice);
        }
        followed += usize::from(follow(seen, cluster));
    }
    assert!(followed > FOLLOWED_MIN, "{followed}");
}

pub(crate) fn follows_filter(rule: &dyn Filter, pod: model::Pod) {
    let mut cluster = start();
    let pod = row(&mut cluster, pod);
    let mut prepared = rule.prepare(&pod, &cluster).unwrap();
    let mut known = verdicts(prepared.as_ref(), &cluster);
    let compare = |seen, cluster: &mut Cluster| {
        let refresh = prepared.refresh(cluster.log().since(seen).unwrap(), cluster);
        if refresh == Refresh::Again {
            prepared = rule.prepare(&pod, cluster).unwrap();
        }
        let now = verdicts(prepared.as_ref(), cluster);
        let fresh = rule.prepare(&pod, cluster).unwrap();
        assert_eq!(now, verdicts(fresh.as_ref(), cluster));
        assert!(refresh != Refresh::Nodes || now == known, "{known} became {now} unsaid");
        known = now;
        refresh != Refresh::Again
    };
    many_changes(compare, &mut cluster);
}

pub(crate) fn follows_score(rule: &dyn Score, pod: model::Pod) {
    let mut cluster = start();
    let pod = row(&mut cluster, pod);
    let some = |name: &str| name != "n4";
    let mut prepared = rule.prepare(&pod, &cluster).unwrap();
    let mut known = scores(prepared.as_mut(), &cluster, some);
    let compare = |seen, cluster: &mut Cluster| {
        let changes = cluster.log().since(seen).unwrap();
        let refresh = prepared.refresh(changes, cluster);
        if refresh == Refresh::Again {
            prepared = rule.prepare(&pod, cluster).unwrap();
        }
        let mut fresh = rule.prepare(&pod, cluster).unwrap();
        assert_eq!(prepared.is_skipped(), fresh.is_skipped());
        let now = scores(prepared.as_mut(), cluster, some);
        assert_eq!(now, scores(fresh.as_mut(), cluster, some));
        if refresh == Refresh::Nodes {
            let views = cluster.nodes().by_rank().iter().map(|slot| cluster.nodes().view(*slot));
            let nodes = views.flatten().filter(|view| some(&view.node.name));
            for (view, (before, now)) in nodes.zip(known.iter().zip(&now)) {
                let is_touched = changes.iter().any(|change| change.slot() == Some(view.slot));
                let is_same = before.0.to_bits() == now.0.to_bits();
                assert!(is_touched || is_same, "{}: {before:?} became {now:?}", view.node.name);
            }
        }
        known = now;
        refresh != Refresh::Again
    };
    many_changes(compare, &mut cluster);
}
