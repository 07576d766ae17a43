//! Volumes of a pod, as far as a rule reads them.

/// One of `spec.volumes`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Volume {
    /// `name`, unique in the pod.
    pub name: Box<str>,
    /// Where its data come from.
    pub source: VolumeSource,
}

/// The source of a volume: a claim, or a disk that the pod names itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum VolumeSource {
    /// `persistentVolumeClaim`.
    Claim {
        /// `claimName`.
        name: Box<str>,
        /// `readOnly`.
        read_only: bool,
    },
    /// A generic ephemeral volume: its claim is `<pod>-<volume>`.
    Ephemeral,
    /// An inline CSI volume.
    Csi {
        /// The CSI driver's name.
        driver: Box<str>,
    },
    /// `gcePersistentDisk`.
    GcePersistentDisk {
        /// `pdName`.
        name: Box<str>,
        /// `readOnly`.
        read_only: bool,
    },
    /// `awsElasticBlockStore`.
    AwsElasticBlockStore {
        /// `volumeID`.
        volume: Box<str>,
    },
    /// `rbd`.
    Rbd {
        /// `monitors`: addresses of the Ceph cluster.
        monitors: Box<[Box<str>]>,
        /// `pool`; the API's default is `rbd`.
        pool: Box<str>,
        /// `image`.
        image: Box<str>,
        /// `readOnly`.
        read_only: bool,
    },
    /// `iscsi`.
    Iscsi {
        /// `iqn`: the target's name.
        iqn: Box<str>,
        /// `readOnly`.
        read_only: bool,
    },
    /// `azureDisk`.
    AzureDisk {
        /// `diskName`.
        name: Box<str>,
        /// `diskURI`.
        uri: Box<str>,
        /// `Managed`, `Dedicated` or `Shared`; empty where absent.
        kind: Box<str>,
    },
    /// `azureFile`.
    AzureFile {
        /// `shareName`.
        share: Box<str>,
    },
    /// `cinder`.
    Cinder {
        /// `volumeID`.
        volume: Box<str>,
    },
    /// `vsphereVolume`.
    VsphereVolume {
        /// `volumePath`.
        path: Box<str>,
    },
    /// `portworxVolume`.
    Portworx {
        /// `volumeID`.
        volume: Box<str>,
    },
    /// `image`: an OCI image that is mounted.
    Image {
        /// `reference`.
        reference: Box<str>,
    },
    /// Anything that no rule reads.
    Other,
}
