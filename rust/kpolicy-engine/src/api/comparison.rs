//! What a second opinion says about the decision of another engine.

use super::decision::Verdict;
use super::opinion::{Acted, Opinion};

/// In the order of their numbers. `DifferentNode` is used only if the node in the decision is not among the
/// best nodes of the second opinion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The decision is among the best of this engine, too.
    Same,
    /// Another node is better.
    DifferentNode,
    /// This engine does not place the pod on that node, or on none.
    WouldReject,
    /// This engine places the pod, which was parked.
    WouldPlace,
    /// A rule of the other policy failed.
    Failed,
    /// The other policy does not serve the pod.
    NotJudged,
}

/// How many results there are.
pub const COMPARISONS: usize = 6;

impl Comparison {
    /// The decision placed the pod on its node, or parked it where there is none.
    pub fn of(acted: &Acted, opinion: &Opinion) -> Self {
        let (was_placed, is_placed) = match opinion.verdict {
            Verdict::Failed => return Self::Failed,
            Verdict::Placed => (!acted.node.is_empty(), true),
            Verdict::Parked => (!acted.node.is_empty(), false),
            _ => return Self::NotJudged,
        };
        match (was_placed, is_placed) {
            (false, true) => Self::WouldPlace,
            (false, false) => Self::Same,
            (true, _) if !is_placed || !opinion.accepts => Self::WouldReject,
            (true, _) if opinion.node == acted.node => Self::Same,
            (true, _) => Self::DifferentNode,
        }
    }

    /// Whether both policies judge the pod, and not alike.
    pub fn is_difference(self) -> bool {
        !matches!(self, Self::Same | Self::NotJudged)
    }

    /// The position of its number among the counts.
    pub fn number(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Comparison::{
        self, DifferentNode, Failed, NotJudged, Same, WouldPlace, WouldReject,
    };
    use super::{Acted, Opinion, Verdict};

    /// The node of the decision, and of the opinion its verdict, node, and whether it accepts the other's.
    type Case = (&'static str, Verdict, &'static str, bool, Comparison);

    const CASES: [Case; 12] = [
        ("n1", Verdict::Placed, "n1", true, Same),
        ("n1", Verdict::Placed, "n2", true, DifferentNode),
        ("n1", Verdict::Placed, "n2", false, WouldReject),
        ("n1", Verdict::Parked, "", false, WouldReject),
        ("n1", Verdict::Failed, "", false, Failed),
        ("n1", Verdict::NotReady, "", false, NotJudged),
        ("n1", Verdict::Gone, "", false, NotJudged),
        ("", Verdict::Placed, "n1", false, WouldPlace),
        ("", Verdict::Parked, "", false, Same),
        ("", Verdict::Failed, "", false, Failed),
        ("", Verdict::Gated, "", false, NotJudged),
        ("", Verdict::SetAside, "", false, NotJudged),
    ];

    #[test]
    fn a_tie_is_the_same_and_only_judged_pods_differ() {
        for (on, verdict, node, accepts, expected) in CASES {
            let acted = Acted { uid: "u".into(), node: on.into() };
            let opinion = Opinion { verdict, uid: "u".into(), node: node.into(), accepts };
            let found = Comparison::of(&acted, &opinion);
            assert_eq!(found, expected, "{on:?} {verdict:?} {node:?} {accepts}");
            assert_eq!(found.is_difference(), !matches!(found, Same | NotJudged));
        }
    }
}
