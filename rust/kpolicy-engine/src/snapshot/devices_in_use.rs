//! An index of the devices that claims hold, and of the pods for whose extended resources claims were
//! made, kept in step with the objects. Claims that are promised an allocation count as if it were
//! written.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::model::{AllocatedDevice, Allocation, Object};

use super::objects::Replaced;

/// By driver and pool.
type ByPool = FxHashMap<Box<str>, FxHashMap<Box<str>, PoolUse>>;

/// By device.
pub(crate) type PoolUse = FxHashMap<Box<str>, DeviceUse>;

/// Who holds a device. Administrators hold nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DeviceUse {
    /// Allocations of the whole device.
    pub(crate) whole: u32,
    /// Shares of it.
    pub(crate) shares: u32,
    /// Shares that say what they take.
    pub(crate) consumers: u32,
    /// What they take, by capacity, in nanos.
    pub(crate) consumed: BTreeMap<Box<str>, i128>,
}

impl DeviceUse {
    /// Of a device that one allocation has whole.
    pub(super) const fn of_whole() -> Self {
        Self { whole: 1, shares: 0, consumers: 0, consumed: BTreeMap::new() }
    }
}

#[derive(Debug, Default)]
pub(crate) struct DevicesInUse {
    by_driver: ByPool,
    /// The claims that were made for the extended resources of a pod, by its uid: their names.
    made_for: FxHashMap<Box<str>, Vec<Box<str>>>,
    /// How many allocations have devices that are made ready before a pod is bound.
    with_conditions: u32,
}

impl DevicesInUse {
    pub(crate) fn pool(&self, driver: &str, pool: &str) -> Option<&PoolUse> {
        self.by_driver.get(driver)?.get(pool)
    }

    /// Whether a claim was made for the extended resources of the pod.
    pub(crate) fn has_made_for(&self, pod_uid: &str) -> bool {
        self.made_for.contains_key(pod_uid)
    }

    /// The names of the claims that were made for the extended resources of the pod.
    pub(crate) fn made_for(&self, pod_uid: &str) -> &[Box<str>] {
        self.made_for.get(pod_uid).map_or(&[], Vec::as_slice)
    }

    /// Whether any allocation has devices that are made ready before a pod is bound.
    pub(crate) fn has_conditions(&self) -> bool {
        self.with_conditions > 0
    }

    pub(super) fn follow(&mut self, replaced: &Replaced) {
        self.follow_made(replaced.old.as_ref(), false);
        self.follow_made(replaced.new.as_ref(), true);
        let allocation = |object: &Option<Object>| match object {
            Some(Object::ResourceClaim(claim)) => claim.allocation.clone(),
            _ => None,
        };
        let (old, new) = (allocation(&replaced.old), allocation(&replaced.new));
        if old == new {
            return;
        }
        if let Some(old) = old {
            self.count(&old, false);
        }
        if let Some(new) = new {
            self.count(&new, true);
        }
    }

    fn follow_made(&mut self, object: Option<&Object>, is_more: bool) {
        let Some(Object::ResourceClaim(claim)) = object else { return };
        let Some(owner) = claim.owner.as_ref().filter(|_| claim.is_for_extended_resources()) else {
            return;
        };
        let names = self.made_for.entry(owner.uid.clone()).or_default();
        let place = names.iter().position(|name| *name == claim.meta.name);
        match (is_more, place) {
            (true, _) => names.push(claim.meta.name.clone()),
            (false, Some(place)) => {
                names.swap_remove(place);
            }
            (false, None) => {}
        }
        if names.is_empty() {
            self.made_for.remove(&owner.uid);
        }
    }

    fn count(&mut self, allocation: &Allocation, is_more: bool) {
        if allocation.has_binding_conditions() {
            change(&mut self.with_conditions, is_more);
        }
        for device in allocation.devices.iter().filter(|device| !device.is_admin) {
            let pools = self.by_driver.entry(device.driver.clone()).or_default();
            let devices = pools.entry(device.pool.clone()).or_default();
            count(devices, device, is_more);
            if devices.is_empty() {
                pools.remove(&device.pool);
            }
        }
        self.by_driver.retain(|_, pools| !pools.is_empty());
    }
}

fn change(count: &mut u32, is_more: bool) {
    *count = if is_more { *count + 1 } else { count.saturating_sub(1) };
}

/// One allocation of a device more or less.
fn count(devices: &mut PoolUse, device: &AllocatedDevice, is_more: bool) {
    let held = devices.entry(device.device.clone()).or_default();
    if device.share_id.is_empty() {
        change(&mut held.whole, is_more);
    } else {
        change(&mut held.shares, is_more);
        if let Some(consumed) = &device.consumed {
            change(&mut held.consumers, is_more);
            for (name, amount) in consumed {
                let sign = if is_more { 1 } else { -1 };
                *held.consumed.entry(name.clone()).or_default() += sign * amount.amount.nanos();
            }
        }
    }
    if held.whole + held.shares == 0 {
        devices.remove(&device.device);
    }
}

/// Devices in use as they would be without some allocations.
#[derive(Debug, Clone, Default)]
pub(crate) struct InUseWithout {
    /// The pools of these.
    by_driver: ByPool,
}

