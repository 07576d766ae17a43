//! The engine: one snapshot, one program in force, and everything that is kept between calls. `api`
//! lists the public calls.
//!
//! There is one caller at a time. Changes of the snapshot and a new program take effect between
//! calls, so every decision sees one of each.

mod admission;
mod advice;
mod again;
mod apply;
mod candidates;
mod explanations;
mod holdings;
mod pod_resources;
mod prospects;
mod reservations;
mod schedule;
mod second_opinion;
mod stale;
mod stepwise;
mod time;
mod unit;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;

use kpolicy_cel::{Expression, Moments};
use serde_json::Value;

use crate::api::{PodChange, PodState, Refusal, RuleStatistics, Statistics, Wake};
use crate::cycle::{CacheBound, Cycle};
use crate::evaluate::{self, Query};
use crate::judging::Tie;
use crate::model::{ApiPaths, Kind};
use crate::parked::Parked;
use crate::program::{Program, Serving, TieBreak};
use crate::release::Followed;
use crate::rules::expression::{paths_of, verified};
use crate::snapshot::{Cluster, PodEntry, Progress};
use crate::threads::Threads;
use crate::timing::Timings;
use crate::waiting::{Waiting, shares};
pub use advice::AdviceAsked;
pub use pod_resources::{Amount, PodResources};
use prospects::LookAhead;

/// See `api` for the calls.
#[derive(Debug)]
pub struct Engine {
    cluster: Cluster,
    program: Program,
    cycle: Cycle,
    parked: Parked,
    /// Pods that wait to be tried, while the program says in which order, or holds pods.
    waiting: Waiting,
    /// Pods that time woke, until the caller asks.
    woken_by_time: Vec<Wake>,
    lists: apply::Lists,
    paths: Arc<ApiPaths>,
    seed: u64,
    decisions: u64,
    again: again::Again,
    timings: Timings,
    /// How many programs were put in force.
    loads: u64,
    cache_bound: CacheBound,
    resource_version: Arc<str>,
    empty: Arc<str>,
    threads: Arc<Threads>,
    look_ahead: LookAhead,
}

impl Engine {
    /// An engine without objects and with a program without profiles, on the caller's thread.
    pub fn new(seed: u64) -> Self {
        Self::with_threads(seed, Arc::new(Threads::new(1)))
    }

    /// As `new`. Whatever the number of threads, answers are the same.
    pub fn with_threads(seed: u64, threads: Arc<Threads>) -> Self {
        let empty: Arc<str> = "".into();
        let program = Program {
            hash: Arc::clone(&empty),
            followed: Followed::default(),
            tie_break: TieBreak::Random,
            profiles: Vec::new(),
            serving: Serving::default(),
            queue: None,
            moments: Moments::None,
            waking: Moments::None,
        };
        Self {
            cluster: Cluster::default(),
            program,
            cycle: Cycle::default(),
            parked: Parked::default(),
            waiting: Waiting::default(),
            woken_by_time: Vec::new(),
            lists: apply::Lists::default(),
            paths: Arc::default(),
            seed,
            decisions: 0,
            again: again::Again::default(),
            timings: Timings::default(),
            loads: 0,
            cache_bound: CacheBound::default(),
            resource_version: Arc::clone(&empty),
            empty,
            threads,
            look_ahead: LookAhead::default(),
        }
    }

    /// Puts a program in force; if it is refused, the one before stays. Parked and waiting pods are
    /// forgotten: the caller tries all pending pods again.
    pub fn load(&mut self, document: &Value) -> Result<(), Vec<Refusal>> {
        self.program = Program::load(document)?;
        self.paths = Arc::new(self.program.paths());
        self.cycle = Cycle::default();
        self.cycle.limit(self.cache_bound);
        self.again = again::Again::default();
        self.timings.follow(&self.program);
        self.loads += 1;
        self.parked.clear();
        self.waiting = Waiting::default();
        self.cluster.count_resizes(self.program.followed.traits().resizes);
        let label = self.program.queue.as_ref().map(|queue| Arc::clone(&queue.tenant_label));
        self.cluster.follow_usage(label.as_deref());
        self.woken_by_time.clear();
        Ok(())
    }

    /// Goes on after so many decisions of another engine: which of several equal nodes is chosen rests on
    /// how many were made before.
    #[must_use]
    pub fn after(self, decisions: u64) -> Self {
        Self { decisions, ..self }
    }

    /// Bounds what is kept from decision to decision. Whatever the bound, decisions are the same:
    /// where columns of all nodes have no room, each node is asked.
    pub fn limit_cache(&mut self, bytes_max: usize) {
        self.cache_bound = CacheBound::fixed(bytes_max);
        self.cycle.limit(self.cache_bound);
    }

    /// Looks ahead at one pod of a batch for so many nodes, however little there is to do for them. However
    /// many, decisions are the same.
    pub fn look_ahead(&mut self, nodes_a_pod: usize) {
        self.look_ahead = LookAhead::at_one_for(nodes_a_pod);
    }

