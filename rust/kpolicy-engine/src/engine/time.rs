//! Time, which the caller tells: decisions are as of the whole minute that it is in.
//!
//! Rules may read it. When a rule that rejected parked pods may say something else, those that it may
//! let through are woken; the caller gets them the next time that it asks.

use kpolicy_cel::Timestamp;

use crate::api::Wake;
use crate::event::Occurrence;

use super::Engine;

const NANOSECONDS: i64 = 1_000_000_000;
const MINUTE: i64 = 60;

/// Decisions within a minute are as of its first moment.
fn minute_of(seconds: i64) -> Option<Timestamp> {
    Timestamp::new(seconds - seconds.rem_euclid(MINUTE), 0)
}

impl Engine {
    /// Decides from now on as of this time, until another one is told.
    pub fn set_time(&mut self, now_ns: i64) {
        let seconds = now_ns.div_euclid(NANOSECONDS);
        self.cluster.set_now_seconds(seconds);
        let from = self.cluster.moment();
        let Some(to) = minute_of(seconds).filter(|to| *to != from) else { return };
        self.cluster.set_moment(to, self.program.moments.differ(from, to));
        if self.program.waking.differ(from, to) {
            let passed = Occurrence::Time { from, to };
            self.parked.hear(&passed, &self.program, &self.cluster, &mut self.woken_by_time);
            self.waiting.hear(&passed, &self.program, &mut self.woken_by_time);
        }
    }

    /// As [`Engine::set_time`]; the pods that time woke since the last call, and when it may wake others
    /// (since the epoch; `None` if no rule that rejects pods reads the time). Among them are pods that no
    /// new node could help any more.
    pub fn pass_time(&mut self, now_ns: i64) -> (Vec<Wake>, Option<i64>) {
        self.cluster.progress().beat();
        self.set_time(now_ns);
        self.parked.wake_kept_back(&self.program, &self.cluster, &mut self.woken_by_time);
        let next = self.program.waking.changes_after(self.cluster.moment());
        let next_ns = next.and_then(|next| next.seconds().checked_mul(NANOSECONDS));
        (std::mem::take(&mut self.woken_by_time), next_ns)
    }
}
