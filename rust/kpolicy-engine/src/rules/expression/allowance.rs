//! What a rule may cost: on one node, and up to how many nodes in a cycle.
//!
//! [`Ledger`] distributes the budgets of a profile's cycle while the profile is read; [`Allowance`]
//! is the part of one rule, in units of cost. Whether a rule is evaluated at all follows from the
//! worst case that the compiler found; how much it may really spend on a node, from what all rules
//! of the profile may cost together. Both depend on the program and the number of nodes alone, and
//! not on who was asked before or what is remembered.
//!
//! The rules of a tenant have a budget of their own beside that of the operator's rules, so that they
//! cannot make those err.

use std::sync::{Arc, OnceLock};

use crate::rules::status::Fault;

/// What evaluating an expression may cost for one node (KR110 where it is more).
pub(super) const COST_PER_NODE_MAX: u64 = 10_000;
/// What all rules of a policy may cost in a cycle where the policy does not say.
const COST_PER_CYCLE_DEFAULT: u64 = 50_000_000;
/// The most that a policy may ask for, and that all rules of a profile may cost together.
pub const COST_PER_CYCLE_MAX: u64 = 500_000_000;

/// The code of all errors of this kind.
pub(super) const COST_EXCEEDED: &str = "KR110";

/// What a policy says under `limits`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    pub(crate) per_node: Option<u64>,
    pub(crate) per_cycle: Option<u64>,
}

/// What all rules of a profile may really spend on one node of a large cluster: a quarter of what one
/// decision may take there, as a node may be asked twice, in columns and by itself.
const SPENT_PER_NODE_MAX: u64 = 250;
/// What they may spend in a cycle of a small cluster: as much as on 5,000 nodes.
const SPENT_PER_CYCLE_MIN: u64 = 1_250_000;
/// The rules of a tenant may spend this part of what the operator's rules may.
const TENANT_PART: u64 = 2;
/// A rule may spend this much however little the compiler found, as long as there is enough for all.
const DEMAND_MIN: u64 = 16;

/// What the rules that share a budget ask for, ascending: known once all of them are read.
#[derive(Debug, Clone)]
struct Demands {
    asked: Arc<OnceLock<Box<[u64]>>>,
    /// The budget is this part of that of the operator's rules.
    part: u64,
}

impl Demands {
    fn of_part(part: u64) -> Self {
        Self { asked: Arc::default(), part }
    }

    /// What a rule that asks for `demand` may spend on each of so many nodes. Where there is enough for
    /// all, each gets more in proportion; where there is not, those that ask for little get it, and
    /// the others share the rest. The number of nodes counts in powers of two, so that it changes
    /// rarely.
    fn share(&self, demand: u64, nodes: usize) -> u64 {
        let Some(demands) = self.asked.get() else { return u64::MAX };
        let nodes = (nodes.max(1) as u64).next_power_of_two();
        let mut left = SPENT_PER_NODE_MAX.max(SPENT_PER_CYCLE_MIN / nodes) / self.part;
        let together: u64 = demands.iter().fold(0, |sum, demand| sum.saturating_add(*demand));
        if together <= left {
            return demand.saturating_mul(left) / together.max(1);
        }
        for (index, each) in demands.iter().enumerate() {
            let fair = left / (demands.len() - index) as u64;
            if *each > fair {
                return demand.min(fair).max(1);
            }
            left -= each;
        }
        demand
    }
}

/// What one rule may cost.
#[derive(Debug, Clone)]
pub(crate) struct Allowance {
    per_node: u64,
    demand: u64,
    demands: Demands,
    /// The rule is not evaluated where there are more nodes.
    pub(crate) nodes_max: u64,
    /// Of it and the rules before it that draw on the same budget, on one node.
    together: u64,
    per_cycle: u64,
}

impl Allowance {
    /// The allowance of a rule that is evaluated only for the chosen node.
    pub(crate) fn of_one_node(limits: Limits) -> Self {
        let per_node = per_node(limits);
        Self {
            per_node,
            demand: per_node,
            demands: Demands::of_part(1),
            nodes_max: u64::MAX,
            together: 0,
            per_cycle: u64::MAX,
        }
    }

    /// What it may cost on a node as far as its policy says.
    pub(crate) const fn per_node(&self) -> u64 {
        self.per_node
    }

    /// What it may cost on a node as far as the compiler found.
    pub(crate) const fn demand(&self) -> u64 {
        self.demand
    }

