//! Counts that follow changes are those of counting anew.

use super::super::testing::{cluster, constraint, node, pod, row, scores, spread_pod, verdicts};
use super::{HOST, system};
use crate::rules::{Filter, Refresh, Score};
use crate::snapshot::Cluster;

/// A small generator, so that every run makes the same changes.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn change_something(cluster: &mut Cluster, dice: &mut Dice) {
    let zones = ["zone=a,", "zone=b,", "zone=c,", "zone=,", ""];
    let apps = ["app=web", "app=db", "app=web,tier=front"];
    let pick = |list: &[&'static str], dice: &mut Dice| {
        let index = dice.roll(list.len() as u64);
        list[usize::try_from(index).unwrap()]
    };
    let name = format!("n{}", dice.roll(9));
    match dice.roll(20) {
        0 => {
            cluster.remove_node(&name);
        }
        1 | 2 => {
            let pairs = format!("{}{HOST}={name}", pick(&zones, dice));
            cluster.set_node(node(&name, &pairs));
        }
        3..=6 => {
            cluster.remove_pod(&format!("p{}", dice.roll(40)));
        }
        _ => {
            let mut pod = pod(&format!("p{}", dice.roll(40)), pick(&apps, dice), &name);
            pod.meta.deletion_seconds = (dice.roll(6) == 0).then_some(1);
            cluster.set_pod(pod);
        }
    }
    cluster.settle_order();
}

#[test]
fn following_changes_gives_what_preparing_anew_gives() {
    let mut dice = Dice(7);
    let mut compared = 0;
    let mut followed = 0;
    let nodes: Vec<(String, String)> = (0..9)
        .map(|index| (format!("n{index}"), format!("zone={},{HOST}=n{index}", index % 3)))
        .collect();
    let nodes: Vec<(&str, &str)> = nodes.iter().map(|(name, of)| (&**name, &**of)).collect();
    let mut cluster = cluster(&nodes, &[]);
    let own = [
        constraint("zone", true, 1, "app=web"),
        constraint(HOST, true, 2, "tier=front"),
        constraint("zone", false, 1, "app=web"),
        constraint(HOST, false, 3, "app=web"),
    ];
    let pod = row(&mut cluster, spread_pod("app=web", &own));
    let rule = system();
    let mut filter = Filter::prepare(&rule, &pod, &cluster).unwrap();
    let mut score = Score::prepare(&rule, &pod, &cluster).unwrap();
    let mut known = verdicts(filter.as_ref(), &cluster);
    for _ in 0..3_000 {
        let seen = cluster.generation();
        for _ in 0..=dice.roll(3) {
            change_something(&mut cluster, &mut dice);
        }
        let changes = cluster.log().since(seen).unwrap();
        let refresh = filter.refresh(changes, &cluster);
        if refresh == Refresh::Again {
            filter = Filter::prepare(&rule, &pod, &cluster).unwrap();
        } else {
            followed += 1;
        }
        if score.refresh(changes, &cluster) == Refresh::Again {
            score = Score::prepare(&rule, &pod, &cluster).unwrap();
        }
        let fresh = Filter::prepare(&rule, &pod, &cluster).unwrap();
        let now = verdicts(filter.as_ref(), &cluster);
        assert_eq!(now, verdicts(fresh.as_ref(), &cluster));
        assert!(refresh != Refresh::Nodes || now == known, "{known} became {now} unsaid");
        known = now;
        let mut fresh = Score::prepare(&rule, &pod, &cluster).unwrap();
        let feasible = |name: &str| name != "n4";
        let found = scores(score.as_mut(), &cluster, feasible);
        assert_eq!(found, scores(fresh.as_mut(), &cluster, feasible));
        compared += found.len();
    }
    assert!(compared > 15_000 && followed > 1_500, "{compared} {followed}");
}
