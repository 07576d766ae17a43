//! Pods that an API server accepts and policies that the compiler accepts, made to cost as much as they
//! can on 5,000 nodes: each decision stays within its units and its memory. `hostile_by_hand.rs` has
//! those that are written by hand.
//!
//! `make attack` prints the tables, searches for worse pods than those in `finds.txt`
//! (`KPOLICY_ATTACKS` says how many pods it tries, `KPOLICY_ATTACK_SEED` where it begins), tries the
//! policies of the file `KPOLICY_HOSTILE_POLICIES`, puts `KPOLICY_HOSTILE_PLACED` pods of each kind on
//! nodes, and feeds `KPOLICY_HOSTILE_PODS` pods to one engine.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod affinity_parts;
mod cluster;
mod device_cases;
mod device_objects;
mod devices;
#[path = "../worlds/draws.rs"]
mod draws;
mod growth;
mod memory;
mod placed;
mod random_policies;
mod search;
mod spec_parts;
#[path = "../support/mod.rs"]
mod support;

use std::env;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap::Cap;
use mimalloc::MiMalloc;
use peakmem_alloc::PeakMemAlloc;

/// The most that was allocated since it was reset. Times depend on the allocator, so it is that of the
/// compiled module.
static PEAK: PeakMemAlloc<MiMalloc> = PeakMemAlloc::new(MiMalloc);

/// What is allocated now.
#[global_allocator]
static ALLOCATOR: Cap<&PeakMemAlloc<MiMalloc>> = Cap::new(&PEAK, usize::MAX);

/// Each test holds this while it runs: what is allocated is counted for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number from the environment.
fn number(name: &str, default: usize) -> usize {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
