//! What each pod of the snapshot requests and may use at most, as samples of kube-scheduler's
//! `/metrics/resources`.
//!
//! [`PodResources`] holds the pods of one moment, so that the samples are written page by page
//! without the engine.

use std::fmt::Write as _;
use std::sync::Arc;

use super::Engine;
use crate::resources::{Amounts, names};
use crate::snapshot::Pod;

/// Samples of so many pods are written at once: about half a megabyte.
const PAGE_PODS: usize = 1_000;
const MILLIS: i64 = 1_000;

/// Which amounts of a pod.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    /// What it requests.
    Request,
    /// What it may use at most.
    Limit,
}

/// The pods of one moment, in order of uid.
#[derive(Debug)]
pub struct PodResources(Box<[Arc<Pod>]>);

impl Engine {
    /// The pods that are not over, as the API server last showed them.
    pub fn pod_resources(&self) -> PodResources {
        let pods = self.cluster.pods().in_order();
        PodResources(pods.into_iter().map(|entry| Arc::clone(&entry.pod)).collect())
    }
}

impl PodResources {
    /// A line for each resource of each pod of a page that is not 0; `None` after the last page.
    pub fn page(&self, amount: Amount, index: usize) -> Option<String> {
        let pods = self.0.chunks(PAGE_PODS).nth(index)?;
        let mut lines = String::new();
        for pod in pods {
            let (metric, amounts) = match amount {
                Amount::Request => ("kube_pod_resource_request", &pod.requests().fit),
                Amount::Limit => ("kube_pod_resource_limit", &*pod.template.limits),
            };
            write_samples(&mut lines, metric, pod, amounts);
        }
        Some(lines)
    }
}

fn write_samples(lines: &mut String, metric: &str, pod: &Pod, amounts: &Amounts) {
    let mut sample = |resource: &str, unit: &str, value: Decimal| {
        if value.0 == 0 {
            return;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            lines,
            "{metric}{{namespace=\"{}\",node=\"{}\",pod=\"{}\",priority=\"{}\",resource=\"{}\",\
             scheduler=\"{}\",unit=\"{unit}\"}} {value}",
            Escaped(pod.namespace()),
            Escaped(&pod.node_name),
            Escaped(&pod.name),
            pod.priority(),
            Escaped(resource),
            Escaped(&pod.template.scheduler_name),
        );
    };
    sample(names::CPU, "cores", Decimal(amounts.cpu_milli, MILLIS));
    sample(names::MEMORY, "bytes", Decimal(amounts.memory, 1));
    sample(names::EPHEMERAL_STORAGE, "bytes", Decimal(amounts.ephemeral_storage, 1));
    for (name, amount) in &amounts.scalars {
        sample(name, names::unit(name), Decimal(*amount, 1));
    }
}

/// An amount divided by 1 or by 1,000.
struct Decimal(i64, i64);

impl std::fmt::Display for Decimal {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, rest) = (self.0 / self.1, self.0 % self.1);
        write!(to, "{whole}")?;
        if rest == 0 {
            return Ok(());
        }
        let digits = format!("{rest:03}");
        write!(to, ".{}", digits.trim_end_matches('0'))
    }
}

/// The value of a label, as Prometheus' text format has it.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => to.write_str("\\\\")?,
                '"' => to.write_str("\\\"")?,
                '\n' => to.write_str("\\n")?,
                other => to.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Decimal, Escaped};

    #[test]
    fn amounts_and_labels_are_written_as_prometheus_reads_them() {
        let texts: Vec<String> =
            [1, 10, 100, 1_000, 1_250].map(|millis| Decimal(millis, 1_000).to_string()).into();
        assert_eq!(texts, ["0.001", "0.01", "0.1", "1", "1.25"]);
        assert_eq!(Decimal(1 << 40, 1).to_string(), "1099511627776");
        assert_eq!(Escaped("a\"b\\c\nd").to_string(), "a\\\"b\\\\c\\nd");
    }
}
