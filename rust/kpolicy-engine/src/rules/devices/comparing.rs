//! The choice among the allocations that a node can give: goes on with the search after the release's
//! own solution, within bounds, and keeps what a judge puts first, the earlier one where two are as good.

use std::fmt::Debug;
use std::mem;

use rustc_hash::FxHashMap;

use crate::rules::Fault;
use crate::snapshot::device_groups::Looked;

use super::allocated::Allocated;
use super::attempt::{Attempt, Candidate, Chosen};
use super::constraints::Constraint;
use super::counters::Counters;
use super::marks::Marks;
use super::result;
use super::search::Stop;
use super::stock::Stock;
use super::work::{COMPARING, DEVICE, TooMuch, Work};

/// So many allocations of a node are compared.
const COMPARED_MAX: usize = 2_048;

/// Says what an allocation is worth.
pub(crate) trait Judge: Debug {
    /// What it looks at of devices, and what selectors and constraints do; `None`: also at their names,
    /// so that no two devices are alike.
    fn looked(&self) -> Option<&Looked>;

    /// Whether it looks at what is left of the devices.
    fn looks_at_stock(&self) -> bool;

    /// What the allocation is worth; it is charged for.
    fn worth(&self, allocated: &Allocated<'_, '_>, work: &mut Work) -> Result<Worth, TooMuch>;
}

/// What an allocation is worth.
#[derive(Debug, Clone, Default)]
pub(crate) struct Worth {
    /// What counts: the values of all rules, each times its weight.
    pub(crate) sum: f64,
    /// The value of each rule that holds for the pod, by its place, or why there is none.
    pub(crate) values: Vec<(usize, Result<f64, Fault>)>,
}

/// What came of comparing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compared {
    /// Of the best allocation.
    pub(crate) worth: Worth,
    /// How many were compared.
    pub(crate) allocations: usize,
    /// There are others, or there may be, but no more work for them.
    pub(crate) is_cut: bool,
}

/// What is known while allocations are compared.
#[derive(Debug)]
pub(super) struct Comparing<'a> {
    judge: &'a dyn Judge,
    stock: Option<Stock>,
    /// By place: devices of one kind are worth the same.
    kinds: Vec<u32>,
    best: Vec<Vec<Chosen>>,
    compared: Compared,
}

impl<'a> Attempt<'a> {
    /// Compares the solution that was found with others, and keeps the best.
    pub(super) fn compare(&mut self, judge: &'a dyn Judge) -> Compared {
        let Ok((stock, worth)) = self.begin_comparing(judge) else {
            return Compared { is_cut: true, ..Compared::default() };
        };
        let kinds = judge.looked().map_or_else(|| Ok(Vec::new()), |looked| self.kinds(looked));
        let compared = Compared { worth, allocations: 1, is_cut: true };
        let Ok(kinds) = kinds else { return compared };
        let best = mem::take(&mut self.chosen);
        self.begin_again();
        self.comparing = Some(Comparing { judge, stock, kinds, best, compared });
        let is_cut = self.search().is_err();
        let Some(comparing) = self.comparing.take() else { return Compared::default() };
        self.chosen = comparing.best;
        Compared { is_cut, ..comparing.compared }
    }

    /// What the solution that was found is worth.
    fn begin_comparing(&mut self, judge: &dyn Judge) -> Result<(Option<Stock>, Worth), TooMuch> {
        let stock = match judge.looks_at_stock() {
            true => {
                let units = Stock::units(self);
                self.work.charge(units)?;
                Some(Stock::of(self))
            }
            false => None,
        };
        let mut left = Work::of(self.work.left());
        let worth = self.worth(judge, stock.as_ref(), &mut left);
        self.work.charge(self.work.left() - left.left())?;
        Ok((stock, worth?))
    }

