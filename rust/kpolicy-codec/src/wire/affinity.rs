//! Affinity of a pod, and node selectors of volumes.

use kpolicy_engine::model::{
    Affinity, NodeSelector, NodeSelectorTerm, PodAffinityTerm, Requirement,
};

use super::requirement_problem;
use super::scalar::Text;
use super::selector::{Dialect, RequirementWire, SelectorWire};
use super::sequence::List;
use super::wire;

wire! {
    pub(crate) struct AffinityWire<'a> {
        "nodeAffinity" => node: NodeAffinityWire<'a>,
        "podAffinity" => pod: PodAffinityWire<'a>,
        "podAntiAffinity" => anti: PodAffinityWire<'a>,
    }
}

wire! {
    pub(crate) struct NodeAffinityWire<'a> {
        "requiredDuringSchedulingIgnoredDuringExecution" => required: Option<NodeSelectorWire<'a>>,
        "preferredDuringSchedulingIgnoredDuringExecution" => preferred: List<PreferredNodeWire<'a>>,
    }
}

wire! {
    pub(crate) struct NodeSelectorWire<'a> {
        "nodeSelectorTerms" => terms: List<NodeTermWire<'a>>,
    }
}

wire! {
    pub(crate) struct NodeTermWire<'a> {
        "matchExpressions" => expressions: List<RequirementWire<'a>>,
        "matchFields" => fields: List<RequirementWire<'a>>,
    }
}

wire! {
    pub(crate) struct PreferredNodeWire<'a> {
        "weight" => weight: i32,
        "preference" => preference: NodeTermWire<'a>,
    }
}

wire! {
    pub(crate) struct PodAffinityWire<'a> {
        "requiredDuringSchedulingIgnoredDuringExecution" => required: List<PodTermWire<'a>>,
        "preferredDuringSchedulingIgnoredDuringExecution" => preferred: List<PreferredPodWire<'a>>,
    }
}

wire! {
    pub(crate) struct PodTermWire<'a> {
        "labelSelector" => selector: Option<SelectorWire<'a>>,
        "namespaces" => namespaces: List<Text<'a>>,
        "namespaceSelector" => namespace_selector: Option<SelectorWire<'a>>,
        "topologyKey" => topology_key: Text<'a>,
    }
}

wire! {
    pub(crate) struct PreferredPodWire<'a> {
        "weight" => weight: i32,
        "podAffinityTerm" => term: PodTermWire<'a>,
    }
}

impl AffinityWire<'_> {
    /// `None` where nothing is asked for: the same as no affinity.
    pub(crate) fn into_model(self) -> Option<Box<Affinity>> {
        let node_preferred_problem = preferred_problem(&self.node.preferred.0);
        let affinity = Affinity {
            node_preferred_problem,
            node_required: self.node.required.map(NodeSelectorWire::into_model),
            node_preferred: self
                .node
                .preferred
                .boxed(|preferred| (preferred.weight, preferred.preference.into_model())),
            pod_required: self.pod.required.boxed(PodTermWire::into_model),
            pod_preferred: self.pod.preferred.boxed(PreferredPodWire::into_model),
            anti_required: self.anti.required.boxed(PodTermWire::into_model),
            anti_preferred: self.anti.preferred.boxed(PreferredPodWire::into_model),
        };
        (affinity != Affinity::default()).then(|| Box::new(affinity))
    }
}

/// Why preferred terms cannot be parsed. kube-scheduler does not parse a preference of weight 0 or
/// without any requirement.
fn preferred_problem(preferred: &[PreferredNodeWire<'_>]) -> Option<Box<str>> {
    let mut problems = Vec::new();
    for (index, PreferredNodeWire { weight, preference }) in preferred.iter().enumerate() {
        if *weight == 0 {
            continue;
        }
        let lists = [
            ("matchExpressions", Dialect::NodeLabel, &preference.expressions),
            ("matchFields", Dialect::NodeField, &preference.fields),
        ];
        for (name, dialect, requirements) in lists {
            for (inner, requirement) in requirements.0.iter().enumerate() {
                let known = problems.len();
                requirement_problem::add(requirement, dialect, &mut problems);
                for problem in problems.iter_mut().skip(known) {
                    problem.insert_str(0, &format!("[{index}].{name}[{inner}]"));
                }
            }
        }
    }
    requirement_problem::summary(problems)
}

impl NodeSelectorWire<'_> {
    pub(crate) fn into_model(self) -> NodeSelector {
        NodeSelector { terms: self.terms.boxed(NodeTermWire::into_model) }
    }
}

impl NodeTermWire<'_> {
    fn into_model(self) -> NodeSelectorTerm {
        let read = |list: List<RequirementWire<'_>>, dialect| -> Box<[Requirement]> {
            list.boxed(|requirement| requirement.into_model(dialect))
        };
        NodeSelectorTerm {
            match_expressions: read(self.expressions, Dialect::NodeLabel),
            match_fields: read(self.fields, Dialect::NodeField),
        }
    }
}

impl PodTermWire<'_> {
    /// `matchLabelKeys` and `mismatchLabelKeys` are the API server's to merge into the selector.
    fn into_model(self) -> PodAffinityTerm {
        PodAffinityTerm {
            label_selector: self.selector.map(SelectorWire::into_model),
            namespaces: self.namespaces.texts_sorted_unique(),
            namespace_selector: self.namespace_selector.map(SelectorWire::into_model),
            topology_key: self.topology_key.boxed(),
        }
    }
}

impl PreferredPodWire<'_> {
    fn into_model(self) -> (i32, PodAffinityTerm) {
        (self.weight, self.term.into_model())
    }
}

#[cfg(test)]
mod tests {
    use crate::object::tests::pod;
    use kpolicy_engine::model::{Selector, SelectorOperator};

    #[test]
    fn affinity_is_read() {
        let pod = pod(r#"{"metadata": {"name": "p"}, "spec": {"affinity": {
                "nodeAffinity": {
                  "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["8"]}],
                     "matchFields": [
                       {"key": "metadata.name", "operator": "In", "values": ["n"]}]}, {}]},
                  "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 7, "preference": {
                      "matchExpressions": [{"key": "a", "operator": "Exists"}]}}]},
                "podAntiAffinity": {
                  "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {}, "namespaces": ["b", "a", "b"],
                     "namespaceSelector": {"matchLabels": {"team": "x"}}, "matchLabelKeys": ["v"]}],
                  "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 9, "podAffinityTerm": {"topologyKey": "host"}}]}}}}"#);
        let affinity = pod.affinity.expect("it has affinity");
        let required = affinity.node_required.expect("for nodes");
        assert_eq!(required.terms.len(), 2);
        assert_eq!(required.terms[0].match_expressions[0].operator, SelectorOperator::Gt);
        assert_eq!(&*required.terms[0].match_fields[0].key, "metadata.name");
        assert_eq!(affinity.node_preferred[0].0, 7);
        let anti = &affinity.anti_required[0];
        assert!(anti.label_selector.as_ref().is_some_and(Selector::is_everything));
        assert_eq!(*anti.namespaces, ["a".into(), "b".into()]);
        assert!(anti.namespace_selector.as_ref().is_some_and(|selector| !selector.is_everything()));
        let (weight, preferred) = &affinity.anti_preferred[0];
        assert_eq!((*weight, &preferred.label_selector), (9, &None));
        assert!(affinity.pod_required.is_empty() && affinity.pod_preferred.is_empty());
    }
}
