//! Volumes of a pod.

use kpolicy_engine::model::{Volume, VolumeSource};
use serde::de::IgnoredAny;

use super::scalar::Text;
use super::sequence::{Element, List};
use super::wire;

wire! {
    pub(crate) struct VolumeWire<'a> {
        "name" => name: Text<'a>,
        "persistentVolumeClaim" => claim: Option<ClaimWire<'a>>,
        "ephemeral" => ephemeral: Option<IgnoredAny>,
        "csi" => csi: Option<CsiWire<'a>>,
        "gcePersistentDisk" => gce: Option<GceWire<'a>>,
        "awsElasticBlockStore" => aws: Option<VolumeIdWire<'a>>,
        "rbd" => rbd: Option<RbdWire<'a>>,
        "iscsi" => iscsi: Option<IscsiWire<'a>>,
        "azureDisk" => azure_disk: Option<AzureDiskWire<'a>>,
        "azureFile" => azure_file: Option<AzureFileWire<'a>>,
        "cinder" => cinder: Option<VolumeIdWire<'a>>,
        "vsphereVolume" => vsphere: Option<VsphereWire<'a>>,
        "portworxVolume" => portworx: Option<VolumeIdWire<'a>>,
        "image" => image: Option<ImageWire<'a>>,
    }
}

wire! {
    pub(crate) struct ClaimWire<'a> {
        "claimName" => name: Text<'a>,
        "readOnly" => read_only: bool,
    }
}

wire! {
    pub(crate) struct CsiWire<'a> {
        "driver" => driver: Text<'a>,
    }
}

wire! {
    pub(crate) struct GceWire<'a> {
        "pdName" => name: Text<'a>,
        "readOnly" => read_only: bool,
    }
}

wire! {
    pub(crate) struct VolumeIdWire<'a> {
        "volumeID" => volume: Text<'a>,
    }
}

wire! {
    pub(crate) struct RbdWire<'a> {
        "monitors" => monitors: List<Text<'a>>,
        "pool" => pool: Text<'a>,
        "image" => image: Text<'a>,
        "readOnly" => read_only: bool,
    }
}

wire! {
    pub(crate) struct IscsiWire<'a> {
        "iqn" => iqn: Text<'a>,
        "readOnly" => read_only: bool,
    }
}

wire! {
    pub(crate) struct AzureDiskWire<'a> {
        "diskName" => name: Text<'a>,
        "diskURI" => uri: Text<'a>,
        "kind" => kind: Text<'a>,
    }
}

wire! {
    pub(crate) struct AzureFileWire<'a> {
        "shareName" => share: Text<'a>,
    }
}

wire! {
    pub(crate) struct VsphereWire<'a> {
        "volumePath" => path: Text<'a>,
    }
}

wire! {
    pub(crate) struct ImageWire<'a> {
        "reference" => reference: Text<'a>,
    }
}

impl GceWire<'_> {
    pub(crate) fn into_source(self) -> VolumeSource {
        VolumeSource::GcePersistentDisk { name: self.name.boxed(), read_only: self.read_only }
    }
}

impl AzureDiskWire<'_> {
    /// Whatever the API server defaults is left as it is: an absent kind counts as `Managed`.
    pub(crate) fn into_source(self) -> VolumeSource {
        let (name, uri, kind) = (self.name.boxed(), self.uri.boxed(), self.kind.boxed());
        VolumeSource::AzureDisk { name, uri, kind }
    }
}

/// The API's default of `rbd.pool`.
const RBD_POOL_DEFAULT: &str = "rbd";

impl<'de> Element<'de> for Volume {
    type Wire = VolumeWire<'de>;

    fn from_wire(mut wire: VolumeWire<'de>) -> Option<Self> {
        let name = std::mem::take(&mut wire.name).boxed();
        Some(Self { name, source: wire.into_source() })
    }
}

