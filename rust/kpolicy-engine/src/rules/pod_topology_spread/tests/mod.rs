//! Verdicts and scores of the rule on small clusters, computed by hand. Following changes gives the
//! same as preparing from scratch.

mod filters;
mod following;
mod hints;
mod scores;

use super::testing::{cluster, row};
use super::{PodTopologySpread, from_args};
use crate::fields::{Fields, Refusals};
use crate::model;
use crate::release::Followed;
use crate::rules::{Filter, PreparedFilter};
use crate::snapshot::Cluster;

const HOST: &str = "kubernetes.io/hostname";

fn rule(args: &serde_json::Value) -> PodTopologySpread {
    let mut refusals = Refusals::default();
    let mut fields = Fields::of(args, "$", &mut refusals).unwrap();
    from_args(&mut fields, Followed::default(), &mut refusals).unwrap()
}

fn system() -> PodTopologySpread {
    rule(&serde_json::json!({}))
}

fn filter(cluster: &mut Cluster, pod: model::Pod) -> Box<dyn PreparedFilter> {
    let pod = row(cluster, pod);
    Filter::prepare(&system(), &pod, cluster).unwrap()
}

/// Zones a, b and nowhere; three pods in a, one in b.
fn two_zones() -> Cluster {
    cluster(
        &[("n1", "zone=a"), ("n2", "zone=a"), ("n3", "zone=b"), ("n4", "")],
        &[
            ("app=web", "n1"),
            ("app=web", "n1"),
            ("app=web", "n2"),
            ("app=web", "n3"),
            ("app=db", "n3"),
            ("app=web", "n4"),
        ],
    )
}
