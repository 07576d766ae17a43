//! What an attempt found, as the API writes it.

use serde_json::{Value, json};

use crate::model::{
    AllocatedConfig, AllocatedDevice, Allocation, Device, NodeSelector, NodeSelectorTerm,
    Requirement, ResourceClaim, SelectorOperator, SlicePlace, WrittenSelector,
};
use crate::rules::node_selection::NAME_FIELD;

use super::Detail;
use super::attempt::{Attempt, Chosen};
use super::requests::Request;

/// Stands for a share's id, which is drawn when the allocation is written.
pub(crate) const SHARE_ID: &str = "*";

/// The API stores so many configurations of an allocation.
const CONFIGS_MAX: usize = 64;

/// An allocation for each claim.
pub(super) fn allocations(
    attempt: &Attempt<'_>,
    detail: Detail,
) -> Result<Vec<Allocation>, String> {
    let claims = attempt.claims.iter().zip(&attempt.chosen).enumerate();
    claims
        .map(|(index, (claim, chosen))| {
            if let Some(why) = problem_of_places(attempt, chosen) {
                let name = &claim.meta.name;
                return Err(format!("create NodeSelector for claim {name}: {why}"));
            }
            if detail == Detail::Alternatives {
                let named = chosen.iter().filter_map(|chosen| alternative(attempt, chosen));
                let devices = named.collect();
                return Ok(Allocation { devices, ..Allocation::default() });
            }
            let node_selector = node_selector(attempt, chosen);
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

/// Whether the API can say on which nodes the devices are reached.
pub(super) fn can_be_written(attempt: &Attempt<'_>) -> bool {
    attempt.chosen.iter().all(|chosen| problem_of_places(attempt, chosen).is_none())
}

/// Of a device for an alternative: which one it is. Nothing else counts before it is written.
fn alternative(attempt: &Attempt<'_>, chosen: &Chosen) -> Option<AllocatedDevice> {
    let request = attempt.requests.get(chosen.request)?;
    request.alternative?;
    let request = request.full_name();
    Some(AllocatedDevice { request, ..AllocatedDevice::default() })
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
            // 1.36 repeats it for each request. The API refuses more than it stores, so that one beyond
            // them is enough: all may be a thousand times the text of the claim.
            let named = chosen.iter().filter(|request| request.is_among(&config.requests)).count();
            let room = (CONFIGS_MAX + 1).saturating_sub(configs.len());
            if is_repaired { named.min(1) } else { named.min(room) }
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

/// Where the devices of a claim are reached.
fn places<'a>(
    attempt: &'a Attempt<'_>,
    chosen: &'a [Chosen],
) -> impl Iterator<Item = (&'a SlicePlace, &'a Device)> {
    let candidates = chosen.iter().filter_map(|chosen| attempt.candidate(chosen.place));
    candidates.map(|candidate| match candidate.slice.is_per_device {
        true => (&candidate.device.place, candidate.device),
        false => (&candidate.slice.place, candidate.device),
    })
}

fn is_only_here((place, device): (&SlicePlace, &Device)) -> bool {
    place.node_name.is_some() || device.binds_to_node
}

/// Why no selector of nodes can be made of them.
fn problem_of_places(attempt: &Attempt<'_>, chosen: &[Chosen]) -> Option<String> {
    let before_local = places(attempt, chosen).take_while(|place| !is_only_here(*place));
    let mut selectors = before_local.filter_map(|(place, _)| place.selector.as_ref());
    let refused = selectors.find(|written| written.selector.terms.len() > 1)?;
    let count = refused.selector.terms.len();
    Some(format!("unsupported ResourceSlice.NodeSelector with {count} terms"))
}

/// The nodes on which all devices are reached; `None`: all.
fn node_selector(attempt: &Attempt<'_>, chosen: &[Chosen]) -> Option<WrittenSelector> {
    let mut term = NodeSelectorTerm::default();
    let (mut fields, mut expressions) = (Vec::<Value>::new(), Vec::<Value>::new());
    for (place, device) in places(attempt, chosen) {
        if is_only_here((place, device)) {
            return Some(only(&attempt.node.node.name));
        }
        let Some(written) = &place.selector else { continue };
        let Some(more) = written.selector.terms.first() else { continue };
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
        return None;
    }
    let mut written = serde_json::Map::new();
    for (name, list) in [("matchExpressions", expressions), ("matchFields", fields)] {
        if !list.is_empty() {
            written.insert(name.to_owned(), list.into());
        }
    }
    let text = json!({"nodeSelectorTerms": [written]}).to_string().into();
    Some(WrittenSelector { selector: NodeSelector { terms: [term].into() }, text })
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
