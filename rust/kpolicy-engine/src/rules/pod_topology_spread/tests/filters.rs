//! Hard constraints: which nodes a pod may go to.

use super::super::testing::{
    cluster, constraint, labels, node, pod, row, selector, service, spread_pod, verdicts,
};
use super::{filter, rule, two_zones};
use crate::model::{self, Effect, SpreadConstraint, Taint};
use crate::rules::{Filter, Refresh, Stage};
use crate::snapshot::Cluster;

fn verdicts_of(cluster: &mut Cluster, constraints: &[SpreadConstraint]) -> String {
    let prepared = filter(cluster, spread_pod("app=web", constraints));
    verdicts(prepared.as_ref(), cluster)
}

#[test]
fn the_skew_with_the_pod_itself_is_held() {
    let mut cluster = two_zones();
    let zone = |max_skew, selector: &str| [constraint("zone", true, max_skew, selector)];
    // a: 3 + 1 - 1 = 3; b: 1 + 1 - 1 = 1; the last node lacks the key.
    assert_eq!(verdicts_of(&mut cluster, &zone(1, "app=web")), "--+x");
    assert_eq!(verdicts_of(&mut cluster, &zone(2, "app=web")), "--+x");
    assert_eq!(verdicts_of(&mut cluster, &zone(3, "app=web")), "+++x");
    // Not meant itself: a has 0, b has 1, the least is 0, the skew 1.
    assert_eq!(verdicts_of(&mut cluster, &zone(1, "app=db")), "+++x");
}

#[test]
fn what_users_read() {
    let mut cluster = two_zones();
    let prepared =
        filter(&mut cluster, spread_pod("app=web", &[constraint("zone", true, 1, "app=web")]));
    let reason = |name: &str| {
        let view = cluster.nodes().view(cluster.nodes().find(name).unwrap()).unwrap();
        prepared.describe(&cluster, view, prepared.check(&cluster, view)).message()
    };
    let skew = "node(s) didn't match pod topology spread constraints";
    assert_eq!(reason("n1"), skew);
    assert_eq!(reason("n4"), format!("{skew} (missing required label)"));
}

#[test]
fn fewer_domains_than_wanted_make_the_least_nothing() {
    let mut cluster = two_zones();
    let with = |min_domains, max_skew| {
        [SpreadConstraint { min_domains, ..constraint("zone", true, max_skew, "app=web") }]
    };
    assert_eq!(verdicts_of(&mut cluster, &with(2, 1)), "--+x");
    assert_eq!(verdicts_of(&mut cluster, &with(3, 1)), "---x", "b: 1 + 1 - 0 = 2");
    assert_eq!(verdicts_of(&mut cluster, &with(3, 2)), "--+x");
}

#[test]
fn no_selector_and_an_empty_one() {
    let mut cluster = two_zones();
    let nobody = SpreadConstraint { label_selector: None, ..constraint("zone", true, 1, "") };
    assert_eq!(verdicts_of(&mut cluster, &[nobody]), "+++x", "0 + 0 - 0");
    assert_eq!(verdicts_of(&mut cluster, &[constraint("zone", true, 1, "")]), "+++x", "0 + 1 - 0");
}

#[test]
fn hypothetical_pods_count_even_if_terminating_or_meant_by_an_empty_selector() {
    let mut cluster = two_zones();
    let argue = |cluster: &mut Cluster, selector: &str, terminating: bool, put: bool| {
        let constraints = [constraint("zone", true, 1, selector)];
        let prepared = filter(cluster, spread_pod("app=web", &constraints));
        let mut fork = prepared.fork();
        let mut other = pod("other", "app=web", "n3");
        other.meta.deletion_seconds = terminating.then_some(1);
        let other = row(cluster, other);
        let view = cluster.nodes().view(cluster.nodes().find("n3").unwrap()).unwrap();
        if put {
            fork.add_pod(&other, cluster, view);
        } else {
            fork.remove_pod(&other, cluster, view);
        }
        assert_eq!(verdicts(prepared.as_ref(), cluster).len(), 4, "the original is as it was");
        verdicts(fork.as_ref(), cluster)
    };
    // Everybody, counted from 0: one more in b is 1 + 1 - 0 = 2.
    assert_eq!(argue(&mut cluster, "", false, true), "++-x");
    // b: 2 + 1 - 2 = 1; a: 3 + 1 - 2 = 2.
    assert_eq!(argue(&mut cluster, "app=web", true, true), "--+x");
    // The least falls to 0 with b itself: a 3 + 1 - 0, b 0 + 1 - 0.
    assert_eq!(argue(&mut cluster, "app=web", true, false), "--+x");
}