    fn worth(
        &self,
        judge: &dyn Judge,
        stock: Option<&Stock>,
        work: &mut Work,
    ) -> Result<Worth, TooMuch> {
        let devices: usize = self.chosen.iter().map(Vec::len).sum();
        work.charge(COMPARING + devices as u64 * DEVICE)?;
        let after = match stock {
            Some(stock) => Some((stock, stock.after(self, work)?)),
            None => None,
        };
        judge.worth(&Allocated::new(self, after), work)
    }

    /// As it was before the search; what is known of requests and selectors stays.
    fn begin_again(&mut self) {
        self.repairs = true;
        self.undoes_all = true;
        self.marks = Marks::new(self.candidates.len());
        self.counters = Counters::new(true);
        self.chosen = self.claims.iter().map(|_| Vec::new()).collect();
        let (claims, followed) = (self.claims, self.followed);
        let ready = |claim: &&'a crate::model::ResourceClaim| {
            let constraints = claim.constraints.iter();
            constraints.filter_map(|written| Constraint::of(written, followed, true)).collect()
        };
        self.constraints = claims.iter().map(ready).collect();
    }

    /// A solution is there; the search ends with it, or goes on to the next one.
    pub(super) fn found(&mut self) -> Result<bool, Stop> {
        let Some(mut comparing) = self.comparing.take() else { return Ok(true) };
        let outcome = self.compared(&mut comparing);
        self.comparing = Some(comparing);
        outcome.map(|()| false)
    }

    fn compared(&mut self, comparing: &mut Comparing<'a>) -> Result<(), Stop> {
        if comparing.compared.allocations == COMPARED_MAX {
            return Err(Stop::TooMuch);
        }
        let mut left = Work::of(self.work.left());
        let worth = self.worth(comparing.judge, comparing.stock.as_ref(), &mut left);
        self.work.charge(self.work.left() - left.left())?;
        let worth = worth?;
        comparing.compared.allocations += 1;
        if worth.sum > comparing.compared.worth.sum && result::can_be_written(self) {
            comparing.best.clone_from(&self.chosen);
            comparing.compared.worth = worth;
        }
        Ok(())
    }

    /// Whether a device of the same kind was tried in the same place; if not, this one is from now on.
    pub(super) fn is_like_one_of(&self, tried: &mut Vec<u32>, place: usize) -> bool {
        let kinds = self.comparing.as_ref().map(|comparing| &comparing.kinds);
        let Some(kind) = kinds.and_then(|kinds| kinds.get(place)) else { return false };
        let is_known = tried.contains(kind);
        if !is_known {
            tried.push(*kind);
        }
        is_known
    }

    /// Numbers the devices: those that differ in what nobody looks at only have one number.
    fn kinds(&mut self, looked: &Looked) -> Result<Vec<u32>, TooMuch> {
        let attributes = self.candidates.iter().map(|own| own.row.attributes_count() as u64 / 4);
        let units = attributes.sum::<u64>() + self.candidates.len() as u64 * DEVICE;
        self.work.charge(units)?;
        let mut numbers: FxHashMap<DeviceKind<'a>, u32> = FxHashMap::default();
        let mut next = 0;
        let mut number = |candidate: &Candidate<'a>| {
            let Some(kind) = self.kind(candidate, looked) else {
                next += 1;
                return next - 1;
            };
            *numbers.entry(kind).or_insert_with(|| {
                next += 1;
                next - 1
            })
        };
        Ok(self.candidates.iter().map(&mut number).collect())
    }

    /// `None`: it is like no other.
    fn kind(&self, candidate: &Candidate<'a>, looked: &Looked) -> Option<DeviceKind<'a>> {
        let (slice, row, flags) = (candidate.slice, candidate.row, candidate.row.flags());
        let has_rules =
            self.pools.get(candidate.pool).is_none_or(|pool| pool.taint_rules.len() > 0);
        let is_special = has_rules
            || slice.is_per_device
            || flags.binds_to_node()
            || flags.has_taints()
            || flags.has_binding_conditions()
            || candidate.is_held();
        let is_looked_at = |name: &str| looked.at_everything || looked.attributes.contains(name);
        let names = row.of().names()?.iter().enumerate();
        let looked_at = names.filter(|(_, name)| is_looked_at(name));
        (!is_special).then(|| DeviceKind {
            slice: &slice.meta.name,
            is_shared: flags.is_shared(),
            attributes: looked_at.map(|(place, _)| row.number(place)).collect(),
            numbers: row.numbers(),
        })
    }
}