    /// What it may really spend on each of so many nodes.
    pub(crate) fn per_node_of(&self, nodes: usize) -> u64 {
        self.per_node.min(self.demands.share(self.demand, nodes))
    }

    pub(crate) const fn covers(&self, nodes: usize) -> bool {
        nodes as u64 <= self.nodes_max
    }

    /// Whether it depends on how many nodes there are.
    pub(crate) const fn is_bounded(&self) -> bool {
        self.nodes_max != u64::MAX
    }

    /// Why the rule is not evaluated on so many nodes.
    pub(crate) fn fault(&self, nodes: usize) -> Fault {
        let message = format!(
            "this rule and those before it may cost {} units a node, on {nodes} nodes more than the \
             {} of a cycle",
            self.together, self.per_cycle
        );
        Fault { code: COST_EXCEEDED, message: Arc::from(message) }
    }
}

const fn per_node(limits: Limits) -> u64 {
    match limits.per_node {
        Some(units) if units < COST_PER_NODE_MAX => units,
        _ => COST_PER_NODE_MAX,
    }
}

/// A budget of a cycle and what the rules read so far take of it on each node.
#[derive(Debug, Clone, Copy)]
struct Account {
    per_cycle: u64,
    /// As much a node is allowed however many nodes there are: looking at each takes time anyway.
    floor: u64,
    drawn: u64,
}

impl Account {
    fn of_policy(limits: Limits) -> Self {
        let (per_cycle, floor) = match limits.per_cycle {
            Some(units) => (units.min(COST_PER_CYCLE_MAX), 0),
            None => (COST_PER_CYCLE_DEFAULT, COST_PER_NODE_MAX),
        };
        Self { per_cycle, floor, drawn: 0 }
    }

    fn with(self, units: u64) -> Self {
        Self { drawn: self.drawn.saturating_add(units), ..self }
    }

    fn nodes_max(&self) -> u64 {
        if self.drawn <= self.floor { u64::MAX } else { self.per_cycle / self.drawn.max(1) }
    }
}

/// The budget that several rules of a profile share.
#[derive(Debug)]
struct Book {
    account: Account,
    asked: Vec<u64>,
    demands: Demands,
}

impl Book {
    fn of_part(part: u64) -> Self {
        let per_cycle = COST_PER_CYCLE_MAX / part;
        Self {
            account: Account { per_cycle, floor: COST_PER_NODE_MAX, drawn: 0 },
            asked: Vec::new(),
            demands: Demands::of_part(part),
        }
    }

    fn settle(mut self) {
        self.asked.sort_unstable();
        // It is set once: a book is settled by being given away.
        let _ = self.demands.asked.set(self.asked.into());
    }
}

/// The budgets of one profile. Rules draw in the order in which they are asked, filters first.
#[derive(Debug)]
pub struct Ledger {
    limits: Vec<Limits>,
    policies: Vec<Account>,
    operator: Book,
    tenant: Book,
    /// The position of the first policy of the profile's tenant; those from there on are the tenant's.
    tenant_from: usize,
}

impl Ledger {
    /// `limits` are those of the program's policies, in their order.
    pub(crate) fn new(limits: &[Limits], tenant_from: usize) -> Self {
        let policies = limits.iter().map(|limits| Account::of_policy(*limits)).collect();
        Self {
            limits: limits.to_vec(),
            policies,
            operator: Book::of_part(1),
            tenant: Book::of_part(TENANT_PART),
            tenant_from,
        }
    }

    pub(crate) fn limits(&self, policy: usize) -> Limits {
        self.limits.get(policy).copied().unwrap_or_default()
    }

    /// What a rule of `policy` gets that may cost so much on one node.
    pub(crate) fn draw(&mut self, policy: usize, units: u64) -> Allowance {
        let per_node = per_node(self.limits(policy));
        let book = if policy < self.tenant_from { &mut self.operator } else { &mut self.tenant };
        let of_book = book.account.with(units);
        book.account = of_book;
        let of_policy = self.policies.get_mut(policy).map(|account| {
            *account = account.with(units);
            *account
        });
        let tighter = of_policy.filter(|account| account.nodes_max() <= of_book.nodes_max());
        let Account { per_cycle, drawn, .. } = tighter.unwrap_or(of_book);
        let nodes_max = tighter.unwrap_or(of_book).nodes_max();
        let demand = units.max(DEMAND_MIN);
        book.asked.push(demand);
        let demands = book.demands.clone();
        Allowance { per_node, demand, demands, nodes_max, together: drawn, per_cycle }
    }

