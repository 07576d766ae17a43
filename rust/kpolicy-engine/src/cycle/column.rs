//! The answers of one rule for every node, for all pods of one sub-shape.
//!
//! Holds the prepared rule and its answers by slot. After a change, only the nodes that changed in
//! what the rule reads are asked again. The answers are first computed when a caller needs all of
//! them.

use std::fmt::Debug;

use crate::rules::{HeldBytes, Reads, Refresh};
use crate::snapshot::{Change, Changes, Cluster, Generation, NodeParts, NodeSlot, Pod};
use crate::timing::{Meter, Point, StatusCode};

use super::context::Context;
use super::spare::Spare;

/// The answers of one sort of rule to all nodes.
pub(super) trait Answers: Debug + Default {
    type Rule;
    type Prepared: ?Sized + Debug;
    /// Room to work answers out in, shared by all columns.
    type Scratch;
    /// When a rule is prepared.
    const POINT: Point;

    /// None are there, and there is room for those of all nodes.
    fn with_room(
        rule: &Self::Rule,
        prepared: Option<&Self::Prepared>,
        cluster: &Cluster,
        spare: &mut Spare,
    ) -> Self;

    /// Leaves the room for others.
    fn leave(self, spare: &mut Spare);

    fn prepare(rule: &Self::Rule, pod: &Pod, cluster: &Cluster) -> Option<Box<Self::Prepared>>;

    /// Brings a prepared rule up to date.
    fn refresh(
        rule: &Self::Rule,
        prepared: &mut Option<Box<Self::Prepared>>,
        changes: Changes<'_>,
        cluster: &Cluster,
    ) -> Refresh;

    /// Whether a rule that has nothing to say may have something to say later.
    fn may_change(rule: &Self::Rule) -> bool;

    /// What the rule comes to before any node is asked.
    fn status(prepared: Option<&Self::Prepared>) -> StatusCode;

    /// Whether the answers rest on which nodes are feasible.
    fn reads_feasible(prepared: Option<&Self::Prepared>) -> bool;

    /// Asks every node.
    fn fill(
        &mut self,
        rule: &Self::Rule,
        prepared: Option<&Self::Prepared>,
        cluster: &Cluster,
        scratch: &mut Self::Scratch,
        meter: impl Meter,
    );

    /// Asks the nodes again that changed.
    fn touch(
        &mut self,
        prepared: Option<&Self::Prepared>,
        changes: Changes<'_>,
        cluster: &Cluster,
        meter: impl Meter,
    );

    /// Whether so many changes are dealt with quicker by asking every node.
    fn is_worth_filling(prepared: &Self::Prepared, changes: usize, nodes: usize) -> bool;

    /// What the answers hold besides themselves.
    fn heap_bytes(&self) -> usize;

    fn held_bytes(prepared: &Self::Prepared) -> HeldBytes;
}

#[derive(Debug)]
enum State<A> {
    /// The answers of all nodes have not been needed yet; room for them, where it is known that they will be.
    Prepared(A),
    /// The rule is to be shown the feasible nodes before it is asked; the answers are out of date.
    AwaitsFeasible(A),
    /// Up to date as of the generation that was seen.
    Filled(A),
}

#[derive(Debug)]
pub(super) struct Column<A: Answers> {
    /// `None`: the rule has nothing to say.
    prepared: Option<Box<A::Prepared>>,
    /// What it holds; `None` where it was made or shown something since it was weighed.
    prepared_bytes: Option<HeldBytes>,
    state: State<A>,
    seen: Generation,
    rewritten: Generation,
}

/// The slot that a change makes a rule look at again.
pub(super) fn touched(change: &Change, reads: Reads) -> Option<NodeSlot> {
    match change {
        Change::Node(slot, parts) => {
            parts.meets(reads.node.with(NodeParts::EXISTENCE)).then_some(*slot)
        }
        Change::PodPut(slot, _) | Change::PodTaken(slot, _) => reads.load.then_some(*slot),
        Change::Object(_) | Change::Time(..) => None,
    }
}