#[test]
fn terminating_pods_and_other_namespaces_do_not_count() {
    let mut cluster = cluster(&[("n1", "zone=a"), ("n2", "zone=b")], &[]);
    let mut gone = pod("gone", "app=web", "n1");
    gone.meta.deletion_seconds = Some(1);
    let mut elsewhere = pod("elsewhere", "app=web", "n1");
    elsewhere.meta.namespace = "other".into();
    cluster.set_pod(gone);
    cluster.set_pod(elsewhere);
    assert_eq!(verdicts_of(&mut cluster, &[constraint("zone", true, 1, "app=web")]), "++");
}

#[test]
fn a_node_without_one_key_takes_part_in_no_constraint() {
    let nodes = [("n1", "zone=a,rack=1"), ("n2", "zone=b"), ("n3", "zone=c,rack=2")];
    let mut cluster = cluster(&nodes, &[("app=web", "n1"), ("app=web", "n2"), ("app=web", "n3")]);
    let both = [constraint("zone", true, 1, "app=web"), constraint("rack", true, 1, "app=web")];
    // Zone b does not exist for them; zones a and c have one pod each.
    assert_eq!(verdicts_of(&mut cluster, &both), "+x+");
    let zone = [constraint("zone", true, 1, "app=web")];
    assert_eq!(verdicts_of(&mut cluster, &zone), "+++");
}

#[test]
fn policies_leave_nodes_out_but_judge_them() {
    let mut cluster = cluster(
        &[("n1", "zone=a,disk=ssd"), ("n2", "zone=b"), ("n3", "zone=c,disk=ssd")],
        &[("app=web", "n1"), ("app=web", "n2"), ("app=web", "n2"), ("app=web", "n2")],
    );
    let mut tainted = node("n3", "zone=c,disk=ssd");
    tainted.taints =
        [Taint { key: "t".into(), value: "".into(), effect: Effect::NoSchedule }].into();
    cluster.set_node(tainted);
    let of = |affinity, taints, cluster: &mut Cluster| {
        let one = SpreadConstraint {
            honors_affinity: affinity,
            honors_taints: taints,
            ..constraint("zone", true, 1, "app=web")
        };
        let mut pod = spread_pod("app=web", &[one]);
        pod.node_selector = Some(labels("disk=ssd"));
        let prepared = filter(cluster, pod);
        verdicts(prepared.as_ref(), cluster)
    };
    // a 1, c 0: a 1 + 1 - 0; b is no domain and counts 0 + 1 - 0.
    assert_eq!(of(true, false, &mut cluster), "-++");
    // a 1 is the only domain: 1 + 1 - 1; b and c count 0 + 1 - 1.
    assert_eq!(of(true, true, &mut cluster), "+++");
    // a 1, b 3, c 0.
    assert_eq!(of(false, false, &mut cluster), "--+");
    // a 1, b 3.
    assert_eq!(of(false, true, &mut cluster), "+-+");
}

#[test]
fn listed_defaults_take_their_selector_from_service_and_controller() {
    let listed = rule(&serde_json::json!({"defaultingType": "List", "defaultConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]}));
    let mut cluster = two_zones();
    let mut owned = pod("new", "app=web", "");
    owned.owner = Some(model::OwnerReference {
        api_version: "apps/v1".into(),
        kind: "ReplicaSet".into(),
        name: "rs".into(),
        uid: "u".into(),
    });
    let pod = row(&mut cluster, owned);
    let mut prepared = Filter::prepare(&listed, &pod, &cluster).unwrap();
    assert!(matches!(prepared.stage(), Stage::Skip), "nothing selects the pod");
    let seen = cluster.generation();
    let meta = model::Meta { namespace: "ns".into(), name: "rs".into(), ..model::Meta::default() };
    let replica_set = model::Controller {
        meta,
        selector: Some(selector("app=web")),
        ..model::Controller::default()
    };
    cluster.set_object(model::Object::ReplicaSet(replica_set.into()));
    let changes = cluster.log().since(seen).unwrap();
    assert_eq!(prepared.refresh(changes, &cluster), Refresh::Again);
    let mut prepared = Filter::prepare(&listed, &pod, &cluster).unwrap();
    assert_eq!(verdicts(prepared.as_ref(), &cluster), "--+x");
    let seen = cluster.generation();
    cluster.set_object(service("unrelated", "app=db"));
    let changes = cluster.log().since(seen).unwrap();
    assert_eq!(prepared.refresh(changes, &cluster), Refresh::Nodes, "it selects others");
}
