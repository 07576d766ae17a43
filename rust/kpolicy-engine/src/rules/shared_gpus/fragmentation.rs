//! How much of a node's idle GPUs the pods that are usually asked for could not use.
//!
//! Specification: Weng et al., "Beware of Fragmentation", USENIX ATC 2023. For a typical pod that the
//! node can host, what is idle on devices that have too little left for it is a fragment; for one that
//! it cannot host, everything idle is. Typical pods count by how often they are asked for.

use crate::fields::{Fields, Refusals};

use super::asked::{Asked, WHOLE, is_model_among};
use super::free::{best_fit, take};

/// Each is compared with each device of each node, for each device that a pod may get.
const TYPICAL_PODS_MAX: usize = 64;
const NUMBER_MAX: i64 = 1 << 40;

/// A kind of pod that is often asked for.
#[derive(Debug, Clone, PartialEq)]
struct TypicalPod {
    cpu_milli: i64,
    asked: Asked,
    models: Box<str>,
    /// Its part of all that are asked for.
    frequency: f64,
}

/// What the target workload is made of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TypicalPods(Box<[TypicalPod]>);

/// Where a policy says nothing: one whole device or a half, with some cores.
const DEFAULT: [(i64, i64, f64); 3] = [(8_000, WHOLE, 0.5), (4_000, 500, 0.3), (4_000, 250, 0.2)];

impl Default for TypicalPods {
    fn default() -> Self {
        let pod = |(cpu_milli, milli, frequency)| TypicalPod {
            cpu_milli,
            asked: Asked { count: 1, milli },
            models: "".into(),
            frequency,
        };
        Self(DEFAULT.into_iter().map(pod).collect())
    }
}

/// What is idle on a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Idle<'a> {
    pub(super) cpu_milli: i64,
    pub(super) free: &'a [i64],
    pub(super) model: Option<&'a str>,
}

impl TypicalPods {
    /// Reads `typicalPods`: the default where the list is empty.
    #[allow(clippy::cast_precision_loss)] // far below what is exact
    pub(super) fn read(args: &mut Fields<'_>, refusals: &mut Refusals) -> Option<Self> {
        let mut pods = Vec::new();
        let mut total = 0;
        for (place, item) in args.list("typicalPods", refusals)?.into_iter().take(TYPICAL_PODS_MAX)
        {
            let mut fields = Fields::of(item, place, refusals)?;
            let cpu_milli = fields.integer_or("cpuMilli", 0, 0..=NUMBER_MAX, refusals)?;
            let count = fields.integer_or("gpus", 0, 0..=NUMBER_MAX, refusals)?;
            let milli = fields.integer_or("gpuMilli", WHOLE, 0..=WHOLE, refusals)?;
            let models = fields.texts("models", refusals)?.join("|").into();
            let weight = fields.integer_or("weight", 1, 1..=NUMBER_MAX, refusals)?;
            fields.finish(refusals);
            total += weight;
            let milli = if count == 0 { 0 } else { milli };
            let asked = Asked { count, milli };
            pods.push(TypicalPod { cpu_milli, asked, models, frequency: weight as f64 });
        }
        for pod in &mut pods {
            pod.frequency /= total as f64;
        }
        Some(if pods.is_empty() { Self::default() } else { Self(pods.into()) })
    }

    /// The expected fragment of what is idle, in thousandths of a device.
    #[allow(clippy::cast_precision_loss)] // at most thousandths of some devices
    pub(super) fn fragment(&self, idle: Idle<'_>) -> f64 {
        let total: i64 = idle.free.iter().sum();
        if total == 0 {
            return 0.0;
        }
        let of_pod = |pod: &TypicalPod| {
            let Asked { count, milli } = pod.asked;
            let (mut fitting, mut too_little) = (0, 0);
            // Without a branch, so that several devices are looked at at once.
            for left in idle.free {
                let is_enough = *left >= milli;
                fitting += i64::from(is_enough);
                too_little += if is_enough { 0 } else { *left };
            }
            let can_host = milli > 0
                && idle.cpu_milli >= pod.cpu_milli
                && fitting >= count
                && is_model_among(idle.model, &pod.models);
            let fragment = if can_host { too_little } else { total };
            pod.frequency * fragment as f64
        };
        self.0.iter().map(of_pod).sum()
    }