impl<A: Answers> Column<A> {
    pub(super) fn new<M: Meter>(rule: &A::Rule, context: Context<'_, M>) -> Self {
        let Context { pod, cluster, meter, .. } = context;
        let now = cluster.generation();
        meter.begin();
        let prepared = A::prepare(rule, pod, cluster);
        meter.whole(A::POINT, || A::status(prepared.as_deref()));
        Self {
            prepared,
            prepared_bytes: None,
            state: State::Prepared(A::default()),
            seen: now,
            rewritten: now,
        }
    }

    pub(super) fn prepared(&self) -> Option<&A::Prepared> {
        self.prepared.as_deref()
    }

    /// `None` where they were not worked out or are out of date.
    pub(super) fn answers(&self) -> Option<&A> {
        match &self.state {
            State::Filled(answers) => Some(answers),
            State::Prepared(_) | State::AwaitsFeasible(_) => None,
        }
    }

    /// The generation at which more than the touched nodes may have changed.
    pub(super) fn rewritten(&self) -> Generation {
        self.rewritten
    }

    pub(super) fn reads_feasible(&self) -> bool {
        A::reads_feasible(self.prepared())
    }

    /// Whether the answers of all nodes can be worked out, and were not yet.
    pub(super) fn is_unfilled(&self) -> bool {
        matches!(self.state, State::Prepared(_)) && !self.reads_feasible()
    }

    pub(super) fn awaits_feasible(&self) -> bool {
        match &self.state {
            State::Prepared(_) => self.reads_feasible(),
            State::AwaitsFeasible(_) => true,
            State::Filled(_) => false,
        }
    }

