//! What a device has at all, and whether claims have it: looked at before the device itself.

use crate::model::{Device, DeviceCapacity, Quantity};

use super::devices_in_use::DeviceUse;

/// What a device has at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Flags(u8);

impl Flags {
    const SHARED: u8 = 1;
    const CONSUMES: u8 = 2;
    const TAINTS: u8 = 4;
    const CONDITIONS: u8 = 8;
    pub(super) const WHOLE_IN_USE: u8 = 16;
    pub(super) const SHARES_IN_USE: u8 = 32;
    const IN_USE: u8 = Self::WHOLE_IN_USE | Self::SHARES_IN_USE;
    const BINDS: u8 = 64;
    const PLAIN_CAPACITY: u8 = 128;

    pub(super) fn of(device: &Device) -> Self {
        let flag = |bit: u8, is_set: bool| if is_set { bit } else { 0 };
        let is_plain = |capacity: &DeviceCapacity| {
            capacity.policy.is_none() && capacity.value.amount >= Quantity::default()
        };
        Self(
            flag(Self::SHARED, device.is_shared)
                | flag(Self::CONSUMES, !device.consumes.is_empty())
                | flag(Self::BINDS, device.binds_to_node)
                | flag(Self::TAINTS, !device.taints.is_empty())
                | flag(Self::CONDITIONS, !device.binding_conditions.is_empty())
                | flag(
                    Self::PLAIN_CAPACITY,
                    device.capacity.iter().all(|(_, capacity)| is_plain(capacity)),
                ),
        )
    }

    pub(super) fn with_use(self, own: Option<&DeviceUse>) -> Self {
        let bits = match own {
            None => 0,
            Some(own) => {
                let shares = if own.shares > 0 { Self::SHARES_IN_USE } else { 0 };
                if own.whole > 0 { shares | Self::WHOLE_IN_USE } else { shares }
            }
        };
        Self(self.0 & !Self::IN_USE | bits)
    }

    pub(super) fn in_use(self) -> u8 {
        self.0 & Self::IN_USE
    }

    /// It may be given out in shares.
    pub(crate) fn is_shared(self) -> bool {
        self.0 & Self::SHARED != 0
    }

    /// It takes of counters.
    pub(crate) fn consumes(self) -> bool {
        self.0 & Self::CONSUMES != 0
    }

    pub(crate) fn has_taints(self) -> bool {
        self.0 & Self::TAINTS != 0
    }

    /// An allocation of it is good on one node only.
    pub(crate) fn binds_to_node(self) -> bool {
        self.0 & Self::BINDS != 0
    }

    /// None of its capacities says how shares are taken: who names none takes the whole of each.
    pub(crate) fn has_plain_capacity(self) -> bool {
        self.0 & Self::PLAIN_CAPACITY != 0
    }

    pub(crate) fn has_binding_conditions(self) -> bool {
        self.0 & Self::CONDITIONS != 0
    }
}
