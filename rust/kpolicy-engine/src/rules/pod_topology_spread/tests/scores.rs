//! Soft constraints: worked numbers of raw and normalised scores.

use super::super::testing::{cluster, constraint, pod, row, scores, service, spread_pod};
use super::{HOST, system};
use crate::model::{self, SpreadConstraint};
use crate::rules::{Filter, IGNORED, Key, Score};
use crate::snapshot::Cluster;

#[test]
fn pods_alike_in_what_selectors_see_share_a_key() {
    let mut cluster = Cluster::default();
    let key = |pod: model::Pod, cluster: &mut Cluster| {
        let pod = row(cluster, pod);
        let mut keys = [Key::default(), Key::default()];
        Filter::key(&system(), &pod, &mut keys[0]);
        Score::key(&system(), &pod, &mut keys[1]);
        keys
    };
    let own = [constraint("zone", true, 1, "app=web"), constraint(HOST, false, 1, "app=web")];
    let first = key(spread_pod("app=web,index=0", &own), &mut cluster);
    assert_eq!(first, key(spread_pod("app=web,index=1", &own), &mut cluster));
    assert_ne!(first[0], key(spread_pod("app=db", &own), &mut cluster)[0]);
    assert_eq!(first[1], key(spread_pod("app=db", &own), &mut cluster)[1]);
    let by_label =
        [SpreadConstraint { match_label_keys: ["index".into()].into(), ..own[0].clone() }];
    let first = key(spread_pod("index=0", &by_label), &mut cluster);
    assert_ne!(first[0], key(spread_pod("index=1", &by_label), &mut cluster)[0]);
    assert!(first[1].parts().is_empty(), "no soft constraint, nothing read");
}

#[test]
fn a_score_is_pods_times_the_weight_of_the_topology() {
    let mut cluster = cluster(
        &[
            ("n1", "zone=a,kubernetes.io/hostname=n1"),
            ("n2", "zone=a,kubernetes.io/hostname=n2"),
            ("n3", "zone=b,kubernetes.io/hostname=n3"),
            ("n4", "kubernetes.io/hostname=n4"),
        ],
        &[
            ("app=web", "n1"),
            ("app=web", "n1"),
            ("app=web", "n2"),
            ("app=web", "n3"),
            ("app=web", "n4"),
        ],
    );
    let soft = [constraint("zone", false, 1, "app=web"), constraint(HOST, false, 2, "app=web")];
    let pod = row(&mut cluster, spread_pod("app=web", &soft));
    let mut prepared = Score::prepare(&system(), &pod, &cluster).unwrap();
    let found = scores(prepared.as_mut(), &cluster, |_| true);
    // Weights: two zones ln 4 = 1.386, three scored hosts ln 5 = 1.609. Zone a has 3 pods.
    // n1: 3·1.386 + 2·1.609 + 1 = 8.378; n2: 3·1.386 + 1.609 + 1 = 6.768; n3: 1.386 + 1.609 + 1.
    let raw: Vec<f64> = found.iter().map(|(raw, _)| *raw).collect();
    assert_eq!(raw, [8.0, 7.0, 4.0, IGNORED]);
    // 100·(8 + 4 - raw) / 8.
    let normalized: Vec<i64> = found.iter().map(|(_, normalized)| *normalized).collect();
    assert_eq!(normalized, [50, 62, 100, 0]);
    // Only n1 and n4 feasible: one zone and one scored host, ln 3 = 1.099; all of zone a counts.
    let found = scores(prepared.as_mut(), &cluster, |name| name == "n1" || name == "n4");
    assert_eq!(found, [(6.0, 100), (IGNORED, 0)], "3·1.099 + 2·1.099 + 1 = 6.493");
}

#[test]
fn system_defaults_take_a_missing_zone_for_one_more() {
    let mut cluster = cluster(
        &[
            ("n1", "kubernetes.io/hostname=n1,topology.kubernetes.io/zone=a"),
            ("n2", "kubernetes.io/hostname=n2"),
            ("n3", "kubernetes.io/hostname=n3,topology.kubernetes.io/zone="),
        ],
        &[("app=web", "n1"), ("app=web", "n2"), ("app=web", "n2"), ("app=web", "n3")],
    );
    let pod = row(&mut cluster, pod("new", "app=web", ""));
    let prepared = Score::prepare(&system(), &pod, &cluster).unwrap();
    assert!(prepared.is_skipped() && !prepared.reads_feasible(), "nothing selects the pod");
    cluster.set_object(service("s", "app=web"));
    let mut prepared = Score::prepare(&system(), &pod, &cluster).unwrap();
    let found = scores(prepared.as_mut(), &cluster, |_| true);
    // Hosts ln 5 = 1.609 and 2; zones a and "" ln 4 = 1.386 and 4; zone "" has n2's pods too.
    // n1: 1.609 + 2 + 1.386 + 4 = 8.996; n2: 2·1.609 + 2; n3: 1.609 + 2 + 3·1.386 + 4 = 11.768.
    assert_eq!(found, [(9.0, 66), (5.0, 100), (12.0, 41)]);
    assert!(Filter::prepare(&system(), &pod, &cluster).is_none(), "they are soft");
}
