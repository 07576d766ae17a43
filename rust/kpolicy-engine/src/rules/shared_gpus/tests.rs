//! What pods ask of GPUs, what is left of each, and the device that a pod gets.

use serde_json::{Value, json};

use super::{SharedGpus, from_args};
use crate::fields::{Fields, Refusals};
use crate::model::{self, Labels, Meta, Node, Quantity, ResourceList};
use crate::rules::pod_topology_spread::testing::{node, pod, row, scores, verdicts};
use crate::rules::{Filter, Score};
use crate::snapshot::Cluster;

fn rule(args: &Value) -> SharedGpus {
    let mut refusals = Refusals::default();
    let mut fields = Fields::of(args, "$", &mut refusals).unwrap();
    let made = from_args(&mut fields, &mut refusals);
    fields.finish(&mut refusals);
    assert!(refusals.is_empty(), "{refusals:?}");
    made.unwrap()
}

fn with_gpus(name: &str, model: &str, count: i64) -> Node {
    let allocatable: ResourceList = [
        ("cpu", Quantity::from_units(8)),
        ("pods", Quantity::from_units(110)),
        ("alibabacloud.com/gpu-count", Quantity::from_units(count)),
    ]
    .into_iter()
    .collect();
    Node { allocatable, ..node(name, &format!("alibabacloud.com/gpu-card-model={model}")) }
}

fn asking(name: &str, pairs: &[(&str, &str)], on: &str) -> model::Pod {
    let named =
        |(key, value): &(&str, &str)| (format!("alibabacloud.com/{key}"), (*value).to_owned());
    let annotations: Labels = pairs.iter().map(named).collect();
    let plain = pod(name, "", on);
    model::Pod { meta: Meta { annotations, ..plain.meta.clone() }, ..plain }
}

/// n1 has 1000, 400 and 500 left of its devices, n2 has 700, n3 has none.
fn cluster() -> Cluster {
    let mut cluster = Cluster::default();
    for (name, model, count) in [("n1", "A", 3), ("n2", "B", 1), ("n3", "", 0)] {
        cluster.set_node(with_gpus(name, model, count));
    }
    cluster.set_pod(asking("a", &[("gpu-milli", "600"), ("gpu-index", "1")], "n1"));
    cluster.set_pod(asking("b", &[("gpu-milli", "500"), ("gpu-index", "2")], "n1"));
    cluster.set_pod(asking("c", &[("gpu-milli", "300")], "n2"));
    cluster.settle_order();
    cluster
}

fn verdicts_of(pairs: &[(&str, &str)]) -> Option<String> {
    let mut cluster = cluster();
    let new = row(&mut cluster, asking("new", pairs, ""));
    let prepared = Filter::prepare(&rule(&json!({})), &new, &cluster)?;
    Some(verdicts(prepared.as_ref(), &cluster))
}

#[test]
fn a_node_needs_as_many_devices_with_enough_left() {
    assert_eq!(verdicts_of(&[]), None);
    assert_eq!(verdicts_of(&[("gpu-milli", "500")]).unwrap(), "++x");
    assert_eq!(verdicts_of(&[("gpu-milli", "800")]).unwrap(), "+-x");
    assert_eq!(verdicts_of(&[("gpu-count", "2")]).unwrap(), "-xx");
    assert_eq!(verdicts_of(&[("gpu-count", "4")]).unwrap(), "xxx");
    assert_eq!(verdicts_of(&[("gpu-milli", "1001")]).unwrap(), "xxx");
    let of_models =
        |models| verdicts_of(&[("gpu-milli", "100"), ("gpu-card-model", models)]).unwrap();
    assert_eq!([of_models("A"), of_models("A|B"), of_models("C")], ["+xx", "++x", "xxx"]);
}

