//! Storage objects. The legacy class annotation counts before the field; the API's default is
//! `volumeMode: Filesystem`.

use kpolicy_engine::model::{
    CsiDriver, CsiNode, CsiStorageCapacity, Kind, Meta, PersistentVolume, PersistentVolumeClaim,
    StorageClass, VolumeAttachment, VolumeSource,
};

use super::affinity::NodeSelectorWire;
use super::map::AmountMap;
use super::meta::MetaWire;
use super::scalar::{Amount, Text};
use super::selector::SelectorWire;
use super::sequence::List;
use super::volume::{AzureDiskWire, AzureFileWire, GceWire, VolumeIdWire, VsphereWire};
use super::wire;

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const VOLUME_MODE_DEFAULT: &str = "Filesystem";

type Pair = (Box<str>, Box<str>);

wire! {
    pub(crate) struct VolumeWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: VolumeSpecWire<'a>,
        "status" => status: PhaseWire<'a>,
    }
}

wire! {
    pub(crate) struct VolumeSpecWire<'a> {
        "capacity" => capacity: AmountMap,
        "storageClassName" => class: Text<'a>,
        "volumeMode" => mode: Text<'a>,
        "accessModes" => access_modes: List<Text<'a>>,
        "volumeAttributesClassName" => attributes_class: Text<'a>,
        "claimRef" => claim: Option<ReferenceWire<'a>>,
        "nodeAffinity" => node_affinity: VolumeAffinityWire<'a>,
        "csi" => csi: Option<CsiWire<'a>>,
        "gcePersistentDisk" => gce: Option<GceWire<'a>>,
        "awsElasticBlockStore" => aws: Option<VolumeIdWire<'a>>,
        "azureDisk" => azure_disk: Option<AzureDiskWire<'a>>,
        "azureFile" => azure_file: Option<AzureFileWire<'a>>,
        "cinder" => cinder: Option<VolumeIdWire<'a>>,
        "vsphereVolume" => vsphere: Option<VsphereWire<'a>>,
        "portworxVolume" => portworx: Option<VolumeIdWire<'a>>,
    }
}

wire! {
    pub(crate) struct PhaseWire<'a> {
        "phase" => phase: Text<'a>,
    }
}

wire! {
    pub(crate) struct ReferenceWire<'a> {
        "namespace" => namespace: Text<'a>,
        "name" => name: Text<'a>,
        "uid" => uid: Text<'a>,
    }
}

wire! {
    pub(crate) struct VolumeAffinityWire<'a> {
        "required" => required: Option<NodeSelectorWire<'a>>,
    }
}

wire! {
    pub(crate) struct CsiWire<'a> {
        "driver" => driver: Text<'a>,
        "volumeHandle" => handle: Text<'a>,
    }
}

wire! {
    pub(crate) struct ClaimWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: ClaimSpecWire<'a>,
        "status" => status: PhaseWire<'a>,
    }
}

wire! {
    pub(crate) struct ClaimSpecWire<'a> {
        "volumeName" => volume_name: Text<'a>,
        "storageClassName" => class: Option<Text<'a>>,
        "volumeMode" => mode: Text<'a>,
        "accessModes" => access_modes: List<Text<'a>>,
        "resources" => resources: ClaimResourcesWire,
        "selector" => selector: Option<SelectorWire<'a>>,
        "volumeAttributesClassName" => attributes_class: Option<Text<'a>>,
    }
}

wire! {
    pub(crate) struct ClaimResourcesWire {
        "requests" => requests: AmountMap,
    }
}

wire! {
    pub(crate) struct ClassWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "provisioner" => provisioner: Text<'a>,
        "volumeBindingMode" => binding_mode: Text<'a>,
        "allowedTopologies" => topologies: List<TopologyWire<'a>>,
    }
}

wire! {
    pub(crate) struct TopologyWire<'a> {
        "matchLabelExpressions" => expressions: List<TopologyKeyWire<'a>>,
    }
}

