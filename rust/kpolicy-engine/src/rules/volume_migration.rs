//! In-tree volumes as the CSI drivers that replaced them see them: the driver of each plugin, the
//! handle of a volume there, and its node affinity.
//!
//! Specification: `csi-translation-lib`, with the migrations that are on in kube-scheduler since 1.34.

use crate::model::{
    CsiNode, Labels, NodeSelector, NodeSelectorTerm, PersistentVolume, Requirement,
    SelectorOperator, VolumeSource,
};

use super::volume_zone::{REGION, SET_DELIMITER, ZONE};

/// Plugins that gave way to CSI drivers on a node, separated by commas.
pub(crate) const MIGRATED_ANNOTATION: &str = "storage.alpha.kubernetes.io/migrated-plugins";

const UNSPECIFIED: &str = "UNSPECIFIED";
const AWS_SCHEME: &str = "aws://";
const MANAGED: &str = "Managed";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plugin {
    pub(crate) name: &'static str,
    pub(crate) driver: &'static str,
    /// The driver's own label for zones, where a volume's topology is rewritten to it.
    zone_key: Option<&'static str>,
    /// kube-scheduler leaves volumes of others as they are.
    pub(crate) is_migrated: bool,
}

macro_rules! plugin {
    ($name:literal, $driver:literal, $zone_key:expr, $is_migrated:literal) => {
        Plugin {
            name: concat!("kubernetes.io/", $name),
            driver: $driver,
            zone_key: $zone_key,
            is_migrated: $is_migrated,
        }
    };
}

static GCE: Plugin = plugin!("gce-pd", "pd.csi.storage.gke.io", Some("topology.gke.io/zone"), true);
static AWS: Plugin =
    plugin!("aws-ebs", "ebs.csi.aws.com", Some("topology.ebs.csi.aws.com/zone"), true);
static CINDER: Plugin = plugin!(
    "cinder",
    "cinder.csi.openstack.org",
    Some("topology.cinder.csi.openstack.org/zone"),
    true
);
static AZURE_DISK: Plugin = plugin!("azure-disk", "disk.csi.azure.com", None, true);
pub(crate) static PORTWORX: Plugin = plugin!("portworx-volume", "pxd.portworx.com", None, true);
static AZURE_FILE: Plugin = plugin!("azure-file", "file.csi.azure.com", None, false);
static VSPHERE: Plugin = plugin!("vsphere-volume", "csi.vsphere.vmware.com", None, false);

static ALL: [&Plugin; 7] = [&GCE, &AWS, &CINDER, &AZURE_DISK, &PORTWORX, &AZURE_FILE, &VSPHERE];

/// The in-tree plugin of a source, if it has a driver to go to.
pub(crate) fn plugin_of(source: &VolumeSource) -> Option<&'static Plugin> {
    match source {
        VolumeSource::GcePersistentDisk { .. } => Some(&GCE),
        VolumeSource::AwsElasticBlockStore { .. } => Some(&AWS),
        VolumeSource::Cinder { .. } => Some(&CINDER),
        VolumeSource::AzureDisk { .. } => Some(&AZURE_DISK),
        VolumeSource::AzureFile { .. } => Some(&AZURE_FILE),
        VolumeSource::VsphereVolume { .. } => Some(&VSPHERE),
        VolumeSource::Portworx { .. } => Some(&PORTWORX),
        _ => None,
    }
}

/// The in-tree plugin that a storage class provisions with.
pub(crate) fn plugin_named(provisioner: &str) -> Option<&'static Plugin> {
    ALL.into_iter().find(|plugin| plugin.name == provisioner)
}

/// Whether the node's kubelet has handed the plugin's volumes over.
pub(crate) fn is_migrated_on(plugin: &str, node: Option<&CsiNode>) -> bool {
    let named = node.and_then(|node| node.meta.annotations.get(MIGRATED_ANNOTATION));
    named.is_some_and(|named| named.split(',').any(|name| name == plugin))
}

