//! Hostile pods that are on nodes already, and what they cost the decision about an ordinary pod.

use std::cmp::Reverse;

use serde_json::{Value, json};

use crate::cluster::{
    BYTES_MAX, Taken, busy_cluster, decide, delete, mib, node_name, pod, undo_and_delete,
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