wire! {
    pub(crate) struct TopologyKeyWire<'a> {
        "key" => key: Text<'a>,
        "values" => values: List<Text<'a>>,
    }
}

wire! {
    pub(crate) struct CsiNodeWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: CsiNodeSpecWire<'a>,
    }
}

wire! {
    pub(crate) struct CsiNodeSpecWire<'a> {
        "drivers" => drivers: List<CsiNodeDriverWire<'a>>,
    }
}

wire! {
    pub(crate) struct CsiNodeDriverWire<'a> {
        "name" => name: Text<'a>,
        "allocatable" => allocatable: CountWire,
    }
}

wire! {
    pub(crate) struct CountWire {
        "count" => count: Option<i32>,
    }
}

wire! {
    pub(crate) struct CsiDriverWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: CsiDriverSpecWire,
    }
}

wire! {
    pub(crate) struct CsiDriverSpecWire {
        "storageCapacity" => storage_capacity: bool,
    }
}

wire! {
    pub(crate) struct CapacityWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "storageClassName" => class: Text<'a>,
        "nodeTopology" => topology: Option<SelectorWire<'a>>,
        "capacity" => capacity: Option<Amount>,
        "maximumVolumeSize" => maximum_volume_size: Option<Amount>,
    }
}

wire! {
    pub(crate) struct AttachmentWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: AttachmentSpecWire<'a>,
    }
}

wire! {
    pub(crate) struct AttachmentSpecWire<'a> {
        "attacher" => attacher: Text<'a>,
        "nodeName" => node_name: Text<'a>,
        "source" => source: AttachmentSourceWire<'a>,
    }
}

wire! {
    pub(crate) struct AttachmentSourceWire<'a> {
        "persistentVolumeName" => volume_name: Option<Text<'a>>,
        "inlineVolumeSpec" => inline: InlineWire<'a>,
    }
}

wire! {
    pub(crate) struct InlineWire<'a> {
        "csi" => csi: Option<CsiWire<'a>>,
    }
}

impl VolumeWire<'_> {
    pub(crate) fn into_model(self) -> PersistentVolume {
        let (meta, _) = self.meta.into_meta(Kind::PersistentVolume);
        let mut spec = self.spec;
        let in_tree = spec.take_in_tree();
        PersistentVolume {
            capacity: spec.capacity.0.get("storage").copied().unwrap_or_default(),
            storage_class: annotated_class(&meta).unwrap_or_else(|| spec.class.boxed()),
            volume_mode: spec.mode.boxed_or(VOLUME_MODE_DEFAULT),
            access_modes: spec.access_modes.texts_sorted_unique(),
            attributes_class: spec.attributes_class.boxed(),
            phase: self.status.phase.boxed(),
            claim: spec
                .claim
                .map(|claim| (claim.namespace.boxed(), claim.name.boxed(), claim.uid.boxed())),
            node_affinity: spec.node_affinity.required.map(NodeSelectorWire::into_model),
            csi: spec.csi.map(CsiWire::into_pair),
            in_tree,
            meta,
        }
    }
}

/// Clause: `GetPersistentVolumeClass` and `GetPersistentVolumeClaimClass`.
fn annotated_class(meta: &Meta) -> Option<Box<str>> {
    meta.annotations.get(CLASS_ANNOTATION).map(Into::into)
}

impl CsiWire<'_> {
    fn into_pair(self) -> Pair {
        (self.driver.boxed(), self.handle.boxed())
    }
}