/// What the driver calls a volume that stands in a pod; an error says what cannot be translated.
pub(crate) fn inline_handle(source: &VolumeSource) -> Result<String, String> {
    match source {
        VolumeSource::GcePersistentDisk { name, .. } => Ok(gce_zonal(UNSPECIFIED, name)),
        VolumeSource::AwsElasticBlockStore { volume } => aws_handle(volume)
            .map_err(|why| format!("failed to translate Kubernetes ID to EBS Volume ID {why}")),
        VolumeSource::AzureDisk { uri, kind, .. } => {
            if kind.is_empty() || kind.eq_ignore_ascii_case(MANAGED) {
                Ok(uri.to_string())
            } else {
                Err(format!("kind({kind}) is not supported in csi migration"))
            }
        }
        VolumeSource::Cinder { volume } | VolumeSource::Portworx { volume } => {
            Ok(volume.to_string())
        }
        VolumeSource::VsphereVolume { path } => Ok(path.to_string()),
        VolumeSource::AzureFile { share } => Ok(share.to_string()),
        _ => Err("could not find in-tree plugin translation logic".to_owned()),
    }
}

/// As [`inline_handle`], for the source of a persistent volume.
pub(crate) fn handle(volume: &PersistentVolume, source: &VolumeSource) -> Result<String, String> {
    let VolumeSource::GcePersistentDisk { name, .. } = source else { return inline_handle(source) };
    let label = |key: &str| volume.meta.labels.get(key).filter(|value| !value.is_empty());
    let zones = label(ZONE.0).or_else(|| label(ZONE.1)).unwrap_or(UNSPECIFIED);
    if zones.contains(SET_DELIMITER) {
        let region =
            gce_region(zones).map_err(|why| format!("failed to get region from zones: {why}"))?;
        Ok(format!("projects/{UNSPECIFIED}/regions/{region}/disks/{name}"))
    } else {
        Ok(gce_zonal(zones, name))
    }
}

fn gce_zonal(zone: &str, name: &str) -> String {
    format!("projects/{UNSPECIFIED}/zones/{zone}/disks/{name}")
}

/// The region of a disk's zones. Kubernetes requires zones of the form `locale-region-zone`, all in
/// one region.
fn gce_region(zones: &str) -> Result<String, String> {
    let mut regions: Vec<&str> = Vec::new();
    for zone in zones.split(SET_DELIMITER) {
        match zone.rsplit_once('-') {
            Some((region, _)) if zone.split('-').count() == 3 => regions.push(region),
            _ => {
                return Err(format!(
                    "zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
                ));
            }
        }
    }
    regions.sort_unstable();
    regions.dedup();
    match regions.as_slice() {
        [region] => Ok((*region).to_owned()),
        several => {
            // Go prints a set in this form.
            let shown: Vec<String> =
                several.iter().map(|region| format!("{region}:{{}}")).collect();
            let shown = shown.join(" ");
            Err(format!("multiple or no regions gotten from zones, got: map[{shown}]"))
        }
    }
}

/// The CSI handle of an AWS volume id. Kubernetes accepts `vol-…`, also behind `aws://<zone>/`.
fn aws_handle(id: &str) -> Result<String, String> {
    let Some(rest) = id.strip_prefix(AWS_SCHEME) else { return Ok(id.to_owned()) };
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let path = rest.get(..end).and_then(|rest| rest.split_once('/')).map_or("", |(_, path)| path);
    let volume = path.trim_matches('/');
    if volume.starts_with("vol-") && !volume.contains('/') {
        Ok(volume.to_owned())
    } else {
        Err(format!("Invalid format for AWS volume ({id})"))
    }
}

