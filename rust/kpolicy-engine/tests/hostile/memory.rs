//! Hostile pods one after another: what they held is free again once they are deleted, but for the cache of
//! shapes, which has a bound of its own.

use crate::cluster::{
    BYTES_MAX, allocated_bytes, busy_cluster, decide, delete, mib, pod, undo_and_delete,
};
use crate::draws::Draws;
use crate::growth::Hostile;
use crate::search::is_applied;
use crate::{alone, number, support};
use kpolicy_engine::api::Verdict;
use serde_json::json;

/// How many pods there are where the environment does not say: `make attack` says 100,000.
const PODS: usize = 120;
/// What the whole process may hold.
const PROCESS_BYTES_MAX: usize = 1 << 30;
/// Most pods are small, so that many are tried; every so many is as large as it comes, of the first
/// `PODS` more.
const LARGE_EVERY: usize = 200;
const LARGE_EVERY_AT_FIRST: usize = 4;
const SMALL_SHARE: usize = 8;

/// What the kernel says that the process holds; 0 where it does not say.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4_096
}

#[test]
fn memory_is_flat_however_many_hostile_pods_come_and_go() {
    let _alone = alone();
    let mut engine = busy_cluster(&support::default_program());
    support::apply(&mut engine, &pod("first", json!({})));
    assert_eq!(decide(&mut engine, "first").decision.verdict, Verdict::Placed);
    delete(&mut engine, "first");
    let pods = number("KPOLICY_HOSTILE_PODS", PODS);
    let mut draws = Draws::of(2);
    let begin = allocated_bytes();
    let (mut left_most, mut resident_most, mut judged) = (0, 0, 0);
    for number in 0..pods {
        let hostile = Hostile::any(&mut draws).salted(number);
        let large_every = if number < PODS { LARGE_EVERY_AT_FIRST } else { LARGE_EVERY };
        let is_large = number % large_every == large_every - 1;
        let share = if is_large { 1_024 } else { SMALL_SHARE };
        let name = format!("hostile-{number}");
        if !is_applied(&mut engine, &hostile.scaled(share).pod(&name)) {
            continue;
        }
        let taken = decide(&mut engine, &name);
        judged += usize::from(taken.decision.verdict != Verdict::SetAside);
        undo_and_delete(&mut engine, &name);
        left_most = left_most.max(allocated_bytes().saturating_sub(begin));
        resident_most = resident_most.max(resident_bytes());
        if (number + 1) % pods.div_ceil(10) == 0 {
            println!(
                "{:>7} pods, {judged:>7} judged: {:>4} MiB allocated, {:>4} of them said to be cached, \
                 {:>4} MiB resident",
                number + 1,
                mib(allocated_bytes().saturating_sub(begin)),
                mib(engine.statistics().cached_bytes),
                mib(resident_bytes()),
            );
        }
    }
    assert!(judged * 2 > pods, "{judged} of {pods} pods were judged");
    assert!(left_most <= PROCESS_BYTES_MAX, "{} MiB are left", mib(left_most));
    // A program that is loaded again remembers nothing: what is left then belongs to pods that are gone.
    assert!(engine.load(&support::default_program()).is_ok());
    let left = allocated_bytes().saturating_sub(begin);
    println!("{} MiB are left without the cache of shapes", mib(left));
    assert!(left <= BYTES_MAX, "{} MiB are left of pods that are gone", mib(left));
    assert!(resident_most <= PROCESS_BYTES_MAX, "{} MiB resident", mib(resident_most));
}