impl InUseWithout {
    pub(crate) fn pool<'a>(
        &'a self,
        in_use: &'a DevicesInUse,
        driver: &str,
        pool: &str,
    ) -> Option<&'a PoolUse> {
        self.own(driver, pool).or_else(|| in_use.pool(driver, pool))
    }

    /// Whether some of these were devices of the pool.
    pub(crate) fn concerns(&self, driver: &str, pool: &str) -> bool {
        self.own(driver, pool).is_some()
    }

    fn own(&self, driver: &str, pool: &str) -> Option<&PoolUse> {
        self.by_driver.get(driver)?.get(pool)
    }

    /// One allocation less, or one of those again.
    pub(crate) fn count(&mut self, allocation: &Allocation, in_use: &DevicesInUse, is_more: bool) {
        for device in allocation.devices.iter().filter(|device| !device.is_admin) {
            let pools = self.by_driver.entry(device.driver.clone()).or_default();
            let devices = pools.entry(device.pool.clone()).or_insert_with(|| {
                in_use.pool(&device.driver, &device.pool).cloned().unwrap_or_default()
            });
            count(devices, device, is_more);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{AllocatedDevice, Allocation, Kind, Meta, Object, ResourceClaim};
    use crate::snapshot::Cluster;

    fn allocated(name: &str, device: &str) -> ResourceClaim {
        let device = AllocatedDevice {
            driver: "d".into(),
            pool: "p".into(),
            device: device.into(),
            ..AllocatedDevice::default()
        };
        let allocation = Allocation { devices: [device].into(), ..Allocation::default() };
        let meta = Meta { name: name.into(), uid: name.into(), ..Meta::default() };
        ResourceClaim { meta, allocation: Some(allocation.into()), ..ResourceClaim::default() }
    }

    #[test]
    fn a_promised_device_is_in_use_until_the_allocation_shows_or_is_given_up() {
        let mut cluster = Cluster::default();
        let is_used = |cluster: &Cluster| cluster.objects().devices_in_use.pool("d", "p").is_some();
        let promised = allocated("a", "x");
        let open = |version: &str| {
            let mut open = ResourceClaim { allocation: None, ..promised.clone() };
            open.meta.resource_version = version.into();
            Object::ResourceClaim(open.into())
        };
        let pod: std::sync::Arc<str> = "u".into();
        cluster.set_object(open("1"));
        cluster.promise(&pod, vec![Object::ResourceClaim(promised.clone().into())], &[]);
        assert!(is_used(&cluster));
        // The finalizer was written, the allocation not yet.
        cluster.set_object(open("2"));
        assert!(is_used(&cluster));
        cluster.break_promises(&pod);
        assert!(!is_used(&cluster));
        let claim = cluster.objects().resource_claims.get("", "a").map(|own| &own.meta);
        assert_eq!(claim.map(|meta| &*meta.resource_version), Some("2"));

        cluster.promise(&pod, vec![Object::ResourceClaim(promised.clone().into())], &[]);
        cluster.set_object(Object::ResourceClaim(allocated("a", "y").into()));
        assert_eq!(cluster.promises().len(), 0);
        cluster.break_promises(&pod);
        assert!(is_used(&cluster));
    }

    #[test]
    fn a_stand_in_goes_when_its_claim_comes_or_its_pod_gives_it_up() {
        let mut cluster = Cluster::default();
        let pod: std::sync::Arc<str> = "u".into();
        let stand_in = || {
            let claim = allocated(&ResourceClaim::stand_in_name("u"), "x");
            vec![Object::ResourceClaim(claim.into())]
        };
        let claims = |cluster: &Cluster| cluster.objects().resource_claims.len();
        cluster.promise(&pod, stand_in(), &[]);
        assert_eq!((claims(&cluster), cluster.object_keys(Kind::ResourceClaim).len()), (1, 0));
        cluster.break_promises(&pod);
        assert_eq!(claims(&cluster), 0);
        cluster.promise(&pod, stand_in(), &[]);
        let mut made = allocated("made", "x");
        let annotation = ("resource.kubernetes.io/extended-resource-claim", "true");
        made.meta.annotations = [annotation].into_iter().collect();
        let owner = crate::model::OwnerReference { uid: "u".into(), ..Default::default() };
        made.owner = Some(owner);
        cluster.set_object(Object::ResourceClaim(made.into()));
        assert_eq!((claims(&cluster), cluster.promises().len()), (1, 0));
    }

    #[test]
    fn a_device_is_in_use_as_long_as_a_claim_holds_it() {
        let mut cluster = Cluster::default();
        let mut claim = |name: &str, devices: &[&str]| {
            let device = |name: &&str| AllocatedDevice {
                driver: "d".into(),
                pool: "p".into(),
                device: (*name).into(),
                ..AllocatedDevice::default()
            };
            let allocation = Allocation {
                devices: devices.iter().map(device).collect(),
                ..Allocation::default()
            };
            let meta = Meta { name: name.into(), ..Meta::default() };
            let allocation = (!devices.is_empty()).then(|| allocation.into());
            let claim = ResourceClaim { meta, allocation, ..ResourceClaim::default() };
            cluster.set_object(Object::ResourceClaim(claim.into()));
        };
        claim("a", &["x", "y"]);
        claim("b", &["y"]);
        claim("a", &[]);
        let in_use = |cluster: &Cluster, device: &str| {
            let pool = cluster.objects().devices_in_use.pool("d", "p");
            pool.and_then(|pool| pool.get(device)).map(|held| held.whole)
        };
        assert_eq!((in_use(&cluster, "x"), in_use(&cluster, "y")), (None, Some(1)));
        cluster.remove_object(Kind::ResourceClaim, "", "b");
        assert!(cluster.objects().devices_in_use.pool("d", "p").is_none());
    }
}