/// The node affinity that the volume has once its driver took it over.
pub(crate) fn migrated_affinity(
    volume: &PersistentVolume,
    plugin: &Plugin,
) -> Option<NodeSelector> {
    let affinity = volume.node_affinity.clone();
    let Some(zone_key) = plugin.zone_key else { return affinity };
    let (zone, region) = labels_in_use(affinity.as_ref(), &volume.meta.labels);
    let mut affinity = affinity;
    if has_values(affinity.as_ref(), zone) {
        rename(affinity.as_mut(), zone, zone_key);
    } else if let Some(zones) = volume.meta.labels.get(zone) {
        affinity = with_zones(affinity, zone_key, zones);
    }
    if region == REGION.0 && has_values(affinity.as_ref(), region) {
        rename(affinity.as_mut(), region, REGION.1);
    }
    affinity
}

/// Which topology labels a volume uses: GA or beta. Kubernetes looks for GA labels before beta
/// ones, and in the node affinity before the labels; without either it takes GA.
fn labels_in_use(affinity: Option<&NodeSelector>, labels: &Labels) -> (&'static str, &'static str) {
    let is_key = |key: &str| requirements(affinity).any(|requirement| *requirement.key == *key);
    let is_beta = !is_key(ZONE.1)
        && (is_key(ZONE.0) || (labels.get(ZONE.1).is_none() && labels.get(ZONE.0).is_some()));
    if is_beta { (ZONE.0, REGION.0) } else { (ZONE.1, REGION.1) }
}

fn requirements(affinity: Option<&NodeSelector>) -> impl Iterator<Item = &Requirement> {
    affinity
        .into_iter()
        .flat_map(|selector| &selector.terms)
        .flat_map(|term| &term.match_expressions)
}

fn has_values(affinity: Option<&NodeSelector>, key: &str) -> bool {
    requirements(affinity)
        .any(|requirement| *requirement.key == *key && !requirement.values.is_empty())
}

fn rename(affinity: Option<&mut NodeSelector>, from: &str, to: &str) {
    let terms = affinity.into_iter().flat_map(|selector| &mut selector.terms);
    for requirement in terms.flat_map(|term| &mut term.match_expressions) {
        if *requirement.key == *from {
            requirement.key = to.into();
        }
    }
}

/// Every term asks for one of the zones besides.
fn with_zones(affinity: Option<NodeSelector>, key: &str, zones: &str) -> Option<NodeSelector> {
    let zones = zones.split(SET_DELIMITER).map(str::trim).filter(|zone| !zone.is_empty());
    let mut values: Vec<Box<str>> = zones.map(Into::into).collect();
    values.sort_unstable();
    values.dedup();
    if values.is_empty() {
        return affinity;
    }
    let wanted =
        Requirement { key: key.into(), operator: SelectorOperator::In, values: values.into() };
    let mut terms = affinity.map(|selector| selector.terms.into_vec()).unwrap_or_default();
    if terms.is_empty() {
        terms.push(NodeSelectorTerm::default());
    }
    for term in &mut terms {
        let own = std::mem::take(&mut term.match_expressions).into_vec().into_iter();
        term.match_expressions = own.chain([wanted.clone()]).collect();
    }
    Some(NodeSelector { terms: terms.into() })
}

#[cfg(test)]
mod tests {
    use super::{AWS, PORTWORX, aws_handle, handle, inline_handle, migrated_affinity};
    use crate::model::{
        Labels, Meta, NodeSelector, NodeSelectorTerm, PersistentVolume, Requirement,
        SelectorOperator, VolumeSource,
    };

    const GA: &str = "topology.kubernetes.io/zone";
    const BETA: &str = "failure-domain.beta.kubernetes.io/zone";
    const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";

    fn volume(labels: &[(&str, &str)], affinity: &[(&str, &[&str])]) -> PersistentVolume {
        let labels: Labels = labels.iter().copied().collect();
        let requirement = |(key, values): &(&str, &[&str])| Requirement {
            key: (*key).into(),
            operator: SelectorOperator::In,
            values: values.iter().map(|value| (*value).into()).collect(),
        };
        let term = NodeSelectorTerm {
            match_expressions: affinity.iter().map(requirement).collect(),
            match_fields: Box::new([]),
        };
        let node_affinity =
            (!affinity.is_empty()).then(|| NodeSelector { terms: Box::new([term]) });
        PersistentVolume {
            meta: Meta { labels, ..Meta::default() },
            node_affinity,
            ..PersistentVolume::default()
        }
    }

