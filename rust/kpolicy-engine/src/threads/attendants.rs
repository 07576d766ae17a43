//! The other threads of an engine, which stay awake while their caller is likely to have work for them.
//!
//! Waking a thread takes some ten microseconds, and so does waiting for one by sleeping. So a caller
//! calls the others when it begins with what it divides. Until it ends, they look for work again and
//! again; if there is none for long, they sleep. The caller leaves work only to those who are there: it
//! never waits for a thread to wake up.

use std::cell::Cell;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::{ThreadPool, Yield};

/// As much as the thread has that a program begins with.
const STACK_BYTES: usize = 8 << 20;
/// How often a thread looks in vain for work before it sleeps, and how long it pauses in between: half a
/// millisecond in all.
const LOOKS_MAX: usize = 2_000;
const PAUSES: usize = 4;
/// How long a caller looks whether the others are done before it sleeps, likewise.
const WAITS_MAX: usize = 10_000;

#[derive(Debug)]
pub(super) struct Attendants {
    pool: ThreadPool,
    attendance: Arc<Attendance>,
}

#[derive(Debug, Default)]
struct Attendance {
    /// Callers that may have work.
    callers: AtomicUsize,
    /// Threads that look for work now.
    free: AtomicUsize,
    /// Some thread went to sleep while there was a caller.
    is_missing: AtomicBool,
}

thread_local! {
    /// Whether this thread is an attendant already.
    static ATTENDS: Cell<bool> = const { Cell::new(false) };
}

impl Attendants {
    /// `None`: the system refuses them.
    pub(super) fn begin(count: usize) -> Option<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(count)
            .stack_size(STACK_BYTES)
            .thread_name(|index| format!("kpolicy-{index}"))
            .build()
            .ok()?;
        Some(Self { pool, attendance: Arc::default() })
    }

    pub(super) fn pool(&self) -> &ThreadPool {
        &self.pool
    }

    pub(super) fn count(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// A caller is going to have work.
    pub(super) fn enter(&self) {
        self.attendance.callers.fetch_add(1, Ordering::Relaxed);
        self.call();
    }

    /// A caller has no more.
    pub(super) fn leave(&self) {
        self.attendance.callers.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many take work at once. If some sleep, they are called.
    pub(super) fn free(&self) -> usize {
        if self.attendance.is_missing.swap(false, Ordering::Relaxed) {
            self.call();
        }
        self.attendance.free.load(Ordering::Relaxed)
    }

    fn call(&self) {
        let attendance = Arc::clone(&self.attendance);
        self.pool.spawn_broadcast(move |_| attendance.attend());
    }
}

impl Attendance {
    /// Looks for work while there is a caller.
    fn attend(&self) {
        if ATTENDS.replace(true) {
            return;
        }
        self.free.fetch_add(1, Ordering::Relaxed);
        let mut looks = 0;
        while self.callers.load(Ordering::Relaxed) > 0 {
            if rayon::yield_now() == Some(Yield::Executed) {
                looks = 0;
                continue;
            }
            looks += 1;
            if looks == LOOKS_MAX {
                self.is_missing.store(true, Ordering::Relaxed);
                break;
            }
            (0..PAUSES).for_each(|_| spin_loop());
        }
        self.free.fetch_sub(1, Ordering::Relaxed);
        ATTENDS.set(false);
    }
}

/// Waits until it is so, or for long: then it is better to sleep.
pub(super) fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..WAITS_MAX {
        if is_so() {
            break;
        }
        spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::Attendants;

    #[test]
    fn threads_attend_while_there_is_a_caller() {
        let attendants = Attendants::begin(2).expect("the system has threads");
        let are_free = |count| {
            (0..10_000_000).any(|_| {
                std::thread::yield_now();
                attendants.free() == count
            })
        };
        assert_eq!(attendants.free(), 0, "nobody called them");
        attendants.enter();
        assert!(are_free(2), "whoever sleeps is called again");
        attendants.leave();
        assert!(are_free(0), "there is no caller");
    }
}
