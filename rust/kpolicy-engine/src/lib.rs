//! The engine: the snapshot of a cluster, the rules, and the cycle that places a pod.
//!
//! Objects arrive decoded (`model`) and programs as JSON values. The engine has no Python, HTTP,
//! files, async runtime or clock: time is `now_ns`, chance a seed.

#![warn(missing_docs)]

pub(crate) mod advice;
pub mod api;
pub mod cycle;
pub mod engine;
pub mod evaluate;
pub mod event;
pub(crate) mod explain;
pub mod fields;
pub(crate) mod heap;
pub(crate) mod intern;
pub(crate) mod judging;
pub(crate) mod message;
pub mod model;
pub(crate) mod parked;
pub mod part;
pub mod preemption;
pub mod program;
pub mod release;
pub(crate) mod resources;
pub mod rules;
pub mod snapshot;
pub mod threads;
pub mod timing;
pub(crate) mod waiting;

pub use engine::Engine;
