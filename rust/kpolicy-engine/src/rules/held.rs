//! How many bytes a prepared rule holds, and whether that number can change before the rule is
//! prepared again. The cycle weighs again only the rules for which it can.

/// Bytes that a prepared rule holds, itself included; without what it shares with the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBytes {
    /// Neither changes that it follows nor nodes that it is asked about make it hold more or less.
    Fixed(usize),
    /// They may. Weighing is done after each decision and costs no more than a few steps.
    Changing(usize),
}

impl HeldBytes {
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Fixed(bytes) | Self::Changing(bytes) => bytes,
        }
    }
}