fn devices(choice: &str, uid: &str, pairs: &[(&str, &str)]) -> Option<String> {
    let mut cluster = cluster();
    let new = row(&mut cluster, asking(uid, pairs, ""));
    let args =
        json!({"devices": choice, "typicalPods": [{"gpus": 1}, {"gpus": 1, "gpuMilli": 400}]});
    let view = cluster.nodes().view(cluster.nodes().find("n1").unwrap()).unwrap();
    let reserved = rule(&args).reserve(&new, &cluster, view)?;
    assert_eq!(&*reserved.annotations[0].0, "alibabacloud.com/gpu-index");
    Some(reserved.annotations[0].1.clone().into())
}

#[test]
fn devices_are_chosen_as_the_policy_says() {
    assert_eq!(devices("BestFit", "new", &[]), None);
    assert_eq!(devices("BestFit", "new", &[("gpu-milli", "450")]).unwrap(), "2");
    assert_eq!(devices("BestFit", "new", &[("gpu-milli", "100")]).unwrap(), "1");
    // Of 400 that are left, nobody typical could use 300: of 500 somebody can use 400.
    assert_eq!(devices("LeastFragmentation", "new", &[("gpu-milli", "100")]).unwrap(), "2");
    assert_eq!(devices("LeastFragmentation", "new", &[("gpu-count", "1")]).unwrap(), "0");
    let drawn: std::collections::BTreeSet<String> = (0..50)
        .map(|number| devices("Random", &format!("u{number}"), &[("gpu-milli", "100")]).unwrap())
        .collect();
    assert_eq!(drawn.into_iter().collect::<Vec<_>>(), ["0", "1", "2"]);
}

#[test]
fn a_placed_pod_has_its_devices_before_the_watch_shows_them() {
    let mut cluster = cluster();
    let slot = cluster.nodes().find("n1").unwrap();
    cluster.set_pod(asking("new", &[("gpu-milli", "450")], ""));
    let free = |cluster: &Cluster| super::free(cluster.nodes().view(slot).unwrap());
    assert_eq!(free(&cluster), [1000, 400, 500]);
    let index = ("alibabacloud.com/gpu-index".into(), "0".into());
    assert!(cluster.assume("new", slot, &[index]));
    assert_eq!(free(&cluster), [550, 400, 500]);
    let generation = cluster.generation();
    cluster.set_pod(asking("new", &[("gpu-milli", "450"), ("gpu-index", "0")], "n1"));
    assert_eq!(free(&cluster), [550, 400, 500]);
    assert_eq!(cluster.generation(), generation, "nothing is to be judged anew");
    cluster.remove_pod("new");
    assert_eq!(free(&cluster), [1000, 400, 500]);
}

#[test]
fn a_reservation_that_is_given_up_leaves_the_pod_as_it_was() {
    let mut cluster = cluster();
    let slot = cluster.nodes().find("n1").unwrap();
    cluster.set_pod(asking("new", &[("gpu-milli", "450")], ""));
    assert!(cluster.assume("new", slot, &[("alibabacloud.com/gpu-index".into(), "0".into())]));
    cluster.forget("new");
    assert_eq!(super::free(cluster.nodes().view(slot).unwrap()), [1000, 400, 500]);
    assert_eq!(cluster.pods().get("new").unwrap().pod.annotations.len(), 1);
}

#[test]
fn nodes_score_by_what_becomes_a_fragment() {
    let mut cluster = cluster();
    let new = row(&mut cluster, asking("new", &[("gpu-milli", "400")], ""));
    let args = json!({"typicalPods": [{"gpus": 1, "weight": 1}, {"gpus": 1, "gpuMilli": 400, "weight": 1}]});
    let mut prepared = Score::prepare(&rule(&args), &new, &cluster).unwrap();
    let raw: Vec<f64> =
        scores(prepared.as_mut(), &cluster, |_| true).into_iter().map(|(raw, _)| raw).collect();
    // n1 loses the fragment of 400 for whole devices; of n2's, 300 become one for the shares.
    // sigmoid((450 - 250) / 1000) and sigmoid((350 - 300) / 1000)
    assert_eq!(raw, [54.0, 51.0, 0.0]);
}
