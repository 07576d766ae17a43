//! The threads of an engine: parts of its work that do not touch each other are divided among them.
//!
//! Which thread does a part changes no result: each part writes to its own place, and places are read
//! in their order. With one thread everything is done in place. The threads begin when there is work
//! for them for the first time; where the system refuses them, the work is done in place too.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::{Scope, ThreadPool};

/// The most threads of an engine.
pub const THREADS_MAX: usize = 256;

/// The lanes of a stretch that one thread works on. A kernel takes a few nanoseconds a lane, and waking
/// a thread some ten thousand. Debug builds divide what they can: their tests have few nodes.
const LANES_OF_RANGE: usize = if cfg!(debug_assertions) { 3 } else { 16_384 };
/// New lanes that are worked on before the next ones.
const LANES_OF_NEW: usize = if cfg!(debug_assertions) { 3 } else { 4_096 };
/// With so many items a thread, nothing within an item is divided.
const ITEMS_A_THREAD: usize = 8;

/// As much as the thread has that a program begins with.
const STACK_BYTES: usize = 8 << 20;

/// The threads of one engine.
#[derive(Debug)]
pub struct Threads {
    count: usize,
    /// All but the thread that calls.
    others: OnceLock<Option<Arc<ThreadPool>>>,
}

impl Threads {
    /// So many, at least one and at most [`THREADS_MAX`].
    pub fn new(count: usize) -> Self {
        Self { count: count.clamp(1, THREADS_MAX), others: OnceLock::new() }
    }

    /// How many there are.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Does `work` in the thread of the caller. [`each`] within it uses all threads. A panic of any of them
    /// goes on in the caller.
    pub fn inside<T>(&self, work: impl FnOnce() -> T) -> T {
        let _others = self.others().map(|others| Entered::with(Arc::clone(others)));
        work()
    }

    fn others(&self) -> Option<&Arc<ThreadPool>> {
        let count = self.count.checked_sub(1).filter(|count| *count > 0)?;
        self.others.get_or_init(|| built(count).map(Arc::new)).as_ref()
    }
}

fn built(count: usize) -> Option<ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .stack_size(STACK_BYTES)
        .thread_name(|index| format!("kpolicy-{index}"))
        .build()
        .ok()
}

thread_local! {
    /// The other threads of the caller that is [`Threads::inside`].
    static OTHERS: RefCell<Option<Arc<ThreadPool>>> = const { RefCell::new(None) };
}

/// The caller is inside, until it is dropped.
struct Entered {
    before: Option<Arc<ThreadPool>>,
}

impl Entered {
    fn with(others: Arc<ThreadPool>) -> Self {
        Self { before: OTHERS.replace(Some(others)) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        OTHERS.replace(self.before.take());
    }
}

/// Does `work` with a scope in which the other threads take what is spawned, and waits for them. `None`
/// outside. One of the other threads leaves work only to its like.
fn scope<'s, T: Send>(work: impl FnOnce(&Scope<'s>) -> T + Send) -> Option<T> {
    if rayon::current_thread_index().is_some() {
        return Some(rayon::scope(work));
    }
    let others = OTHERS.with_borrow(Clone::clone)?;
    Some(others.in_place_scope(work))
}

/// How many threads take part in what the caller divides.
fn taking_part() -> usize {
    if rayon::current_thread_index().is_some() {
        return rayon::current_num_threads();
    }
    1 + OTHERS.with_borrow(|others| others.as_ref().map_or(0, |pool| pool.current_num_threads()))
}

/// Does `work` on each item, [`Threads::inside`] on all threads at once: each takes the next item
/// when it is done with one, so that none waits long for another at the end. `room` is made once for
/// each thread that has a part in it.
pub fn each<T: Send, R>(
    items: &mut [T],
    room: impl Fn() -> R + Send + Sync,
    work: impl Fn(&mut R, &mut T) + Send + Sync,
) {
    if items.len() < 2 || !is_idle() {
        let mut room = room();
        items.iter_mut().for_each(|item| work(&mut room, item));
        return;
    }
    let others = taking_part().min(items.len()) - 1;
    let is_enough = are_enough(items.len());
    let left = Mutex::new(items.iter_mut());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work_off = || {
        let Some(first) = next() else { return };
        let _busy = Busy::with(is_enough);
        let mut room = room();
        work(&mut room, first);
        while let Some(item) = next() {
            work(&mut room, item);
        }
    };
    scope(|scope| {
        (0..others).for_each(|_| scope.spawn(|_| work_off()));
        work_off();
    });
}

/// Whether so many items keep all threads busy, so that nothing within an item is to be divided.
pub fn are_enough(items: usize) -> bool {
    items >= taking_part().saturating_mul(ITEMS_A_THREAD) || !is_inside()
}

/// Does `work` on stretches of lanes, each with the index of its first: [`Threads::inside`] on all
/// threads at once, where there are so many lanes that it is worth it.
pub fn ranges<T: Send>(lanes: &mut [T], work: impl Fn(usize, &mut [T]) + Send + Sync) {
    if lanes.len() < 2 * LANES_OF_RANGE || !is_idle() {
        work(0, lanes);
        return;
    }
    let starts = (0..).step_by(LANES_OF_RANGE);
    let mut parts: Vec<_> = starts.zip(lanes.chunks_mut(LANES_OF_RANGE)).collect();
    each(&mut parts, || (), |(), (first, lanes)| work(*first, lanes));
}

