//! The volume rules from outside: recorded answers, bindings, changes followed, wakes, limits of old policies.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod bindings;
mod clusters;
mod disks;
mod follow;
mod recorded;
mod restrictions;
mod wakes;