    /// All rules of the profile are read: what they may spend is theirs to share.
    pub(crate) fn settle(self) {
        self.operator.settle();
        self.tenant.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::{COST_PER_CYCLE_MAX, COST_PER_NODE_MAX, Ledger, Limits};

    fn per_cycle(units: u64) -> Limits {
        Limits { per_node: None, per_cycle: Some(units) }
    }

    #[test]
    fn rules_draw_in_order_on_the_budget_of_their_policy() {
        let mut ledger = Ledger::new(&[per_cycle(1_000), Limits::default()], usize::MAX);
        let drawn = [(0, 10), (0, 40), (1, 400), (0, 50)];
        let nodes_max = drawn.map(|(policy, units)| ledger.draw(policy, units).nodes_max);
        assert_eq!(nodes_max, [100, 20, u64::MAX, 10], "400 units are always allowed on a node");
    }

    #[test]
    fn a_policy_that_says_nothing_may_do_what_one_rule_may_on_each_of_any_number_of_nodes() {
        let mut ledger = Ledger::new(&[Limits::default()], usize::MAX);
        let rules = [COST_PER_NODE_MAX, 1, 39_999];
        let nodes_max = rules.map(|units| ledger.draw(0, units).nodes_max);
        assert_eq!(nodes_max, [u64::MAX, 4_999, 1_000]);
    }

    #[test]
    fn what_rules_really_spend_is_shared_by_what_they_ask_for() {
        let mut ledger = Ledger::new(&[Limits::default()], usize::MAX);
        let rules = [30, 451, 9_000].map(|units| ledger.draw(0, units));
        ledger.settle();
        let spent = |nodes| rules.each_ref().map(|rule| rule.per_node_of(nodes));
        assert_eq!(spent(100), [30, 464, 9_269], "there is enough for all");
        assert_eq!(spent(5_000), [30, 110, 110]);
        assert_eq!(spent(5_000), spent(8_000), "nodes count in powers of two");
        assert_eq!(spent(1_000_000), spent(5_000));
        assert!(spent(5_000).iter().sum::<u64>() <= 250);
    }

    #[test]
    fn many_policies_share_the_budget_of_their_profile() {
        let mut ledger = Ledger::new(&[Limits::default(); 100], usize::MAX);
        let last = (0..100).map(|policy| ledger.draw(policy, COST_PER_NODE_MAX)).last();
        let nodes_max = last.as_ref().map(|rule| rule.nodes_max);
        assert_eq!(nodes_max, Some(COST_PER_CYCLE_MAX / 1_000_000));
        let fault = last.map(|rule| rule.fault(501));
        let expected = "this rule and those before it may cost 1000000 units a node, on 501 nodes more \
                    than the 500000000 of a cycle";
        assert_eq!(
            fault.as_ref().map(|fault| (fault.code, &*fault.message)),
            Some(("KR110", expected))
        );
    }

    #[test]
    fn a_costly_tenant_takes_nothing_from_the_rules_of_the_operator() {
        let operators = |tenants: usize| {
            let mut ledger = Ledger::new(&[Limits::default(); 2], 1);
            let rules = [30, 200].map(|units| ledger.draw(0, units));
            let of_tenant: Vec<_> =
                (0..tenants).map(|_| ledger.draw(1, COST_PER_NODE_MAX)).collect();
            ledger.settle();
            let spent = rules.each_ref().map(|rule| (rule.per_node_of(5_000), rule.nodes_max));
            let theirs: u64 = of_tenant.iter().map(|rule| rule.per_node_of(5_000)).sum();
            (spent, theirs, of_tenant.last().map(|rule| rule.nodes_max))
        };
        let alone = operators(0);
        let beside = operators(64);
        assert_eq!(alone.0, beside.0);
        assert_eq!(alone.0.map(|(units, _)| units), [32, 217]);
        assert!(beside.1 <= 125, "{}", beside.1);
        assert_eq!(beside.2, Some(50_000_000 / 640_000), "the policy's own budget is tighter");
    }

    #[test]
    fn a_policy_may_lower_what_a_node_may_cost_and_not_raise_it() {
        let limits = |per_node| Limits { per_node, per_cycle: None };
        let mut ledger =
            Ledger::new(&[limits(Some(7)), limits(Some(1 << 40)), limits(None)], usize::MAX);
        let per_node = [0, 1, 2, 9].map(|policy| ledger.draw(policy, 1).per_node());
        assert_eq!(per_node, [7, COST_PER_NODE_MAX, COST_PER_NODE_MAX, COST_PER_NODE_MAX]);
    }
}
