//! Verdicts and scores on small clusters, computed by hand.

use super::{ServiceAffinity, from_args};
use crate::fields::{Fields, Refusals};
use crate::model;
use crate::rules::pod_topology_spread::testing::{
    cluster, follows_filter, follows_score, labels, node, pod, row, scores, service, verdicts,
};
use crate::rules::{Filter, Refresh, Score};
use crate::snapshot::Cluster;

fn rule(args: &serde_json::Value) -> ServiceAffinity {
    let mut refusals = Refusals::default();
    let mut fields = Fields::of(args, "$", &mut refusals).unwrap();
    let made = from_args(&mut fields, &mut refusals).unwrap();
    fields.finish(&mut refusals);
    assert!(refusals.is_empty());
    made
}

fn by_region_and_rack() -> ServiceAffinity {
    rule(&serde_json::json!({"affinityLabels": ["region", "rack"]}))
}

fn regions(pods: &[(&str, &str)]) -> Cluster {
    let nodes =
        [("n1", "region=a,rack=1"), ("n2", "region=a,rack=2"), ("n3", "region=b"), ("n4", "")];
    let mut cluster = cluster(&nodes, pods);
    cluster.set_object(service("s", "app=web"));
    cluster
}

fn verdicts_of(cluster: &mut Cluster, pairs: &str, selector: Option<&str>) -> String {
    let new = model::Pod { node_selector: selector.map(labels), ..pod("new", pairs, "") };
    let new = row(cluster, new);
    let prepared = Filter::prepare(&by_region_and_rack(), &new, cluster).unwrap();
    verdicts(prepared.as_ref(), cluster)
}

#[test]
fn the_first_pod_goes_anywhere_and_others_follow() {
    assert_eq!(verdicts_of(&mut regions(&[]), "app=web", None), "++++");
    let on = |node| [("app=web", node)];
    assert_eq!(verdicts_of(&mut regions(&on("n1")), "app=web", None), "+---");
    assert_eq!(verdicts_of(&mut regions(&on("n3")), "app=web", None), "--+-", "it has no rack");
    assert_eq!(verdicts_of(&mut regions(&on("n4")), "app=web", None), "++++", "it has neither");
}

#[test]
fn peers_have_all_labels_and_a_service() {
    let on = [("app=web", "n1")];
    assert_eq!(verdicts_of(&mut regions(&on), "app=web,version=2", None), "++++");
    let on = [("app=db", "n1")];
    assert_eq!(verdicts_of(&mut regions(&on), "app=db", None), "++++", "no service selects it");
}

#[test]
fn the_node_selector_goes_first() {
    let on = [("app=web", "n1")];
    let mut cluster = regions(&on);
    assert_eq!(verdicts_of(&mut cluster, "app=web", Some("rack=2")), "-+--", "region of the peer");
    assert_eq!(verdicts_of(&mut cluster, "app=web", Some("region=b,rack=1")), "----");
    assert_eq!(verdicts_of(&mut cluster, "app=db", Some("region=b")), "--+-");
}

#[test]
fn peers_are_followed_and_so_are_hypothetical_pods() {
    let mut cluster = regions(&[]);
    let new = row(&mut cluster, pod("new", "app=web", ""));
    let mut prepared = Filter::prepare(&by_region_and_rack(), &new, &cluster).unwrap();
    let mut follow = |cluster: &mut Cluster, change: &dyn Fn(&mut Cluster)| {
        let seen = cluster.generation();
        change(cluster);
        let refresh = prepared.refresh(cluster.log().since(seen).unwrap(), cluster);
        (refresh, verdicts(prepared.as_ref(), cluster))
    };
    let put = |name: &'static str, on: &'static str| {
        move |cluster: &mut Cluster| {
            cluster.set_pod(pod(name, "app=web", on));
        }
    };
    assert_eq!(follow(&mut cluster, &put("p", "n2")), (Refresh::All, "-+--".into()));
    assert_eq!(follow(&mut cluster, &put("q", "n3")), (Refresh::Nodes, "-+--".into()));
    let gone = |cluster: &mut Cluster| {
        cluster.remove_pod("p");
    };
    assert_eq!(follow(&mut cluster, &gone), (Refresh::All, "--+-".into()));
    let move_node = |cluster: &mut Cluster| {
        cluster.set_node(node("n3", "region=a,rack=1"));
    };
    assert_eq!(follow(&mut cluster, &move_node).0, Refresh::Again);

    let mut fork = Filter::prepare(&by_region_and_rack(), &new, &cluster).unwrap().fork();
    let peer = row(&mut cluster, pod("q", "app=web", "n3"));
    let view = cluster.nodes().view(cluster.nodes().find("n3").unwrap()).unwrap();
    fork.remove_pod(&peer, &cluster, view);
    assert_eq!(verdicts(fork.as_ref(), &cluster), "++++");
    fork.add_pod(&peer, &cluster, view);
    assert_eq!(verdicts(fork.as_ref(), &cluster), "+-+-");
    // Two peers apart: the one that comes back is the first again.
    cluster.set_pod(pod("r", "app=web", "n2"));
    let first = row(&mut cluster, pod("r", "app=web", "n2"));
    let mut fork = Filter::prepare(&by_region_and_rack(), &new, &cluster).unwrap().fork();
    assert_eq!(verdicts(fork.as_ref(), &cluster), "-+--");
    let at = cluster.nodes().view(cluster.nodes().find("n2").unwrap()).unwrap();
    fork.remove_pod(&first, &cluster, at);
    assert_eq!(verdicts(fork.as_ref(), &cluster), "+-+-");
    fork.add_pod(&first, &cluster, at);
    assert_eq!(verdicts(fork.as_ref(), &cluster), "-+--");
}

#[test]
fn pods_of_the_service_spread_over_the_values_of_labels() {
    let mut cluster = regions(&[
        ("app=web", "n1"),
        ("app=web", "n1"),
        ("app=web", "n3"),
        ("app=db", "n3"),
        ("app=web", "n4"),
    ]);
    let mut of = |labels: serde_json::Value, pairs: &str, without: &str| {
        let rule = rule(&serde_json::json!({"antiAffinityLabelsPreference": labels}));
        let new = row(&mut cluster, pod("new", pairs, ""));
        let mut prepared = Score::prepare(&rule, &new, &cluster).unwrap();
        let found = scores(prepared.as_mut(), &cluster, |name| name != without);
        found.into_iter().map(|(_, score)| score).collect::<Vec<i64>>()
    };
    // Four pods of the service: two in region a, one in b, one on a node without a region.
    assert_eq!(of(["region"].as_slice().into(), "app=web", ""), [50, 50, 75, 0]);
    // Without n4 there are three.
    assert_eq!(of(["region"].as_slice().into(), "app=web", "n4"), [33, 33, 66]);
    // The mean of 50 and 50, of 50 and 100, of 75 and nothing.
    assert_eq!(of(["region", "rack"].as_slice().into(), "app=web", ""), [50, 75, 37, 0]);
    assert_eq!(of(["region"].as_slice().into(), "app=db", ""), [100, 100, 100, 0], "no service");
}

#[test]
fn changes_are_followed() {
    let both = rule(&serde_json::json!({
        "affinityLabels": ["zone"], "antiAffinityLabelsPreference": ["zone"]}));
    follows_filter(&both, pod("new", "app=web", ""));
    follows_score(&both, pod("new", "app=web,tier=front", ""));
}