impl VolumeWire<'_> {
    fn into_source(self) -> VolumeSource {
        if let Some(claim) = self.claim {
            VolumeSource::Claim { name: claim.name.boxed(), read_only: claim.read_only }
        } else if self.ephemeral.is_some() {
            VolumeSource::Ephemeral
        } else if let Some(csi) = self.csi {
            VolumeSource::Csi { driver: csi.driver.boxed() }
        } else if let Some(disk) = self.gce {
            disk.into_source()
        } else if let Some(disk) = self.aws {
            VolumeSource::AwsElasticBlockStore { volume: disk.volume.boxed() }
        } else if let Some(rbd) = self.rbd {
            VolumeSource::Rbd {
                monitors: rbd.monitors.texts_sorted(),
                pool: rbd.pool.boxed_or(RBD_POOL_DEFAULT),
                image: rbd.image.boxed(),
                read_only: rbd.read_only,
            }
        } else if let Some(iscsi) = self.iscsi {
            VolumeSource::Iscsi { iqn: iscsi.iqn.boxed(), read_only: iscsi.read_only }
        } else if let Some(disk) = self.azure_disk {
            disk.into_source()
        } else if let Some(file) = self.azure_file {
            VolumeSource::AzureFile { share: file.share.boxed() }
        } else if let Some(volume) = self.cinder {
            VolumeSource::Cinder { volume: volume.volume.boxed() }
        } else if let Some(volume) = self.vsphere {
            VolumeSource::VsphereVolume { path: volume.path.boxed() }
        } else if let Some(volume) = self.portworx {
            VolumeSource::Portworx { volume: volume.volume.boxed() }
        } else if let Some(image) = self.image {
            VolumeSource::Image { reference: image.reference.boxed() }
        } else {
            VolumeSource::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::object::tests::pod;
    use kpolicy_engine::model::VolumeSource;

    fn source(field: &str) -> VolumeSource {
        let json = format!(
            r#"{{"metadata":{{"name":"p"}},"spec":{{"volumes":[{{"name":"v",{field}}}]}}}}"#
        );
        let volume = pod(&json).volumes[0].clone();
        assert_eq!(&*volume.name, "v");
        volume.source
    }

    #[test]
    fn sources_that_a_rule_reads_closely_are_read_whole() {
        assert_eq!(
            source(r#""persistentVolumeClaim":{"claimName":"c","readOnly":true}"#),
            VolumeSource::Claim { name: "c".into(), read_only: true }
        );
        assert_eq!(
            source(r#""gcePersistentDisk":{"pdName":"d","readOnly":true}"#),
            VolumeSource::GcePersistentDisk { name: "d".into(), read_only: true }
        );
        let monitors: Box<[Box<str>]> = Box::new(["a".into(), "b".into()]);
        assert_eq!(
            source(r#""rbd":{"monitors":["b","a"],"image":"i"}"#),
            VolumeSource::Rbd { monitors, pool: "rbd".into(), image: "i".into(), read_only: false }
        );
        assert_eq!(
            source(r#""iscsi":{"iqn":"q"}"#),
            VolumeSource::Iscsi { iqn: "q".into(), read_only: false }
        );
    }

    #[test]
    fn other_sources_are_told_apart() {
        let cases = [
            (r#""ephemeral":{"volumeClaimTemplate":{}}"#, VolumeSource::Ephemeral),
            (r#""csi":{"driver":"x"}"#, VolumeSource::Csi { driver: "x".into() }),
            (
                r#""awsElasticBlockStore":{"volumeID":"x"}"#,
                VolumeSource::AwsElasticBlockStore { volume: "x".into() },
            ),
            (
                r#""azureDisk":{"diskName":"x","diskURI":"u","kind":"Managed"}"#,
                VolumeSource::AzureDisk {
                    name: "x".into(),
                    uri: "u".into(),
                    kind: "Managed".into(),
                },
            ),
            (r#""azureFile":{"shareName":"x"}"#, VolumeSource::AzureFile { share: "x".into() }),
            (r#""cinder":{"volumeID":"x"}"#, VolumeSource::Cinder { volume: "x".into() }),
            (
                r#""vsphereVolume":{"volumePath":"x"}"#,
                VolumeSource::VsphereVolume { path: "x".into() },
            ),
            (r#""portworxVolume":{"volumeID":"x"}"#, VolumeSource::Portworx { volume: "x".into() }),
            (r#""image":{"reference":"x"}"#, VolumeSource::Image { reference: "x".into() }),
            (r#""emptyDir":{}"#, VolumeSource::Other),
            (r#""persistentVolumeClaim":null"#, VolumeSource::Other),
        ];
        for (field, want) in cases {
            assert_eq!(source(field), want, "{field}");
        }
    }
}