impl VolumeSpecWire<'_> {
    fn take_in_tree(&mut self) -> Option<VolumeSource> {
        if let Some(disk) = self.gce.take() {
            Some(disk.into_source())
        } else if let Some(disk) = self.azure_disk.take() {
            Some(disk.into_source())
        } else if let Some(disk) = self.aws.take() {
            Some(VolumeSource::AwsElasticBlockStore { volume: disk.volume.boxed() })
        } else if let Some(file) = self.azure_file.take() {
            Some(VolumeSource::AzureFile { share: file.share.boxed() })
        } else if let Some(volume) = self.cinder.take() {
            Some(VolumeSource::Cinder { volume: volume.volume.boxed() })
        } else if let Some(volume) = self.vsphere.take() {
            Some(VolumeSource::VsphereVolume { path: volume.path.boxed() })
        } else {
            let volume = self.portworx.take()?.volume.boxed();
            Some(VolumeSource::Portworx { volume })
        }
    }
}

impl ClaimWire<'_> {
    pub(crate) fn into_model(self) -> PersistentVolumeClaim {
        let (meta, owner) = self.meta.into_meta(Kind::PersistentVolumeClaim);
        let spec = self.spec;
        PersistentVolumeClaim {
            volume_name: spec.volume_name.boxed(),
            storage_class: annotated_class(&meta).or_else(|| spec.class.map(Text::boxed)),
            volume_mode: spec.mode.boxed_or(VOLUME_MODE_DEFAULT),
            access_modes: spec.access_modes.texts_sorted_unique(),
            requested: spec.resources.requests.0.get("storage").copied().unwrap_or_default(),
            selector: spec.selector.map(SelectorWire::into_model),
            attributes_class: spec.attributes_class.map(Text::boxed),
            phase: self.status.phase.boxed(),
            owner_uid: owner.map(|owner| owner.uid).unwrap_or_default(),
            meta,
        }
    }
}

impl ClassWire<'_> {
    pub(crate) fn into_model(self) -> StorageClass {
        let term = |term: TopologyWire<'_>| {
            term.expressions.boxed(|each| (each.key.boxed(), each.values.texts_sorted_unique()))
        };
        let mode = self.binding_mode;
        StorageClass {
            meta: self.meta.into_meta(Kind::StorageClass).0,
            provisioner: self.provisioner.boxed(),
            waits_for_first_consumer: (!mode.is_empty()).then(|| &*mode == "WaitForFirstConsumer"),
            allowed_topologies: self.topologies.boxed(term),
        }
    }
}

impl CsiNodeWire<'_> {
    pub(crate) fn into_model(self) -> CsiNode {
        CsiNode {
            meta: self.meta.into_meta(Kind::CsiNode).0,
            drivers: self
                .spec
                .drivers
                .boxed(|driver| (driver.name.boxed(), driver.allocatable.count)),
        }
    }
}

impl CsiDriverWire<'_> {
    pub(crate) fn into_model(self) -> CsiDriver {
        CsiDriver {
            meta: self.meta.into_meta(Kind::CsiDriver).0,
            storage_capacity: self.spec.storage_capacity,
        }
    }
}

impl CapacityWire<'_> {
    pub(crate) fn into_model(self) -> CsiStorageCapacity {
        CsiStorageCapacity {
            meta: self.meta.into_meta(Kind::CsiStorageCapacity).0,
            storage_class: self.class.boxed(),
            node_topology: self.topology.map(SelectorWire::into_model),
            capacity: self.capacity.map(|amount| amount.0),
            maximum_volume_size: self.maximum_volume_size.map(|amount| amount.0),
        }
    }
}

