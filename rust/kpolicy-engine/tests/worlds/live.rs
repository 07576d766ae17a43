//! Lives through a world, with one, two or four threads.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::threads::Threads;

use crate::run::{Agreed, Difference, Fault, Run};
use crate::seen::Seen;
use crate::world::World;

/// In one world of so many the caches of one engine are bounded, to less than a few columns.
const WORLDS_A_BOUND: u64 = 4;
const CACHE_BYTES_BOUND: usize = 4_000;

/// In every third world the engine that decides batches has so many threads.
const THREADS: [usize; 3] = [1, 2, 4];

/// What was seen, and every decision as text.
pub(crate) fn live(world: &World, fault: Fault) -> Result<(Seen, String), Difference> {
    let threads = THREADS[usize::try_from(world.seed).unwrap_or(0) % THREADS.len()];
    live_with(world, fault, threads)
}

/// As `live`, where the engine that decides batches has so many threads.
pub(crate) fn live_with(
    world: &World,
    fault: Fault,
    threads: usize,
) -> Result<(Seen, String), Difference> {
    let mut engine = Engine::with_threads(world.seed, Arc::new(Threads::new(threads)));
    // The clusters are small; the twin does not look ahead.
    engine.look_ahead(1);
    let twin = Engine::new(world.seed);
    let mut run = Run::begin(world, fault, engine, twin);
    if world.seed.is_multiple_of(WORLDS_A_BOUND) {
        run.twin.limit_cache(CACHE_BYTES_BOUND);
    }
    for (position, step) in world.steps.iter().enumerate() {
        run.seen.steps += 1;
        guarded(|| run.step(step)).map_err(|what| Difference { step: position, what })?;
    }
    guarded(|| run.rebuild()).map_err(|what| Difference { step: world.steps.len(), what })?;
    guarded(|| run.end()).map_err(|what| Difference { step: world.steps.len(), what })?;
    let uncached = run.twin.statistics().decisions_uncached;
    run.seen.uncached += usize::try_from(uncached).unwrap_or(usize::MAX);
    let (statistics, units) = (run.engine.statistics(), run.engine.program().units_spent());
    let _ = writeln!(run.observed, "{units} units, {statistics:?}");
    Ok((run.seen, run.observed))
}

/// A panic is a difference too.
fn guarded(work: impl FnOnce() -> Agreed) -> Agreed {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("a panic: {}", text.unwrap_or_default()))
    })
}
