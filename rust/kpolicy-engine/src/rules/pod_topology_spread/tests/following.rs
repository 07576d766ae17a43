//! Counts that follow changes equal counts made from scratch.

use serde_json::json;

use super::super::testing::{constraint, follows_filter, follows_score, pod, spread_pod};
use super::{HOST, rule, system};

#[test]
fn constraints_of_the_pod() {
    let own = [
        constraint("zone", true, 1, "app=web"),
        constraint(HOST, true, 2, "tier=front"),
        constraint("zone", false, 1, "app=web"),
        constraint(HOST, false, 3, "app=web"),
    ];
    follows_filter(&system(), spread_pod("app=web", &own));
    follows_score(&system(), spread_pod("app=web", &own));
}

#[test]
fn constraints_of_the_profile() {
    follows_score(&system(), pod("new", "app=web", ""));
    let listed = rule(&json!({"defaultingType": "List", "defaultConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}));
    follows_filter(&listed, pod("new", "app=web,tier=front", ""));
    follows_score(&listed, pod("new", "app=web,tier=front", ""));
}
