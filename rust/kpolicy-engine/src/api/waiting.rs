//! The queue, where a policy orders it or holds pods: who waits, and who is next.

use std::sync::Arc;

/// A pod that may be tried, or that rests. Times are of the queue's clock, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entered {
    /// The pod's uid.
    pub uid: Arc<str>,
    /// When its present wait began.
    pub since_ns: i64,
    /// When it could first be tried.
    pub first_ns: i64,
    /// How often it was tried.
    pub attempts: i64,
    /// To judge it takes more work than one decision may: it comes last.
    pub is_set_aside: bool,
    /// It was tried and is parked or backs off: nobody is to try it, but a hold may begin to hold it.
    pub is_resting: bool,
}

/// A pod that a hold keeps from being tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldPod {
    /// The pod's uid.
    pub uid: Arc<str>,
    /// The name of the hold.
    pub hold: Arc<str>,
    /// Its reason, a word in camel case.
    pub reason: Arc<str>,
    /// Why, for people.
    pub message: Arc<str>,
}

/// An expression about the queue that failed for a pod, and for those that are like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueFault {
    /// The uid of the pod.
    pub uid: Arc<str>,
    /// The name of the hold, or `queue.order`.
    pub rule: Arc<str>,
    /// A code that `kpolicy rule` explains.
    pub code: &'static str,
    /// Why, for people.
    pub message: Arc<str>,
}

/// Who is tried next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NextPods {
    /// Uids in order.
    pub picked: Vec<Arc<str>>,
    /// Pods that are held from now on, or by another hold; also some that rested.
    pub held: Vec<HeldPod>,
    /// What failed for the first time.
    pub faults: Vec<QueueFault>,
    /// Ask again, also if nothing happens.
    pub is_more: bool,
}
