//! What the allocator does otherwise in another release of kube-scheduler.

/// The release whose allocator is followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Release {
    /// 1.36, with the faults that 1.37 repaired.
    #[default]
    V1_36,
    /// 1.37.
    V1_37,
}

impl Release {
    /// Whether the faults of 1.36 are gone: counters and marks that a refused or given up device keeps,
    /// counters by the name of a pool without its driver, one value a request in constraints,
    /// configurations that are repeated.
    pub(super) fn is_repaired(self) -> bool {
        self >= Self::V1_37
    }

    /// Whether `DeviceTaintRule`s are laid over the devices.
    pub(super) fn has_taint_rules(self) -> bool {
        self >= Self::V1_37
    }

    /// What it says of a pod for which nothing was given up: nothing since 1.37.
    pub(crate) fn post_filter_text(self, text: &'static str) -> &'static str {
        if self >= Self::V1_37 { "" } else { text }
    }

    /// Whether ranges with fractional bounds are computed in thousandths.
    pub(super) fn has_fractional_ranges(self) -> bool {
        self >= Self::V1_37
    }
}
