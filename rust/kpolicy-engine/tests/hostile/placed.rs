//! Hostile pods that are on nodes already, and what they cost the decision about an ordinary pod.

use std::cmp::Reverse;

use kpolicy_engine::api::Verdict;
use serde_json::{Value, json};

use crate::cluster::{
    BYTES_MAX, OBJECT_BYTES_MAX, Taken, busy_cluster, decide, delete, mib, node_name, pod,
    spec_units, undo_and_delete,
};
use crate::draws::Draws;
use crate::growth::{Growth, Hostile, parts};
use crate::search::is_applied;
use crate::{alone, number, support};

/// How many hostile pods there are at a time where the environment does not say.
const PODS: usize = 2;
/// Entries of each, of one part.
const ENTRIES: usize = 1_000;

/// A pod that many rules have to look at.
fn ordinary() -> Value {
    let selector = json!({"matchLabels": {"app": "web"}});
    let anti_affinity = json!([{"topologyKey": "kubernetes.io/hostname", "labelSelector":
        {"matchLabels": {"app": "none"}}}]);
    pod(
        "ordinary",
        json!({"topologySpreadConstraints": [{"maxSkew": 5, "topologyKey":
                "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector}],
            "affinity": {"podAntiAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution": anti_affinity}},
            "volumes": [{"name": "v", "rbd": {"monitors": ["m"], "image": "own", "pool": "p"}}],
            "tolerations": [{"operator": "Exists"}]}),
    )
}

#[test]
fn ordinary_pods_beside_placed_hostile_pods_stay_within_memory() {
    let _alone = alone();
    let mut engine = busy_cluster(&support::default_program());
    let pods = number("KPOLICY_HOSTILE_PLACED", PODS);
    let mut draws = Draws::of(3);
    let mut trials: Vec<(Hostile, Taken)> = Vec::new();
    for part in parts() {
        let growth = Growth {
            part,
            entries: ENTRIES.min(part.entries_max),
            values: 16,
            requirements: 4,
            ..Growth::any(&mut draws)
        };
        let hostile = Hostile(vec![growth]);
        let name = |index: usize| format!("placed-hostile-{index}");
        let mut applied = 0;
        for index in 0..pods {
            let mut object = hostile.salted(index).pod(&name(index));
            object["spec"]["nodeName"] = json!(node_name(index * 7));
            object["metadata"]["labels"]["serial"] = json!(index.to_string());
            applied += usize::from(is_applied(&mut engine, &object));
        }
        assert_eq!(applied, pods, "{hostile}: the codec refuses it");
        support::apply(&mut engine, &ordinary());
        let taken = decide(&mut engine, "ordinary");
        undo_and_delete(&mut engine, "ordinary");
        (0..pods).for_each(|index| delete(&mut engine, &name(index)));
        trials.push((hostile, taken));
    }
    trials.sort_by_key(|(_, taken)| Reverse(taken.time));
    println!("an ordinary pod beside {pods} placed pods of each of {} kinds:", trials.len());
    for (hostile, taken) in &trials {
        println!(
            "{:>8.2} ms {:>9} units {:>4} MiB at most  {:?}  {hostile}",
            taken.time.as_secs_f64() * 1_000.0,
            taken.units,
            mib(taken.peak_bytes),
            taken.decision.verdict
        );
    }
    for (hostile, taken) in &trials {
        assert!(taken.peak_bytes <= BYTES_MAX, "{hostile}: {} MiB", mib(taken.peak_bytes));
    }
}

/// Terms of one pod: as many as an API server takes.
const TERMS: usize = 11_000;
/// So many pods have more terms together than one decision may compare.
const PODS_WITH_TERMS: usize = 30;

/// A placed pod whose anti-affinity has terms for pods of every namespace.
fn with_terms(index: usize, term: impl Fn(usize) -> Value) -> Value {
    let terms: Vec<Value> = (0..TERMS).map(term).collect();
    let anti = json!({"requiredDuringSchedulingIgnoredDuringExecution": terms});
    let spec = json!({"nodeName": node_name(index), "affinity": {"podAntiAffinity": anti}});
    let object = pod(&format!("terms-{index}"), spec);
    assert!(object.to_string().len() <= OBJECT_BYTES_MAX, "an API server refuses it");
    object
}

/// Once placed pods ask that nobody be near them, whoever it is, and once they name labels.
#[test]
fn terms_of_placed_pods_are_summed_up_or_charged() {
    let _alone = alone();
    let mut engine = busy_cluster(&support::default_program());
    support::apply(&mut engine, &ordinary());
    let alone = spec_units(&engine, "ordinary");
    for index in 0..PODS_WITH_TERMS {
        let term = |_| json!({"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, "namespaceSelector": {}});
        support::apply(&mut engine, &with_terms(index, term));
    }
    let taken = decide(&mut engine, "ordinary");
    assert_eq!(taken.decision.verdict, Verdict::Placed, "{}", taken.decision.message);
    assert!(
        taken.units <= alone + PODS_WITH_TERMS as u64,
        "{} units, {alone} without",
        taken.units
    );
    undo_and_delete(&mut engine, "ordinary");

    for index in 0..PODS_WITH_TERMS {
        let term = |term: usize| {
            let key = format!("k{}", index * TERMS + term);
            json!({"topologyKey": "x", "namespaceSelector": {},
                "labelSelector": {"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}})
        };
        support::apply(&mut engine, &with_terms(index, term));
    }
    support::apply(&mut engine, &ordinary());
    let taken = decide(&mut engine, "ordinary");
    let message = &taken.decision.message;
    assert_eq!(taken.decision.verdict, Verdict::SetAside, "{message}");
    let of_placed = "affinity terms of placed pods that may select the pod (330000 entries)";
    assert!(message.contains(of_placed), "{message}");
    let explained = engine.explain(Some(&["d/ordinary".to_owned()]));
    assert!(String::from_utf8_lossy(&explained).contains(of_placed));
    (0..PODS_WITH_TERMS).for_each(|index| delete(&mut engine, &format!("terms-{index}")));
    assert_eq!(spec_units(&engine, "ordinary"), alone);
    assert_eq!(decide(&mut engine, "ordinary").decision.verdict, Verdict::Placed);
    undo_and_delete(&mut engine, "ordinary");
}