impl AttachmentWire<'_> {
    pub(crate) fn into_model(self) -> VolumeAttachment {
        let spec = self.spec;
        VolumeAttachment {
            meta: self.meta.into_meta(Kind::VolumeAttachment).0,
            attacher: spec.attacher.boxed(),
            node_name: spec.node_name.boxed(),
            volume_name: spec.source.volume_name.map(Text::boxed),
            inline: spec.source.inline.csi.map(CsiWire::into_pair),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::object::tests::decoded;
    use kpolicy_engine::model::{Kind, Object, Quantity, VolumeSource};

    macro_rules! read {
        ($kind:ident, $json:expr) => {
            match decoded(Kind::$kind, $json) {
                Object::$kind(object) => *object,
                other => panic!("{other:?}"),
            }
        };
    }

    #[test]
    fn volumes_are_read() {
        let volume = read!(
            PersistentVolume,
            r#"{"metadata":{"name":"v","labels":{"topology.kubernetes.io/zone":"a__b"}},
                "spec":{"capacity":{"storage":"5Gi"},"storageClassName":"fast",
                  "accessModes":["ReadWriteOnce","ReadOnlyMany"],
                  "claimRef":{"namespace":"n","name":"c","uid":"u"},
                  "csi":{"driver":"d","volumeHandle":"h"},"volumeAttributesClassName":"gold",
                  "nodeAffinity":{"required":{"nodeSelectorTerms":[
                    {"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}]}}},
                "status":{"phase":"Bound"}}"#
        );
        assert_eq!(volume.capacity, Quantity::from_units(5 << 30));
        assert_eq!((&*volume.storage_class, &*volume.volume_mode), ("fast", "Filesystem"));
        assert_eq!(volume.claim, Some(("n".into(), "c".into(), "u".into())));
        assert_eq!(volume.csi, Some(("d".into(), "h".into())));
        assert_eq!((&*volume.phase, &*volume.attributes_class), ("Bound", "gold"));
        assert_eq!(*volume.access_modes, ["ReadOnlyMany".into(), "ReadWriteOnce".into()]);
        assert_eq!(volume.node_affinity.map(|required| required.terms.len()), Some(1));
        assert_eq!(volume.meta.labels.get("topology.kubernetes.io/zone"), Some("a__b"));
    }

    #[test]
    fn in_tree_volumes_are_read_as_a_pod_would_have_them() {
        let id = || Box::<str>::from("x");
        let cases = [
            (
                r#""gcePersistentDisk":{"pdName":"x","readOnly":true}"#,
                VolumeSource::GcePersistentDisk { name: id(), read_only: true },
            ),
            (
                r#""awsElasticBlockStore":{"volumeID":"x"}"#,
                VolumeSource::AwsElasticBlockStore { volume: id() },
            ),
            (
                r#""azureDisk":{"diskName":"n","diskURI":"x"}"#,
                VolumeSource::AzureDisk { name: "n".into(), uri: id(), kind: "".into() },
            ),
            (r#""azureFile":{"shareName":"x"}"#, VolumeSource::AzureFile { share: id() }),
            (r#""cinder":{"volumeID":"x"}"#, VolumeSource::Cinder { volume: id() }),
            (r#""vsphereVolume":{"volumePath":"x"}"#, VolumeSource::VsphereVolume { path: id() }),
            (r#""portworxVolume":{"volumeID":"x"}"#, VolumeSource::Portworx { volume: id() }),
        ];
        for (field, want) in cases {
            let json = format!(r#"{{"metadata":{{"name":"v"}},"spec":{{{field}}}}}"#);
            let volume = read!(PersistentVolume, &json);
            assert_eq!(volume.in_tree, Some(want));
            assert_eq!(volume.csi, None);
        }
    }

    #[test]
    fn the_class_annotation_counts_before_the_field() {
        let annotated = r#"{"metadata":{"name":"x","annotations":
            {"volume.beta.kubernetes.io/storage-class":"old"}},"spec":{"storageClassName":"new"}}"#;
        assert_eq!(&*read!(PersistentVolume, annotated).storage_class, "old");
        assert_eq!(read!(PersistentVolumeClaim, annotated).storage_class.as_deref(), Some("old"));
        let without = r#"{"metadata":{"name":"x"},"spec":{}}"#;
        assert_eq!(read!(PersistentVolumeClaim, without).storage_class, None);
        let empty = r#"{"metadata":{"name":"x"},"spec":{"storageClassName":""}}"#;
        assert_eq!(read!(PersistentVolumeClaim, empty).storage_class.as_deref(), Some(""));
    }

    #[test]
    fn claims_are_read() {
        let claim = read!(
            PersistentVolumeClaim,
            r#"{"metadata":{"name":"c","namespace":"n",
                  "annotations":{"volume.kubernetes.io/selected-node":"n1"},
                  "ownerReferences":[{"kind":"Pod","name":"p","uid":"u","controller":true}]},
                "spec":{"volumeName":"v","volumeMode":"Block","accessModes":["ReadWriteOncePod"],
                  "resources":{"requests":{"storage":"1Gi"}},"selector":{"matchLabels":{"a":"b"}},
                  "volumeAttributesClassName":"gold"},
                "status":{"phase":"Bound"}}"#
        );
        assert_eq!((&*claim.volume_name, &*claim.volume_mode), ("v", "Block"));
        assert_eq!((&*claim.owner_uid, &*claim.phase), ("u", "Bound"));
        assert_eq!(claim.requested, Quantity::from_units(1 << 30));
        assert_eq!(claim.attributes_class.as_deref(), Some("gold"));
        assert_eq!(claim.selector.map(|selector| selector.requirements.len()), Some(1));
        assert_eq!(claim.meta.annotations.get("volume.kubernetes.io/selected-node"), Some("n1"));
    }

    #[test]
    fn classes_drivers_and_capacities_are_read() {
        let class = read!(
            StorageClass,
            r#"{"metadata":{"name":"s"},"provisioner":"p",
                "volumeBindingMode":"WaitForFirstConsumer",
                "allowedTopologies":[
                  {"matchLabelExpressions":[{"key":"zone","values":["b","a"]}]}]}"#
        );
        assert_eq!((&*class.provisioner, class.waits_for_first_consumer), ("p", Some(true)));
        assert_eq!(*class.allowed_topologies[0][0].1, ["a".into(), "b".into()]);
        let class = read!(StorageClass, r#"{"metadata":{"name":"s"}}"#);
        assert_eq!(class.waits_for_first_consumer, None);
        let node = read!(
            CsiNode,
            r#"{"metadata":{"name":"n"},"spec":{"drivers":[
                {"name":"d","allocatable":{"count":0}},{"name":"e"}]}}"#
        );
        assert_eq!(*node.drivers, [("d".into(), Some(0)), ("e".into(), None)]);
        let driver = r#"{"metadata":{"name":"d"},"spec":{"storageCapacity":true}}"#;
        assert!(read!(CsiDriver, driver).storage_capacity);
        let capacity = read!(
            CsiStorageCapacity,
            r#"{"metadata":{"name":"c","namespace":"n"},"storageClassName":"s","capacity":"1Gi",
                "nodeTopology":{"matchLabels":{"zone":"a"}}}"#
        );
        assert_eq!(capacity.capacity, Some(Quantity::from_units(1 << 30)));
        assert_eq!((&*capacity.storage_class, capacity.maximum_volume_size), ("s", None));
        assert!(capacity.node_topology.is_some());
    }

    #[test]
    fn attachments_name_a_volume_or_hold_one() {
        let attachment = read!(
            VolumeAttachment,
            r#"{"metadata":{"name":"a"},"spec":{"attacher":"d","nodeName":"n",
                "source":{"persistentVolumeName":"v"}}}"#
        );
        assert_eq!((&*attachment.attacher, &*attachment.node_name), ("d", "n"));
        assert_eq!((attachment.volume_name.as_deref(), attachment.inline), (Some("v"), None));
        let inline = read!(
            VolumeAttachment,
            r#"{"metadata":{"name":"a"},"spec":{"source":{"inlineVolumeSpec":
                {"csi":{"driver":"d","volumeHandle":"h"}}}}}"#
        );
        assert_eq!(inline.inline, Some(("d".into(), "h".into())));
    }
}