    /// Follows the cluster, without asking nodes that were not needed yet.
    pub(super) fn follow<M: Meter>(
        &mut self,
        rule: &A::Rule,
        context: Context<'_, M>,
        scratch: &mut A::Scratch,
    ) {
        let Context { pod, cluster, meter, .. } = context;
        let now = cluster.generation();
        if self.seen == now {
            return;
        }
        let changes = cluster.log().since(self.seen);
        self.seen = now;
        if self.prepared.is_none() && !A::may_change(rule) {
            return;
        }
        let refreshed = changes
            .map(|changes| (changes, A::refresh(rule, &mut self.prepared, changes, cluster)));
        if matches!(refreshed, Some((_, Refresh::Again)) | None) {
            self.prepared = A::prepare(rule, pod, cluster);
            self.prepared_bytes = None;
        }
        meter.whole(A::POINT, || A::status(self.prepared.as_deref()));
        let nodes = cluster.nodes().len();
        let is_worth_filling = |prepared: &A::Prepared, changes: Changes<'_>| {
            A::is_worth_filling(prepared, changes.len(), nodes)
        };
        match (refreshed, self.prepared.as_deref()) {
            (Some((changes, Refresh::Nodes)), Some(prepared))
                if is_worth_filling(prepared, changes) =>
            {
                self.rewrite(rule, context, scratch);
            }
            (Some((changes, Refresh::Nodes)), _) => self.touch(changes, cluster, meter),
            (Some((_, Refresh::All | Refresh::Again)) | None, _) => {
                self.forget_feasible();
                self.rewrite(rule, context, scratch);
            }
        }
    }

    /// Makes room for the answers of all nodes, if there are none yet. Memory that one thread gets for
    /// all of them goes back and forth less than what each thread gets for itself.
    pub(super) fn make_room(&mut self, rule: &A::Rule, cluster: &Cluster, spare: &mut Spare) {
        if let State::Prepared(room) = &mut self.state
            && !A::reads_feasible(self.prepared.as_deref())
        {
            *room = A::with_room(rule, self.prepared.as_deref(), cluster, spare);
        }
    }

    /// No room is kept for answers that are not there.
    pub(super) fn give_room_back(&mut self, spare: &mut Spare) {
        if let State::Prepared(room) = &mut self.state {
            std::mem::take(room).leave(spare);
        }
    }

    /// It is not needed any more: leaves its room for others.
    pub(super) fn leave(self, spare: &mut Spare) {
        match self.state {
            State::Filled(answers) | State::AwaitsFeasible(answers) | State::Prepared(answers) => {
                answers.leave(spare);
            }
        }
    }

    /// Works out the answers of all nodes, if that was not done yet.
    pub(super) fn fill<M: Meter>(
        &mut self,
        rule: &A::Rule,
        context: Context<'_, M>,
        scratch: &mut A::Scratch,
    ) {
        if let State::Prepared(room) = &mut self.state {
            context.meter.begin();
            self.state = State::AwaitsFeasible(std::mem::take(room));
            if self.reads_feasible() {
                self.rewritten = context.cluster.generation();
            } else {
                self.fill_now(rule, context, scratch);
            }
        }
    }

    /// What the rule was shown last does not hold any more.
    pub(super) fn forget_feasible(&mut self) {
        if self.reads_feasible()
            && let State::Filled(answers) =
                std::mem::replace(&mut self.state, State::Prepared(A::default()))
        {
            self.state = State::AwaitsFeasible(answers);
        }
    }

    /// Changes the prepared rule, after which every answer may be another.
    pub(super) fn show<M: Meter>(
        &mut self,
        rule: &A::Rule,
        context: Context<'_, M>,
        scratch: &mut A::Scratch,
        change: impl FnOnce(&mut A::Prepared),
    ) {
        let Context { cluster, meter, .. } = context;
        meter.begin();
        if let Some(prepared) = self.prepared.as_deref_mut() {
            change(prepared);
            self.prepared_bytes = None;
        }
        meter.whole(A::POINT, || A::status(self.prepared.as_deref()));
        self.rewritten = cluster.generation();
        if !matches!(self.state, State::Prepared(_)) {
            self.fill_now(rule, context, scratch);
        }
    }

    fn rewrite<M: Meter>(
        &mut self,
        rule: &A::Rule,
        context: Context<'_, M>,
        scratch: &mut A::Scratch,
    ) {
        self.rewritten = context.cluster.generation();
        let is_due = match &self.state {
            State::Prepared(_) => false,
            State::AwaitsFeasible(_) => !self.reads_feasible(),
            State::Filled(_) => true,
        };
        if is_due {
            self.fill_now(rule, context, scratch);
        }
    }

    fn fill_now<M: Meter>(
        &mut self,
        rule: &A::Rule,
        context: Context<'_, M>,
        scratch: &mut A::Scratch,
    ) {
        let Context { cluster, meter, .. } = context;
        cluster.progress().beat();
        self.rewritten = cluster.generation();
        let mut answers = match std::mem::replace(&mut self.state, State::Prepared(A::default())) {
            State::Filled(answers) | State::AwaitsFeasible(answers) | State::Prepared(answers) => {
                answers
            }
        };
        answers.fill(rule, self.prepared(), cluster, scratch, meter);
        self.state = State::Filled(answers);
    }

    fn touch(&mut self, changes: Changes<'_>, cluster: &Cluster, meter: impl Meter) {
        if let State::Filled(answers) = &mut self.state {
            answers.touch(self.prepared.as_deref(), changes, cluster, meter);
        }
    }

    /// What it holds besides itself. A prepared rule is asked again only where that may be another.
    pub(super) fn weigh(&mut self) -> usize {
        let answers = match &self.state {
            State::Filled(answers) | State::AwaitsFeasible(answers) | State::Prepared(answers) => {
                answers.heap_bytes()
            }
        };
        let held = match (self.prepared_bytes, self.prepared.as_deref()) {
            (_, None) => HeldBytes::Fixed(0),
            (Some(fixed @ HeldBytes::Fixed(_)), Some(_)) => fixed,
            (Some(HeldBytes::Changing(_)) | None, Some(prepared)) => A::held_bytes(prepared),
        };
        self.prepared_bytes = Some(held);
        answers + held.count()
    }
}