    #[test]
    fn ids_of_ebs_volumes_lose_their_zone() {
        let read = |id: &str| aws_handle(id).ok();
        assert_eq!(read("vol-1").as_deref(), Some("vol-1"));
        assert_eq!(read("anything").as_deref(), Some("anything"));
        assert_eq!(read("aws://zone/vol-1").as_deref(), Some("vol-1"));
        assert_eq!(read("aws:///vol-1").as_deref(), Some("vol-1"));
        assert_eq!(read("aws://zone/a/vol-1"), None);
        assert_eq!(read("aws://vol-1"), None);
    }

    #[test]
    fn gce_disks_are_known_by_zone_or_region() {
        let source = VolumeSource::GcePersistentDisk { name: "d".into(), read_only: false };
        let of = |labels: &[(&str, &str)]| handle(&volume(labels, &[]), &source);
        let want = |text: &str| Ok(format!("projects/UNSPECIFIED/{text}/disks/d"));
        assert_eq!(of(&[]), want("zones/UNSPECIFIED"));
        assert_eq!(of(&[(GA, "us-x-a")]), want("zones/us-x-a"));
        assert_eq!(of(&[(BETA, "us-x-b"), (GA, "us-x-a")]), want("zones/us-x-b"));
        assert_eq!(of(&[(GA, "us-x-a__us-x-b")]), want("regions/us-x"));
        assert!(of(&[(GA, "us-x-a__us-y-b")]).is_err());
        assert!(of(&[(GA, "a__b")]).is_err());
    }

    #[test]
    fn only_managed_azure_disks_can_be_taken_over() {
        let of = |kind: &str| {
            let (name, uri) = ("n".into(), "u".into());
            inline_handle(&VolumeSource::AzureDisk { name, uri, kind: kind.into() })
        };
        assert_eq!(of(""), Ok("u".to_owned()));
        assert_eq!(of("managed"), Ok("u".to_owned()));
        assert_eq!(
            of("Dedicated"),
            Err("kind(Dedicated) is not supported in csi migration".to_owned())
        );
    }

    #[test]
    fn zones_of_the_affinity_count_before_those_of_labels() {
        let keys = |volume: &PersistentVolume| {
            let affinity = migrated_affinity(volume, &AWS)?;
            let term = affinity.terms.first()?.clone();
            let shown = |each: &Requirement| format!("{}={}", each.key, each.values.join("|"));
            Some(term.match_expressions.iter().map(shown).collect::<Vec<_>>().join(" "))
        };
        let table = [
            (volume(&[], &[]), None),
            (volume(&[(GA, "b__a")], &[]), Some("topology.ebs.csi.aws.com/zone=a|b")),
            (volume(&[(GA, "")], &[]), None),
            (
                volume(&[(GA, "b")], &[(GA, &["a"]), ("disk", &["x"])]),
                Some("topology.ebs.csi.aws.com/zone=a disk=x"),
            ),
            (
                volume(&[], &[(BETA, &["a"]), (BETA_REGION, &["r"])]),
                Some("topology.ebs.csi.aws.com/zone=a topology.kubernetes.io/region=r"),
            ),
            (
                volume(&[(BETA, "a")], &[("disk", &["x"])]),
                Some("disk=x topology.ebs.csi.aws.com/zone=a"),
            ),
        ];
        for (volume, want) in table {
            assert_eq!(keys(&volume).as_deref(), want, "{volume:?}");
        }
    }

    #[test]
    fn a_driver_without_a_zone_label_leaves_the_affinity_alone() {
        let volume = volume(&[(GA, "a")], &[(GA, &["a"])]);
        assert_eq!(migrated_affinity(&volume, &PORTWORX), volume.node_affinity);
    }
}
