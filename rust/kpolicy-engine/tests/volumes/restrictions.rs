//! Claims that one pod may use: counted over the cluster, also with pods assumed added or removed.

use kpolicy_engine::rules::Stage;
use serde_json::json;

use super::clusters::{claim_json, claimed, cluster, node_json, pod, pod_json, put_json, rule};

#[test]
fn taking_the_only_user_away_frees_the_claim() {
    let exclusive = json!({"accessModes": ["ReadWriteOncePod"]});
    let mut cluster = cluster(&[
        node_json("n1", &json!({}), &json!({})),
        node_json("n2", &json!({}), &json!({})),
        claim_json("c", &exclusive),
        pod_json("user", Some("n1"), &claimed(&["c"])),
        pod_json("waiting", None, &claimed(&["c"])),
    ]);
    let (rule, waiting, user) =
        (rule("VolumeRestrictions"), pod(&cluster, "waiting"), pod(&cluster, "user"));
    let prepared = rule.prepare(&waiting, &cluster).expect("it names a claim");
    let slot = cluster.nodes().find("n2").expect("it is there");
    let view = cluster.nodes().view(slot).expect("it is there");
    assert!(!prepared.check(&cluster, view).passes());

    let mut fork = prepared.fork();
    fork.remove_pod(&user, &cluster, view);
    assert!(fork.check(&cluster, view).passes());
    fork.add_pod(&user, &cluster, view);
    assert!(!fork.check(&cluster, view).passes());
    assert!(!prepared.check(&cluster, view).passes());

    cluster.remove_pod("user");
    let prepared = rule.prepare(&waiting, &cluster).expect("it names a claim");
    assert!(matches!(prepared.stage(), Stage::Skip));
    put_json(&mut cluster, &pod_json("user", Some("nowhere"), &claimed(&["c"])));
    let prepared = rule.prepare(&waiting, &cluster).expect("it names a claim");
    assert!(matches!(prepared.stage(), Stage::Skip), "pods on unknown nodes do not count");
}
