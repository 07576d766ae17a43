//! Persistent volumes.

use kpolicy_engine::model::{Kind, PersistentVolume, VolumeSource};
use serde::de::{Deserialize, Deserializer};

use crate::wire::affinity::NodeSelectorWire;
use crate::wire::map::AmountMap;
use crate::wire::meta::MetaWire;
use crate::wire::scalar::Text;
use crate::wire::sequence::List;
use crate::wire::storage::{CsiWire, PhaseWire, VOLUME_MODE_DEFAULT, annotated_class};
use crate::wire::volume::{AzureDiskWire, AzureFileWire, GceWire, VolumeIdWire, VsphereWire};
use crate::wire::wire;

wire! {
    struct VolumeWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: VolumeSpecWire<'a>,
        "status" => status: PhaseWire<'a>,
    }
}

wire! {
    struct VolumeSpecWire<'a> {
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
    struct ReferenceWire<'a> {
        "namespace" => namespace: Text<'a>,
        "name" => name: Text<'a>,
        "uid" => uid: Text<'a>,
    }
}

wire! {
    struct VolumeAffinityWire<'a> {
        "required" => required: Option<NodeSelectorWire<'a>>,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<PersistentVolume, D::Error> {
    let VolumeWire { meta, mut spec, status } = VolumeWire::deserialize(json)?;
    let (meta, _) = meta.into_meta(Kind::PersistentVolume);
    let in_tree = spec.take_in_tree();
    Ok(PersistentVolume {
        capacity: spec.capacity.0.get("storage").copied().unwrap_or_default(),
        storage_class: annotated_class(&meta).unwrap_or_else(|| spec.class.boxed()),
        volume_mode: spec.mode.boxed_or(VOLUME_MODE_DEFAULT),
        access_modes: spec.access_modes.texts_sorted_unique(),
        attributes_class: spec.attributes_class.boxed(),
        phase: status.phase.boxed(),
        claim: spec
            .claim
            .map(|claim| (claim.namespace.boxed(), claim.name.boxed(), claim.uid.boxed())),
        node_affinity: spec.node_affinity.required.map(NodeSelectorWire::into_model),
        csi: spec.csi.map(CsiWire::into_pair),
        in_tree,
        meta,
    })
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

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;
    use kpolicy_engine::model::{Quantity, VolumeSource};

    #[test]
    fn volumes_are_read() {
        let volume = model_of!(
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
            let volume = model_of!(PersistentVolume, &json);
            assert_eq!(volume.in_tree, Some(want));
            assert_eq!(volume.csi, None);
        }
    }
}
