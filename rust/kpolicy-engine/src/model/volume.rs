//! Volumes of a pod, as far as a rule reads them.

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Volume {
    pub name: Box<str>,
    pub source: VolumeSource,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum VolumeSource {
    Claim {
        name: Box<str>,
        read_only: bool,
    },
    /// A generic ephemeral volume: its claim is `<pod>-<volume>`.
    Ephemeral,
    /// An inline CSI volume.
    Csi {
        driver: Box<str>,
    },
    GcePersistentDisk {
        name: Box<str>,
        read_only: bool,
    },
    AwsElasticBlockStore {
        volume: Box<str>,
    },
    Rbd {
        monitors: Box<[Box<str>]>,
        pool: Box<str>,
        image: Box<str>,
        read_only: bool,
    },
    Iscsi {
        iqn: Box<str>,
        read_only: bool,
    },
    AzureDisk {
        name: Box<str>,
        uri: Box<str>,
        /// `Managed`, `Dedicated` or `Shared`; empty where absent.
        kind: Box<str>,
    },
    AzureFile {
        share: Box<str>,
    },
    Cinder {
        volume: Box<str>,
    },
    VsphereVolume {
        path: Box<str>,
    },
    Portworx {
        volume: Box<str>,
    },
    Image {
        reference: Box<str>,
    },
    /// Anything that no rule reads.
    Other,
}