    /// The heartbeat of all calls, to be read by other threads.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(self.cluster.progress())
    }

    /// The hash of the program in force, which every batch of decisions names.
    pub fn program_hash(&self) -> Arc<str> {
        Arc::clone(&self.program.hash)
    }

    /// The resources that the program in force reads.
    pub fn resources(&self) -> Vec<&'static str> {
        self.program.kinds().into_iter().map(Kind::resource).collect()
    }

    /// What is to be kept of objects read from now on.
    pub fn paths(&self) -> Arc<ApiPaths> {
        Arc::clone(&self.paths)
    }

    /// Keeps also what an expression reads that is no part of the program, until the next program.
    pub fn keep(&mut self, ir: &Value) {
        if let Ok(expression) = verified(ir) {
            paths_of(&expression, Arc::make_mut(&mut self.paths));
        }
    }

    /// The texts of selectors of devices that are not compiled: give them to `load_selectors` before
    /// the next decision.
    pub fn wanted_selectors(&self) -> Vec<String> {
        self.cluster.objects().selectors.wanted().map(str::to_owned).collect()
    }

    /// Takes what texts of selectors compile to: the expression, or why there is none.
    pub fn load_selectors(&mut self, compiled: &[(String, Result<Value, String>)]) {
        for (text, compiled) in compiled {
            let expression =
                compiled.clone().and_then(|ir| Expression::verify(&ir).map_err(|why| why.message));
            self.cluster.load_selector(text, expression);
        }
    }

    /// Resources that must be listed anew before the next decision: objects are held of which the
    /// program in force reads what was not kept.
    pub fn stale(&self) -> Vec<&'static str> {
        stale::kinds(&self.cluster, &self.paths).into_iter().map(Kind::resource).collect()
    }

    /// Why a parked pod is parked, or a held one held; or an empty text.
    pub fn message(&self, uid: &str) -> Arc<str> {
        let message = self.parked.message(uid).or_else(|| self.waiting.message(uid));
        message.unwrap_or_else(|| Arc::clone(&self.empty))
    }

    /// All pending pods, in the order of creation and name.
    pub fn pending(&self) -> Vec<PodChange> {
        let mut pending: Vec<&PodEntry> = self
            .cluster
            .pods()
            .in_order()
            .into_iter()
            .filter(|entry| entry.node().is_none())
            .collect();
        let created = |entry: &&PodEntry| entry.pod.created_seconds.unwrap_or(0);
        pending.sort_by(|left, right| {
            created(left)
                .cmp(&created(right))
                .then_with(|| left.pod.namespace().as_ref().cmp(right.pod.namespace().as_ref()))
                .then_with(|| left.pod.name.cmp(&right.pod.name))
        });
        pending.into_iter().map(|entry| self.change(entry)).collect()
    }

    /// What an expression gives for a pod and a node, by the facts that rules read.
    pub fn evaluate(&self, asked: &Query<'_>) -> Value {
        evaluate::answer(asked, &self.cluster)
    }

    /// Sizes of the snapshot and of the caches, and what rules counted.
    pub fn statistics(&self) -> Statistics {
        let (pods, cache) = (self.cluster.pods(), self.cycle.size());
        Statistics {
            nodes: self.cluster.nodes().len(),
            pods: pods.len(),
            pods_pending: pods.pending(),
            pods_on_nodes: pods.len() - pods.pending(),
            pods_assumed: pods.assumed(),
            pods_on_unknown_nodes: pods.on_unknown_nodes(),
            objects_promised: self.cluster.promises().len(),
            pods_parked: self.parked.len(),
            pod_templates: self.cluster.templates(),
            pod_identities: self.cluster.identities(),
            objects: self.cluster.objects().len(),
            cached_shapes: cache.shapes,
            cached_columns: cache.columns,
            cached_bytes: cache.bytes,
            decisions: self.decisions,
            shape_hits: cache.hits,
            shape_misses: cache.misses,
            decisions_uncached: cache.uncached,
            rules: self.rule_statistics(),
            tenants: shares(&self.cluster),
        }
    }

    /// How long stages and rules took, in all programs so far.
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// By scheduler name and rule. The rules of a tenant are counted together, by the name of the
    /// tenant.
    fn rule_statistics(&self) -> BTreeMap<String, RuleStatistics> {
        let mut statistics = BTreeMap::<String, RuleStatistics>::new();
        for profile in &self.program.profiles {
            let scheduler = &profile.scheduler_name;
            for (name, counts) in &profile.counts {
                let key = match &profile.tenant {
                    Some(tenant) if tenant.has(name) => {
                        format!("{scheduler}/tenant:{}", tenant.name)
                    }
                    _ => format!("{scheduler}/{name}"),
                };
                statistics.entry(key).or_default().add(counts.statistics());
            }
        }
        let order = self.program.queue.as_ref().and_then(|queue| queue.order.as_ref());
        if let (Some(order), Some(first)) = (order, self.program.profiles.first()) {
            let (name, counts) = order.counts();
            let key = format!("{}/{name}", first.scheduler_name);
            statistics.entry(key).or_default().add(counts.statistics());
        }
        statistics
    }

    /// The snapshot, to look at.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The program in force.
    pub fn program(&self) -> &Program {
        &self.program
    }

    fn tie(&self) -> Tie {
        Tie {
            rule: self.program.tie_break,
            seed: self.seed,
            decision: self.decisions,
            preferred: None,
        }
    }

    fn change(&self, entry: &PodEntry) -> PodChange {
        let pod = &entry.pod;
        // An assumed pod still counts as pending: the API server has not confirmed its node yet.
        let node = entry.node().filter(|_| !entry.is_assumed());
        PodChange {
            state: if node.is_some() { PodState::OnNode } else { PodState::Pending },
            uid: Arc::clone(&pod.uid),
            namespace: Arc::clone(pod.namespace()),
            name: Arc::clone(&pod.name),
            priority: pod.priority(),
            scheduler_name: Arc::clone(&pod.template.scheduler_name),
            gated: pod.is_gated(),
            node: node.map_or_else(|| Arc::clone(&self.empty), Arc::clone),
            nominated_node: Arc::clone(&pod.nominated_node_name),
            created_ns: pod.created_seconds.unwrap_or(0).saturating_mul(1_000_000_000),
            generation: pod.generation,
        }
    }
}
