//! What an attempt found, as the API writes it.

use serde_json::{Value, json};

use crate::model::{
    AllocatedConfig, AllocatedDevice, Allocation, NodeSelector, NodeSelectorTerm, Requirement,
    ResourceClaim, SelectorOperator, WrittenSelector,
};
use crate::rules::node_selection::NAME_FIELD;

use super::attempt::{Attempt, Chosen};
use super::requests::Request;

/// Stands for a share's id, which is drawn when the allocation is written.
pub(crate) const SHARE_ID: &str = "*";

/// An allocation for each claim.
pub(super) fn allocations(attempt: &Attempt<'_>) -> Result<Vec<Allocation>, String> {
    let claims = attempt.claims.iter().zip(&attempt.chosen).enumerate();
    claims
        .map(|(index, (claim, chosen))| {
            let node_selector = node_selector(attempt, chosen).map_err(|why| {
                format!("create NodeSelector for claim {}: {why}", claim.meta.name)
            })?;
            Ok(Allocation {
                devices: chosen.iter().filter_map(|chosen| device(attempt, chosen)).collect(),
                config: configs(attempt, index, claim),
                node_selector,
                allocated_seconds: None,
                allocated_at: Box::default(),
            })
        })
        .collect()
}

fn device(attempt: &Attempt<'_>, chosen: &Chosen) -> Option<AllocatedDevice> {
    let request = attempt.requests.get(chosen.request)?;
    let candidate = attempt.candidate(chosen.place)?;
    let consumed = chosen.consumed.as_ref();
    Some(AllocatedDevice {
        request: request.full_name(),
        driver: candidate.slice.driver.clone(),
        pool: candidate.slice.pool.clone(),
        device: candidate.device.name.clone(),
        is_admin: request.ask.is_admin,
        tolerations: request.ask.tolerations.clone(),
        share_id: consumed.map(|_| SHARE_ID.into()).unwrap_or_default(),
        consumed: consumed.filter(|own| !own.is_empty()).map(|own| own.clone().into()),
        binding_conditions: candidate.device.binding_conditions.clone(),
        binding_failure_conditions: candidate.device.binding_failure_conditions.clone(),
    })
}

/// Of the classes, then of the claim.
fn configs(attempt: &Attempt<'_>, index: usize, claim: &ResourceClaim) -> Box<[AllocatedConfig]> {
    let mut configs: Vec<AllocatedConfig> = Vec::new();
    // Where the configurations of a class begin and end.
    let mut of_classes: Vec<(&str, usize, usize)> = Vec::new();
    let chosen: Vec<&Request<'_>> = chosen_requests(attempt, index);
    for request in &chosen {
        let class = &*request.class.meta.name;
        if let Some((_, first, end)) = of_classes.iter().find(|(name, ..)| *name == class) {
            for config in configs.iter_mut().take(*end).skip(*first) {
                let mut requests = config.requests.to_vec();
                requests.push(request.full_name());
                config.requests = requests.into();
            }
            continue;
        }
        let first = configs.len();
        configs.extend(request.class.config.iter().map(|text| AllocatedConfig {
            is_from_class: true,
            requests: [request.full_name()].into(),
            text: text.clone(),
        }));
        of_classes.push((class, first, configs.len()));
    }
    let is_repaired = attempt.followed.traits().repairs_allocator;
    for config in &claim.config {
        let text = match &*config.opaque {
            "" => "{}".into(),
            opaque => format!("{{\"opaque\":{opaque}}}").into(),
        };
        let kept =
            AllocatedConfig { is_from_class: false, requests: config.requests.clone(), text };
        let times = if config.requests.is_empty() {
            1
        } else {
            // 1.36 repeats it for each request.
            let named = chosen.iter().filter(|request| request.is_among(&config.requests)).count();
            if is_repaired { named.min(1) } else { named }
        };
        configs.extend(std::iter::repeat_n(kept, times));
    }
    if is_repaired {
        for config in &mut configs {
            if config.requests.len() == claim.requests.len() {
                config.requests = Box::default();
            }
        }
    }
    configs.into()
}

/// Each request of a claim, or the alternative that was chosen for it.
fn chosen_requests<'r, 'a>(attempt: &'r Attempt<'a>, claim: usize) -> Vec<&'r Request<'a>> {
    let entries = attempt.entries.get(claim).into_iter().flatten();
    let alternatives = attempt.alternatives.get(claim).into_iter().flatten();
    let chosen = entries.zip(alternatives).filter_map(|(entry, alternative)| {
        attempt.requests.get(entry.first + if entry.is_list { *alternative } else { 0 })
    });
    chosen.collect()
}

/// The nodes on which all devices are reached; `None`: all.
fn node_selector(
    attempt: &Attempt<'_>,
    chosen: &[Chosen],
) -> Result<Option<WrittenSelector>, String> {
    let mut term = NodeSelectorTerm::default();
    let (mut fields, mut expressions) = (Vec::<Value>::new(), Vec::<Value>::new());
    for candidate in chosen.iter().filter_map(|chosen| attempt.candidate(chosen.place)) {
        let place = if candidate.slice.is_per_device {
            &candidate.device.place
        } else {
            &candidate.slice.place
        };
        if place.node_name.is_some() || candidate.device.binds_to_node {
            return Ok(Some(only(&attempt.node.node.name)));
        }
        let Some(written) = &place.selector else { continue };
        let terms = &written.selector.terms;
        if terms.len() > 1 {
            let count = terms.len();
            return Err(format!("unsupported ResourceSlice.NodeSelector with {count} terms"));
        }
        let Some(more) = terms.first() else { continue };
        let text: Value = serde_json::from_str(&written.text).unwrap_or_default();
        let listed = |name: &str| {
            let list = text.get("nodeSelectorTerms").and_then(|terms| terms.get(0)?.get(name));
            list.and_then(Value::as_array).cloned().unwrap_or_default()
        };
        merge(&mut term.match_fields, &mut fields, &more.match_fields, listed("matchFields"));
        let own = listed("matchExpressions");
        merge(&mut term.match_expressions, &mut expressions, &more.match_expressions, own);
    }
    if fields.is_empty() && expressions.is_empty() {
        return Ok(None);
    }
    let mut written = serde_json::Map::new();
    for (name, list) in [("matchExpressions", expressions), ("matchFields", fields)] {
        if !list.is_empty() {
            written.insert(name.to_owned(), list.into());
        }
    }
    let text = json!({"nodeSelectorTerms": [written]}).to_string().into();
    Ok(Some(WrittenSelector { selector: NodeSelector { terms: [term].into() }, text }))
}

/// Adds the requirements that are not there yet.
fn merge(
    into: &mut Box<[Requirement]>,
    texts: &mut Vec<Value>,
    from: &[Requirement],
    own: Vec<Value>,
) {
    let mut all = into.to_vec();
    for (requirement, text) in from.iter().zip(own) {
        if !all.contains(requirement) {
            all.push(requirement.clone());
            texts.push(text);
        }
    }
    *into = all.into();
}

fn only(node: &str) -> WrittenSelector {
    let field = Requirement {
        key: NAME_FIELD.into(),
        operator: SelectorOperator::In,
        values: [node.into()].into(),
    };
    let term = NodeSelectorTerm { match_fields: [field].into(), ..NodeSelectorTerm::default() };
    let requirement = json!({"key": NAME_FIELD, "operator": "In", "values": [node]});
    let text = json!({"nodeSelectorTerms": [{"matchFields": [requirement]}]}).to_string().into();
    WrittenSelector { selector: NodeSelector { terms: [term].into() }, text }
}
