//! What a pod asks of shared GPUs, and which devices it has: all of it stands in its annotations.
//!
//! `gpu-count` devices with `gpu-milli` thousandths of each, of one of the models in
//! `gpu-card-model` (`A|B`), and once it is placed, their numbers in `gpu-index` (`0-2`).

use crate::snapshot::Pod;

const COUNT: &str = "alibabacloud.com/gpu-count";
const MILLI: &str = "alibabacloud.com/gpu-milli";
const MODEL: &str = "alibabacloud.com/gpu-card-model";
pub(super) const INDEX: &str = "alibabacloud.com/gpu-index";

/// A whole device.
pub(crate) const WHOLE: i64 = 1000;
/// So many devices of a node are looked at.
pub(crate) const DEVICES_MAX: usize = 16;

/// How many devices a pod asks for, and how much of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) count: i64,
    pub(crate) milli: i64,
}

impl Asked {
    /// A count alone means whole devices, a share alone means one device.
    pub(crate) fn of(pod: &Pod) -> Self {
        if pod.annotations.is_empty() {
            return Self::default();
        }
        let number = |key| pod.annotations.get(key)?.parse().ok().filter(|number| *number >= 0);
        let (count, milli) = match (number(COUNT), number(MILLI)) {
            (Some(count), Some(milli)) => (count, milli),
            (Some(count), None) => (count, WHOLE),
            (None, Some(milli)) => (1, milli),
            (None, None) => (0, 0),
        };
        if count == 0 || milli == 0 { Self::default() } else { Self { count, milli } }
    }

    pub(crate) fn is_nothing(self) -> bool {
        self.count == 0
    }

    /// A part of one device, which others may share.
    pub(crate) fn is_share(self) -> bool {
        self.count == 1 && self.milli < WHOLE
    }
}

/// The models that will do, as the annotation has them; empty if any will.
pub(super) fn models(pod: &Pod) -> &str {
    pod.annotations.get(MODEL).unwrap_or_default()
}

/// Whether one of the models is the node's.
pub(super) fn is_model_among(model: Option<&str>, models: &str) -> bool {
    models.is_empty() || model.is_some_and(|model| models.split('|').any(|one| one == model))
}

/// The numbers of the devices that a pod has on its node; empty if it does not say.
pub(super) fn indices(pod: &Pod) -> Vec<usize> {
    let text = pod.annotations.get(INDEX).unwrap_or_default();
    text.split('-').take(DEVICES_MAX).filter_map(|number| number.parse().ok()).collect()
}

/// As the annotation has them.
pub(super) fn index_text(devices: &[usize]) -> String {
    let numbers: Vec<String> = devices.iter().map(ToString::to_string).collect();
    numbers.join("-")
}

#[cfg(test)]
mod tests {
    use super::{Asked, index_text, indices, is_model_among};
    use crate::model::{self, Meta};
    use crate::rules::pod_topology_spread::testing::{pod, row};
    use crate::snapshot::Cluster;

    fn asked(pairs: &[(&str, &str)]) -> (i64, i64, Vec<usize>) {
        let named = |(name, value): &(&str, &str)| {
            (format!("alibabacloud.com/{name}"), (*value).to_owned())
        };
        let plain = pod("p", "", "");
        let meta = Meta { annotations: pairs.iter().map(named).collect(), ..plain.meta.clone() };
        let row = row(&mut Cluster::default(), model::Pod { meta, ..plain });
        let Asked { count, milli } = Asked::of(&row);
        (count, milli, indices(&row))
    }

    #[test]
    fn a_count_means_whole_devices_and_a_share_one_device() {
        assert_eq!(asked(&[]), (0, 0, vec![]));
        assert_eq!(asked(&[("gpu-count", "2")]), (2, 1000, vec![]));
        assert_eq!(asked(&[("gpu-milli", "460")]), (1, 460, vec![]));
        assert_eq!(asked(&[("gpu-count", "0"), ("gpu-milli", "460")]), (0, 0, vec![]));
        assert_eq!(
            asked(&[("gpu-count", "-1")]),
            (0, 0, vec![]),
            "what is no number counts nothing"
        );
        assert_eq!(asked(&[("gpu-count", "2"), ("gpu-index", "0-3")]), (2, 1000, vec![0, 3]));
        assert_eq!(index_text(&[0, 3]), "0-3");
    }

    #[test]
    fn one_of_the_models_is_enough() {
        assert!(is_model_among(Some("A"), ""));
        assert!(is_model_among(None, ""));
        assert!(is_model_among(Some("B"), "A|B"));
        assert!(!is_model_among(Some("C"), "A|B"));
        assert!(!is_model_among(None, "A|B"));
    }
}
