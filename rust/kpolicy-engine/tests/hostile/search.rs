//! The search for pods that cost more than their units say, and the worst that it found.
//!
//! A pod whose spec asks for too much is set aside, and costs no more than reading it. So each pod is
//! also tried with as few entries that it is just judged: that is where a price that is too low shows.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;

use kpolicy_codec::{Keep, file};
use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Verdict};
use kpolicy_engine::rules::decision_work::units_max;
use serde_json::Value;

use crate::cluster::{
    BYTES_MAX, NODES, Taken, allocated_bytes, busy_cluster, decide_often, mib, spec_units,
    undo_and_delete,
};
use crate::draws::Draws;
use crate::growth::{Hostile, parts};
use crate::{alone, number, support};

/// How many pods are tried where the environment does not say: `make attack` tries more.
const ATTACKS: usize = 6;
/// How many of the worst are changed further.
const WORST: usize = 24;
/// What a pod's spec may ask for.
const SPEC_UNITS: usize = 2_500_000;
const SPEC_UNITS_MAX: u64 = SPEC_UNITS as u64;
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// A pod and what one decision about it took.
struct Trial {
    hostile: Hostile,
    entries_share: usize,
    taken: Taken,
    /// What is left once the pod is deleted.
    left_bytes: usize,
}

impl Trial {
    fn milliseconds(&self) -> f64 {
        self.taken.time.as_secs_f64() * 1_000.0
    }

    /// How near it is to what one decision may take, in thousandths: of 50 ms or of 32 MiB.
    fn badness(&self) -> u128 {
        let time = self.taken.time.as_micros() / 50;
        let bytes = self.taken.peak_bytes.max(self.left_bytes);
        time.max((bytes * 1_000 / BYTES_MAX) as u128)
    }

    fn print(&self) {
        let verdict = format!("{:?}", self.taken.decision.verdict);
        println!(
            "{:>8.2} ms {:>9} units {:>4} MiB at most {:>3} MiB left  {verdict:<8} {:>4}/1024 of {}",
            self.milliseconds(),
            self.taken.units,
            mib(self.taken.peak_bytes),
            mib(self.left_bytes),
            self.entries_share,
            self.hostile
        );
    }

    /// What must hold of any pod.
    fn check(&self) {
        let Self { taken, hostile, .. } = self;
        // A pod with gates is not decided, whatever it asks for.
        let is_undecided = matches!(taken.decision.verdict, Verdict::SetAside | Verdict::Gated);
        assert!(is_undecided || taken.units <= SPEC_UNITS_MAX, "{hostile}: {} units", taken.units);
        assert!(taken.decision.message.len() <= MESSAGE_BYTES_MAX, "{hostile}: a long message");
        assert!(taken.peak_bytes <= BYTES_MAX, "{hostile}: {} MiB", mib(taken.peak_bytes));
        assert!(self.left_bytes <= BYTES_MAX, "{hostile}: {} MiB left", mib(self.left_bytes));
    }
}

/// Puts the pod into the engine; false where the codec refuses it.
pub(crate) fn is_applied(engine: &mut Engine, object: &Value) -> bool {
    let body = object.to_string();
    let paths = engine.paths();
    let mut applied = Applied::default();
    let unreadable = file::objects(body.as_bytes(), Keep(Some(&paths)), &mut |event| {
        engine.apply(event, 0, &mut applied);
    });
    unreadable.is_empty()
}

fn tried(engine: &mut Engine, hostile: &Hostile, entries_share: usize) -> Option<Trial> {
    let before = allocated_bytes();
    if !is_applied(engine, &hostile.scaled(entries_share).pod("hostile")) {
        return None;
    }
    let taken = decide_often(engine, &support::default_program(), "hostile");
    undo_and_delete(engine, "hostile");
    let left_bytes = allocated_bytes().saturating_sub(before);
    Some(Trial { hostile: hostile.clone(), entries_share, taken, left_bytes })
}

/// The pod as it is, and if it is set aside, also with about as many entries as are just judged.
fn attacked(engine: &mut Engine, hostile: &Hostile) -> Vec<Trial> {
    let mut trials: Vec<Trial> = tried(engine, hostile, 1_024).into_iter().collect();
    let Some(aside) =
        trials.first().filter(|trial| trial.taken.decision.verdict == Verdict::SetAside)
    else {
        return trials;
    };
    let units = usize::try_from(aside.taken.units).unwrap_or(usize::MAX);
    let mut share = SPEC_UNITS.saturating_mul(1_024) / units.max(1);
    while share > 0 {
        if !is_applied(engine, &hostile.scaled(share).pod("hostile")) {
            break;
        }
        let is_judged = spec_units(engine, "hostile") <= SPEC_UNITS_MAX;
        undo_and_delete(engine, "hostile");
        if is_judged {
            trials.extend(tried(engine, hostile, share));
            break;
        }
        share -= 1 + share / 16;
    }
    trials
}

fn finds() -> Vec<Hostile> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/finds.txt");
    let text = fs::read_to_string(path).expect("the finds are in the repository");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| Hostile::read(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

#[test]
fn the_worst_pods_found_so_far_stay_within_units_and_memory() {
    let _alone = alone();
    assert_eq!(units_max(NODES) / 2, SPEC_UNITS_MAX);
    let mut engine = busy_cluster(&support::default_program());
    let finds = finds();
    assert!(finds.len() >= 10, "{} finds", finds.len());
    for hostile in &finds {
        assert_eq!(
            Hostile::read(&hostile.to_string()).as_ref(),
            Ok(hostile),
            "it reads as written"
        );
        let trials = attacked(&mut engine, hostile);
        assert!(!trials.is_empty(), "{hostile}: the codec refuses it");
        trials.iter().for_each(Trial::print);
        trials.iter().for_each(Trial::check);
    }
}

#[test]
fn pods_grown_at_random_stay_within_units_and_memory() {
    let _alone = alone();
    let mut engine = busy_cluster(&support::default_program());
    let attacks = number("KPOLICY_ATTACKS", ATTACKS);
    let mut draws = Draws::of(number("KPOLICY_ATTACK_SEED", 1) as u64);
    let mut worst: Vec<Trial> = Vec::new();
    let mut decided = 0;
    for attack in 0..attacks {
        let hostile = match worst.is_empty() || attack < attacks / 2 || draws.one_in(4) {
            true => Hostile::any(&mut draws),
            false => draws.pick(&worst).hostile.changed(&mut draws),
        };
        let trials = attacked(&mut engine, &hostile);
        decided += trials.len();
        worst.extend(trials);
        worst.sort_by_key(|trial| Reverse(trial.badness()));
        worst.truncate(WORST);
    }
    println!("{attacks} pods of {} parts, {decided} decisions; the worst:", parts().count());
    worst.iter().for_each(Trial::print);
    worst.iter().for_each(Trial::check);
    assert!(decided >= attacks, "the codec refused many: {decided} decisions");
}
