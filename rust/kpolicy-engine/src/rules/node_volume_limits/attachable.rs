//! What a pod's volumes attach: CSI driver and handle of each.
//!
//! Follows a volume through claim, persistent volume or storage class to its driver. Specification:
//! a claim without a volume counts for the provisioner of its class; what is no CSI volume and did
//! not become one is not counted.

use std::borrow::Cow;

use crate::heap::HeapBytes;
use crate::model::{CsiNode, Kind, PersistentVolumeClaim, Volume, VolumeSource};
use crate::release::Portworx;
use crate::rules::Status;
use crate::rules::volume_claims::{self as claims, NamedClaim};
use crate::rules::volume_migration::{self as migration, Plugin};
use crate::snapshot::{Cluster, Pod};

/// A volume as its driver counts it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Attachable<'a> {
    pub(crate) driver: Cow<'a, str>,
    pub(crate) handle: Handle<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Handle<'a> {
    Volume(Cow<'a, str>),
    /// Of a claim that has no volume yet: namespace and name.
    Claim(Cow<'a, str>, Cow<'a, str>),
}

impl Attachable<'_> {
    pub(super) fn into_owned(self) -> Attachable<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let handle = match self.handle {
            Handle::Volume(handle) => Handle::Volume(own(handle)),
            Handle::Claim(namespace, name) => Handle::Claim(own(namespace), own(name)),
        };
        Attachable { driver: own(self.driver), handle }
    }
}

/// Whose volumes are looked up. kube-scheduler requires the claims of a new pod to exist, but not
/// those of a pod that is already on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    New,
    Existing,
}

/// Which in-tree volumes count for CSI drivers on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Migrated {
    /// The node has no `CSINode`.
    None,
    AllButPortworx,
    All,
}

impl Migrated {
    pub(super) const EACH: [Self; 3] = [Self::None, Self::AllButPortworx, Self::All];

    pub(super) fn on(csi_node: Option<&CsiNode>, portworx: Portworx) -> Self {
        match portworx {
            _ if csi_node.is_none() => Self::None,
            Portworx::OfMigratedNodes
                if !migration::is_migrated_on(migration::PORTWORX.name, csi_node) =>
            {
                Self::AllButPortworx
            }
            Portworx::OfMigratedNodes | Portworx::OfAllNodes => Self::All,
        }
    }

    fn has(self, plugin: &Plugin) -> bool {
        plugin.is_migrated
            && match self {
                Self::None => false,
                Self::AllButPortworx => *plugin != migration::PORTWORX,
                Self::All => true,
            }
    }
}

/// Whether a volume may count at all.
pub(super) fn may_count(volume: &Volume) -> bool {
    match &volume.source {
        VolumeSource::Claim { .. } | VolumeSource::Ephemeral => true,
        source => migration::plugin_of(source).is_some(),
    }
}

/// What the pod's volumes attach, sorted, each once.
pub(super) fn of_pod<'a>(
    pod: &'a Pod,
    cluster: &'a Cluster,
    migrated: Migrated,
    whose: Whose,
) -> Result<Vec<Attachable<'a>>, Status> {
    let mut found = Vec::new();
    for volume in pod.template.volumes.iter() {
        match NamedClaim::of(pod, volume) {
            Some(named) => found.extend(of_named(&named, pod, cluster, migrated, whose)?),
            None => found.extend(of_inline(volume, migrated)?),
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn of_inline(volume: &Volume, migrated: Migrated) -> Result<Option<Attachable<'static>>, Status> {
    let Some(plugin) = migration::plugin_of(&volume.source) else { return Ok(None) };
    if !migrated.has(plugin) {
        return Ok(None);
    }
    match migration::inline_handle(&volume.source) {
        Ok(handle) => {
            let handle = Handle::Volume(handle.into());
            Ok(Some(Attachable { driver: plugin.driver.into(), handle }))
        }
        Err(why) => {
            let name = &volume.name;
            Err(Status::error(format!("converting volume({name}) from inline to csi: {why}")))
        }
    }
}

fn of_named<'a>(
    named: &NamedClaim<'_>,
    pod: &'a Pod,
    cluster: &'a Cluster,
    migrated: Migrated,
    whose: Whose,
) -> Result<Option<Attachable<'a>>, Status> {
    let (namespace, name) = (pod.namespace(), &named.name);
    if name.is_empty() {
        return Err(Status::error(claims::NO_NAME));
    }
    let Some(claim) = named.find(pod, cluster) else {
        return match whose {
            Whose::Existing => Ok(None),
            Whose::New => {
                let missing = claims::not_found(Kind::PersistentVolumeClaim, name);
                let reason = format!("looking up PVC {}/{name}: {missing}", &**namespace);
                Err(Status::unresolvable(reason))
            }
        };
    };
    if named.is_ephemeral && !claims::is_owned(claim, pod) {
        return Err(Status::error(claims::not_owner(claim, pod)));
    }
    Ok(of_claim(claim, cluster, migrated))
}

fn of_claim<'a>(
    claim: &'a PersistentVolumeClaim,
    cluster: &'a Cluster,
    migrated: Migrated,
) -> Option<Attachable<'a>> {
    let volumes = &cluster.objects().volumes;
    let named = Some(&claim.volume_name).filter(|name| !name.is_empty());
    let Some(volume) = named.and_then(|name| volumes.get("", name)) else {
        return of_class(claim, cluster, migrated);
    };
    let (driver, handle): (Cow<'a, str>, Cow<'a, str>) = match (&volume.csi, &volume.in_tree) {
        (Some((driver, handle)), _) => (driver.as_ref().into(), handle.as_ref().into()),
        (None, Some(source)) => {
            let plugin = migration::plugin_of(source);
            let plugin = plugin.filter(|plugin| migrated.has(plugin))?;
            (plugin.driver.into(), migration::handle(volume, source).ok()?.into())
        }
        (None, None) => return None,
    };
    let is_known = !driver.is_empty() && !handle.is_empty();
    is_known.then_some(Attachable { driver, handle: Handle::Volume(handle) })
}

fn of_class<'a>(
    claim: &'a PersistentVolumeClaim,
    cluster: &'a Cluster,
    migrated: Migrated,
) -> Option<Attachable<'a>> {
    let class = Some(claims::class_of(claim)).filter(|name| !name.is_empty())?;
    let provisioner = &cluster.objects().classes.get("", class)?.provisioner;
    let driver = match migration::plugin_named(provisioner) {
        Some(plugin) => Some(plugin.driver).filter(|_| migrated.has(plugin))?,
        None => provisioner,
    };
    let meta = &claim.meta;
    let handle = Handle::Claim(meta.namespace.as_ref().into(), meta.name.as_ref().into());
    (!driver.is_empty()).then_some(Attachable { driver: driver.into(), handle })
}

impl HeapBytes for Attachable<'_> {
    fn heap_bytes(&self) -> usize {
        self.driver.heap_bytes() + self.handle.heap_bytes()
    }
}

impl HeapBytes for Handle<'_> {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Volume(handle) => handle.heap_bytes(),
            Self::Claim(namespace, name) => namespace.heap_bytes() + name.heap_bytes(),
        }
    }
}
