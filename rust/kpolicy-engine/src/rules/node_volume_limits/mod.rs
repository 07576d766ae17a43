//! How many volumes a node can attach: `NodeVolumeLimits` (CSI drivers, limits from `CSINode`) and
//! the limits of one kind of disk that old policies name (such as `EBSLimits`). Uses the migrations
//! of `volume_migration`.

mod attachable;
mod attachments;
mod csi;
mod disks;

pub(crate) use csi::{NAME, of};
pub(crate) use disks::{AZURE_DISK, CINDER, EBS, GCE_PD};

const REASON: &str = "node(s) exceed max volume count";