/// All that is looked at of a device that nobody uses.
#[derive(Debug, PartialEq, Eq, Hash)]
struct DeviceKind<'a> {
    slice: &'a str,
    is_shared: bool,
    /// Numbers in the columns of the slice.
    attributes: Vec<u16>,
    /// Of what it offers, and of the counters that it takes.
    numbers: (u32, u32),
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::model::{
        Ask, Attribute, CounterSet, Device, DeviceClass, DeviceRequest, Meta, Mode, Object,
        Quantity, ResourceClaim, ResourceSlice, SlicePlace, Wanted, WrittenQuantity,
    };
    use crate::release::Followed;
    use crate::rules::devices::{
        Allocated, Compared, Detail, Judge, Outcome, TooMuch, Work, Worth, allocate, choose,
    };
    use crate::rules::pod_topology_spread::testing::cluster;
    use crate::snapshot::device_groups::Looked;
    use crate::snapshot::devices_in_use::InUseWithout;
    use crate::snapshot::{Cluster, NodeView};

    const SEEDS: u64 = 60;

    /// Devices of one group together, and much left; all are as good where `is_even`.
    #[derive(Debug)]
    struct Together {
        looked: Option<Looked>,
        is_even: bool,
    }

    impl Judge for Together {
        fn looked(&self) -> Option<&Looked> {
            self.looked.as_ref()
        }

        fn looks_at_stock(&self) -> bool {
            true
        }

        fn worth(&self, own: &Allocated<'_, '_>, work: &mut Work) -> Result<Worth, TooMuch> {
            work.charge(10)?;
            let [.., left] = own.counts();
            let groups = i32::try_from(own.distinct("group")).map_err(|_| TooMuch)?;
            let left = i32::try_from(left.whole * 100 + left.devices).map_err(|_| TooMuch)?;
            let sum = if self.is_even { 1.0 } else { f64::from(left - 7 * groups) };
            Ok(Worth { sum, values: Vec::new() })
        }
    }

    struct Draws(u64);

    impl Draws {
        fn below(&mut self, end: u64) -> u64 {
            let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
            self.0 = next.wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }
    }

    fn counters(set: u64, slices: std::ops::Range<u64>) -> CounterSet {
        let one = WrittenQuantity { amount: Quantity::from_units(1), ..Default::default() };
        let counters = slices.map(|slice| (format!("slice-{slice}").into(), one)).collect();
        CounterSet { name: format!("gpu-{set}").into(), counters }
    }

    fn world(draws: &mut Draws) -> Cluster {
        let mut cluster = cluster(&[("n", "")], &[]);
        let mut devices: Vec<Device> = Vec::new();
        let mut add = |name: String, group: u64, consumes: Vec<CounterSet>| {
            let group = Attribute::Int(i64::try_from(group).unwrap());
            devices.push(Device {
                name: name.into(),
                attributes: [("group".into(), group)].into(),
                consumes: consumes.into(),
                ..Device::default()
            });
        };
        for gpu in 0..2 {
            add(format!("gpu-{gpu}"), gpu, vec![counters(gpu, 0..2)]);
            add(format!("gpu-{gpu}-a"), gpu, vec![counters(gpu, 0..1)]);
            add(format!("gpu-{gpu}-b"), gpu, vec![counters(gpu, 1..2)]);
        }
        for plain in 0..3 + draws.below(3) {
            add(format!("plain-{plain}"), draws.below(2), Vec::new());
        }
        let slice = ResourceSlice {
            meta: Meta { name: "s".into(), ..Meta::default() },
            driver: "d".into(),
            pool: "p".into(),
            slice_count: 1,
            place: SlicePlace { node_name: Some("n".into()), ..SlicePlace::default() },
            devices: devices.into(),
            shared_counters: [counters(0, 0..2), counters(1, 0..2)].into(),
            ..ResourceSlice::default()
        };
        cluster.set_object(Object::ResourceSlice(slice.into()));
        let meta = Meta { name: "any".into(), ..Meta::default() };
        let class = DeviceClass { meta, ..DeviceClass::default() };
        cluster.set_object(Object::DeviceClass(class.into()));
        cluster
    }

    fn claim(counts: &[i64]) -> ResourceClaim {
        let request = |(index, count): (usize, &i64)| DeviceRequest {
            name: format!("r{index}").into(),
            wanted: Wanted::Exactly(Ask {
                name: format!("r{index}").into(),
                class: "any".into(),
                mode: Mode::Exact(*count),
                ..Ask::default()
            }),
        };
        let requests: Vec<DeviceRequest> = counts.iter().enumerate().map(request).collect();
        let meta = Meta { name: "c".into(), ..Meta::default() };
        ResourceClaim { meta, requests: Arc::from(requests), ..ResourceClaim::default() }
    }

    fn names(outcome: Outcome) -> Vec<String> {
        match outcome {
            Outcome::Found(found) => {
                let devices = found.iter().flat_map(|own| own.devices.iter());
                devices.map(|device| device.device.to_string()).collect()
            }
            other => vec![format!("{other:?}")],
        }
    }

    fn on(cluster: &Cluster) -> (NodeView<'_>, Followed) {
        let slot = cluster.nodes().find("n").unwrap();
        (cluster.nodes().view(slot).unwrap(), Followed::default())
    }

    fn chosen(
        cluster: &Cluster,
        claim: &ResourceClaim,
        judge: &Together,
        units: u64,
    ) -> (Vec<String>, Compared) {
        let (given, mut work) = ((cluster, &InUseWithout::default()), Work::of(units));
        let (outcome, compared) = choose(&[claim], given, on(cluster), &mut work, judge);
        (names(outcome), compared)
    }

    #[test]
    fn the_best_of_all_is_found_without_trying_what_is_alike() {
        let (mut all, mut tried) = (0, 0);
        for seed in 0..SEEDS {
            let mut draws = Draws(seed);
            let cluster = world(&mut draws);
            let claim = claim(&[1 + i64::try_from(draws.below(2)).unwrap(), 1]);
            let looked = Looked { attributes: ["group".into()].into(), ..Looked::default() };
            let every = Together { looked: None, is_even: false };
            let each_kind = Together { looked: Some(looked), is_even: false };
            let (_, by_all) = chosen(&cluster, &claim, &every, 10_000_000);
            let (_, by_kinds) = chosen(&cluster, &claim, &each_kind, 10_000_000);
            assert!(!by_all.is_cut && !by_kinds.is_cut, "seed {seed}");
            assert!((by_all.worth.sum - by_kinds.worth.sum).abs() < 0.5, "seed {seed}");
            all += by_all.allocations;
            tried += by_kinds.allocations;
        }
        assert!(tried * 2 < all, "{tried} of {all}");
    }

    #[test]
    fn the_release_decides_where_nothing_is_better_and_where_the_work_ends() {
        for seed in 0..SEEDS {
            let mut draws = Draws(seed);
            let cluster = world(&mut draws);
            let claim = claim(&[2]);
            let mut work = Work::of(100_000);
            let given = (&cluster, &InUseWithout::default());
            let first = names(allocate(&[&claim], given, on(&cluster), &mut work, Detail::Written));
            let spent = 100_000 - work.left();
            let even = Together { looked: None, is_even: true };
            let (given, compared) = chosen(&cluster, &claim, &even, 1_000_000);
            assert_eq!(given, first, "seed {seed}");
            assert!(compared.allocations > 2 && !compared.is_cut, "seed {seed}");
            let uneven = Together { looked: None, is_even: false };
            let (given, compared) = chosen(&cluster, &claim, &uneven, spent);
            assert_eq!((given, compared.is_cut), (first, true), "seed {seed}");
        }
    }
}