/// As [`ranges`], for so many lanes that `work` sets, whatever is in them before. Where one thread does all
/// of it, it is done with a stretch before the next, while that is in the nearest cache.
pub fn new_ranges<T: Copy + Default + Send>(
    lanes: &mut Vec<T>,
    count: usize,
    work: impl Fn(usize, &mut [T]) + Send + Sync,
) {
    if lanes.capacity() < count {
        *lanes = vec![T::default(); count];
    }
    lanes.resize(count, T::default());
    if count >= 2 * LANES_OF_RANGE && is_idle() {
        ranges(lanes, work);
        return;
    }
    let starts = (0..).step_by(LANES_OF_NEW);
    starts.zip(lanes.chunks_mut(LANES_OF_NEW)).for_each(|(first, lanes)| work(first, lanes));
}

/// Whether the caller works [`Threads::inside`], and not on one of many items, of which each thread
/// has its own in any case.
fn is_idle() -> bool {
    is_inside() && !BUSY.get()
}

thread_local! {
    /// Whether this thread works on one of many items.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Says so, until it is dropped.
struct Busy {
    before: bool,
}

impl Busy {
    fn with(is_busy: bool) -> Self {
        Self { before: BUSY.replace(is_busy) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.set(self.before);
    }
}

/// Whether the caller works [`Threads::inside`], and there are several threads.
pub fn is_inside() -> bool {
    rayon::current_thread_index().is_some() || OTHERS.with_borrow(Option::is_some)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use std::sync::Mutex;

    use super::{ITEMS_A_THREAD, LANES_OF_RANGE, THREADS_MAX, Threads, each, new_ranges, ranges};

    fn squares(threads: &Threads, count: u64) -> Vec<u64> {
        let mut items: Vec<u64> = (0..count).collect();
        threads.inside(|| each(&mut items, || (), |(), item| *item *= *item));
        items
    }

    #[test]
    fn results_are_in_order_whatever_the_number_of_threads() {
        let want = squares(&Threads::new(1), 1_000);
        assert_eq!(want[31], 961);
        for count in [2, 4, 7] {
            assert_eq!(squares(&Threads::new(count), 1_000), want, "{count}");
        }
    }

    #[test]
    fn the_number_of_threads_is_bounded() {
        assert_eq!(Threads::new(0).count(), 1);
        assert_eq!(Threads::new(usize::MAX).count(), THREADS_MAX);
    }

    #[test]
    fn a_panic_of_a_worker_goes_on_in_the_caller_with_its_text() {
        for count in [1, 2, 4] {
            let threads = Threads::new(count);
            let mut items: Vec<u32> = (0..100).collect();
            let panic = catch_unwind(AssertUnwindSafe(|| {
                threads.inside(|| {
                    each(&mut items, || (), |(), item| assert!(*item != 71, "item {item} is bad"));
                });
            }));
            let panic = panic.expect_err("one item is bad");
            let text = panic.downcast_ref::<String>().map(String::as_str);
            assert_eq!(text, Some("item 71 is bad"), "{count} threads");
            assert_eq!(squares(&threads, 3), [0, 1, 4], "the threads are still there");
        }
    }

    /// Where the stretches began that lanes were divided into; each lane is worked on once.
    fn starts(threads: &Threads, lanes: usize, items: usize) -> Vec<usize> {
        let starts = Mutex::new(Vec::new());
        let mut items: Vec<Vec<usize>> = vec![vec![0; lanes]; items];
        threads.inside(|| {
            each(
                &mut items,
                || (),
                |(), lanes| {
                    ranges(lanes, |first, lanes| {
                        starts.lock().unwrap().push(first);
                        lanes.iter_mut().zip(first..).for_each(|(lane, index)| *lane += index);
                    });
                },
            );
        });
        let want: Vec<usize> = (0..lanes).collect();
        assert!(items.iter().all(|lanes| *lanes == want));
        let mut starts = starts.into_inner().unwrap();
        starts.sort_unstable();
        starts
    }

    #[test]
    fn lanes_are_divided_where_there_are_many_and_few_items() {
        let (two, lanes) = (Threads::new(2), 2 * LANES_OF_RANGE + 1);
        let divided = [0, LANES_OF_RANGE, 2 * LANES_OF_RANGE];
        assert_eq!(starts(&two, lanes, 1), divided);
        assert_eq!(starts(&two, lanes, 2).len(), 2 * divided.len());
        assert_eq!(starts(&two, 2 * LANES_OF_RANGE - 1, 1), [0], "too few lanes");
        assert_eq!(starts(&two, lanes, 2 * ITEMS_A_THREAD), [0; 2 * ITEMS_A_THREAD], "many items");
        assert_eq!(starts(&Threads::new(1), lanes, 1), [0]);
    }

    #[test]
    fn new_lanes_are_made_and_worked_on_once_on_any_number_of_threads() {
        for (threads, count) in [(1, 10), (2, 2 * LANES_OF_RANGE + 1), (2, 1), (1, 0)] {
            let mut lanes = vec![5; 4];
            Threads::new(threads).inside(|| {
                new_ranges(&mut lanes, count, |first, lanes| {
                    lanes.iter_mut().zip(first..).for_each(|(lane, index)| *lane = 100 + index);
                });
            });
            let want: Vec<usize> = (100..100 + count).collect();
            assert_eq!(lanes, want, "{threads} threads");
        }
    }

    #[test]
    fn outside_of_the_threads_work_is_done_in_place() {
        let own = std::thread::current().id();
        let mut items = [0_u8; 10];
        each(&mut items, || (), |(), _| assert_eq!(std::thread::current().id(), own));
    }
}