    /// The devices for a pod that leave the smallest fragment, and how good that is, 0–100: 50 leaves
    /// the fragment as it was. `None` if the node cannot host it. Of shares that score the same the one
    /// on the device with the lowest number.
    pub(super) fn best(
        &self,
        idle: Idle<'_>,
        cpu_milli: i64,
        asked: Asked,
    ) -> Option<(Vec<usize>, i64)> {
        let before = self.fragment(idle);
        let score_on = |devices: &[usize]| {
            let mut free = idle.free.to_vec();
            take(&mut free, devices, asked.milli);
            let left = Idle { cpu_milli: idle.cpu_milli - cpu_milli, free: &free, ..idle };
            score_of(before - self.fragment(left))
        };
        if !asked.is_share() {
            let devices = best_fit(idle.free, asked)?;
            let score = score_on(&devices);
            return Some((devices, score));
        }
        let mut best: Option<(usize, i64)> = None;
        for (device, left) in idle.free.iter().enumerate() {
            // A device like one before it would score the same.
            let is_like_one_before = idle.free.iter().take(device).any(|before| before == left);
            if *left < asked.milli || is_like_one_before {
                continue;
            }
            let score = score_on(&[device]);
            if best.is_none_or(|(_, highest)| score > highest) {
                best = Some((device, score));
            }
        }
        best.map(|(device, score)| (vec![device], score))
    }
}

/// The sigmoid of how many devices less are fragments, as a whole percentage.
#[allow(clippy::cast_possible_truncation)] // from 0 to 100
#[allow(clippy::cast_precision_loss)] // a thousand
fn score_of(gained_milli: f64) -> i64 {
    (100.0 / (1.0 + (-gained_milli / WHOLE as f64).exp())) as i64
}

#[cfg(test)]
mod tests {
    use super::{Idle, TypicalPods, score_of};
    use crate::fields::{Fields, Refusals};
    use crate::rules::shared_gpus::asked::Asked;
    use serde_json::{Value, json};

    fn typical(pods: &Value) -> TypicalPods {
        let mut refusals = Refusals::default();
        let args = json!({"typicalPods": pods});
        let mut fields = Fields::of(&args, "$", &mut refusals).unwrap();
        let made = TypicalPods::read(&mut fields, &mut refusals).unwrap();
        assert!(refusals.is_empty());
        made
    }

    fn idle(cpu_milli: i64, free: &[i64]) -> Idle<'_> {
        Idle { cpu_milli, free, model: Some("A") }
    }

    fn shown(fragment: f64) -> String {
        format!("{fragment:.1}")
    }

    #[test]
    fn what_no_typical_pod_can_use_is_a_fragment() {
        let halves = typical(&json!([{"cpuMilli": 4000, "gpus": 1, "gpuMilli": 500}]));
        let fragment = |cpu_milli, free: &[i64]| shown(halves.fragment(idle(cpu_milli, free)));
        assert_eq!(fragment(8000, &[1000, 400]), "400.0", "too little of the second device");
        assert_eq!(fragment(2000, &[1000, 400]), "1400.0", "too little CPU");
        assert_eq!(fragment(8000, &[400, 400]), "800.0");
        assert_eq!(fragment(8000, &[1000, 500]), "0.0");
        assert_eq!(fragment(0, &[]), "0.0");
    }

    #[test]
    fn typical_pods_count_by_how_often_they_are_asked_for() {
        let mixed = typical(&json!([
            {"cpuMilli": 1000, "gpus": 1, "gpuMilli": 500, "weight": 3},
            {"cpuMilli": 1000, "gpus": 2, "weight": 1},
        ]));
        assert_eq!(shown(mixed.fragment(idle(8000, &[1000, 600]))), "400.0", "a quarter of all");
        let of_cpu = typical(&json!([{"cpuMilli": 1000}]));
        assert_eq!(shown(of_cpu.fragment(idle(8000, &[1000]))), "1000.0", "it uses no device");
        let of_another_model = typical(&json!([{"gpus": 1, "models": ["B"]}]));
        assert_eq!(shown(of_another_model.fragment(idle(8000, &[1000]))), "1000.0");
    }

    #[test]
    fn a_share_goes_where_it_leaves_the_smallest_fragment() {
        let typical = typical(&json!([
            {"gpus": 1, "weight": 1}, {"gpus": 1, "gpuMilli": 500, "weight": 1}]));
        let best =
            |free: &[i64], count, milli| typical.best(idle(8000, free), 0, Asked { count, milli });
        assert_eq!(best(&[1000, 500], 1, 500).unwrap().0, [1]);
        assert_eq!(best(&[1000, 1000], 1, 500).unwrap().0, [0]);
        assert_eq!(best(&[1000, 300], 1, 300).unwrap().0, [1], "what was a fragment before");
        assert_eq!(best(&[500, 1000, 1000], 2, 1000).unwrap().0, [1, 2]);
        assert_eq!(best(&[500, 500], 1, 600), None);
        assert_eq!(score_of(0.0), 50);
        assert_eq!((score_of(1000.0), score_of(-1000.0)), (73, 26));
    }
}
