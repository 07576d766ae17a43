//! The plugin's arguments: which constraints pods have that state none.

use crate::fields::{CONFLICT, Fields, OUT_OF_RANGE, Refusals};
use crate::model::SpreadConstraint;
use crate::release::Followed;
use crate::rules::tolerations::Operators;

use super::PodTopologySpread;

const SYSTEM: &str = "System";
const LIST: &str = "List";
const MUST: &str = "DoNotSchedule";
const SHOULD: &str = "ScheduleAnyway";
const HONOR: &str = "Honor";
const IGNORE: &str = "Ignore";

const COUNT_MAX: i64 = i32::MAX as i64;

/// kube-scheduler's default constraints of type `System`: topology key and `maxSkew`.
const SYSTEM_DEFAULTS: [(&str, i32); 2] =
    [("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5)];

/// Used by filter and score.
pub(crate) fn from_args(
    args: &mut Fields<'_>,
    followed: Followed,
    refusals: &mut Refusals,
) -> Option<PodTopologySpread> {
    let kind = choice(args, "defaultingType", Some(SYSTEM), [SYSTEM, LIST], refusals);
    let items = args.list("defaultConstraints", refusals)?;
    let mut listed = Vec::with_capacity(items.len());
    for (place, item) in items {
        let mut fields = Fields::of(item, place, refusals)?;
        listed.push(constraint(&mut fields, refusals));
        fields.finish(refusals);
    }
    let listed: Option<Vec<SpreadConstraint>> = listed.into_iter().collect();
    let (kind, listed) = (kind?, listed?);
    let is_system = kind == SYSTEM;
    if is_system && !listed.is_empty() {
        let place = args.place_of("defaultConstraints");
        refusals.add(CONFLICT, &place, "constraints beside defaultingType System", "say List");
        return None;
    }
    let defaults =
        if is_system { SYSTEM_DEFAULTS.map(system_default).into() } else { listed.into() };
    Some(PodTopologySpread { defaults, is_system, operators: Operators::of(followed) })
}

fn system_default((key, max_skew): (&str, i32)) -> SpreadConstraint {
    SpreadConstraint {
        max_skew,
        topology_key: key.into(),
        hard: false,
        label_selector: None,
        match_label_keys: Box::default(),
        min_domains: 1,
        honors_affinity: true,
        honors_taints: false,
    }
}

fn constraint(fields: &mut Fields<'_>, refusals: &mut Refusals) -> Option<SpreadConstraint> {
    let max_skew = fields.integer("maxSkew", 1..=COUNT_MAX, refusals);
    let key = fields.text("topologyKey", refusals);
    let hard = choice(fields, "whenUnsatisfiable", None, [MUST, SHOULD], refusals);
    let min_domains = fields.integer_or("minDomains", 1, 1..=COUNT_MAX, refusals);
    let affinity = choice(fields, "nodeAffinityPolicy", Some(HONOR), [HONOR, IGNORE], refusals);
    let taints = choice(fields, "nodeTaintsPolicy", Some(IGNORE), [HONOR, IGNORE], refusals);
    if key == Some("") {
        refusals.add(OUT_OF_RANGE, &fields.place_of("topologyKey"), "topologyKey is empty", "");
        return None;
    }
    Some(SpreadConstraint {
        max_skew: i32::try_from(max_skew?).ok()?,
        topology_key: key?.into(),
        hard: hard? == MUST,
        label_selector: None,
        match_label_keys: Box::default(),
        min_domains: i32::try_from(min_domains?).ok()?,
        honors_affinity: affinity? == HONOR,
        honors_taints: taints? == HONOR,
    })
}

fn choice<'a>(
    fields: &mut Fields<'a>,
    name: &'static str,
    default: Option<&'static str>,
    allowed: [&str; 2],
    refusals: &mut Refusals,
) -> Option<&'a str> {
    let chosen = match default {
        Some(default) => fields.text_or(name, default, refusals)?,
        None => fields.text(name, refusals)?,
    };
    if allowed.contains(&chosen) {
        return Some(chosen);
    }
    let hint = format!("{} or {}", allowed[0], allowed[1]);
    refusals.add(OUT_OF_RANGE, &fields.place_of(name), format!("{name} is {chosen:?}"), hint);
    None
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{PodTopologySpread, from_args};
    use crate::fields::{Fields, Refusals};
    use crate::release::Followed;

    fn read(args: &Value) -> Result<PodTopologySpread, Vec<String>> {
        let mut refusals = Refusals::default();
        let mut fields = Fields::of(args, "$", &mut refusals).unwrap();
        let made = from_args(&mut fields, Followed::default(), &mut refusals);
        fields.finish(&mut refusals);
        let refused = refusals.into_list();
        match made {
            Some(made) if refused.is_empty() => Ok(made),
            _ => Err(refused.iter().map(|one| format!("{} {}", one.code, one.place)).collect()),
        }
    }

    #[test]
    fn without_arguments_the_system_has_two_soft_constraints() {
        let made = read(&json!({})).unwrap();
        let keys: Vec<(&str, i32, bool)> =
            made.defaults.iter().map(|one| (&*one.topology_key, one.max_skew, one.hard)).collect();
        let (host, zone) = ("kubernetes.io/hostname", "topology.kubernetes.io/zone");
        assert_eq!(keys, [(host, 3, false), (zone, 5, false)]);
        assert!(made.is_system);
    }

    #[test]
    fn a_list_may_be_empty_or_say_everything() {
        let empty = read(&json!({"defaultingType": "List", "defaultConstraints": []})).unwrap();
        assert!(empty.defaults.is_empty() && !empty.is_system);
        let made = read(&json!({"defaultingType": "List", "defaultConstraints": [
            {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule",
             "minDomains": 3, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}]}));
        let made = made.unwrap();
        let one = &made.defaults[0];
        assert!(one.hard && one.honors_taints && !one.honors_affinity);
        assert_eq!((one.max_skew, one.min_domains), (2, 3));
    }

    #[test]
    fn what_contradicts_or_is_unknown_is_refused() {
        let one = |more: Value| {
            let mut item = json!({"maxSkew": 1, "topologyKey": "k",
                                  "whenUnsatisfiable": "ScheduleAnyway"});
            for (name, value) in more.as_object().unwrap() {
                item[name] = value.clone();
            }
            json!({"defaultingType": "List", "defaultConstraints": [item]})
        };
        let at = |name: &str| format!("$.defaultConstraints[0].{name}");
        let system = json!({"defaultConstraints": one(json!({}))["defaultConstraints"]});
        let table = [
            (system, "PR106 $.defaultConstraints".to_owned()),
            (json!({"defaultingType": "Some"}), "PR104 $.defaultingType".to_owned()),
            (one(json!({"maxSkew": 0})), format!("PR104 {}", at("maxSkew"))),
            (one(json!({"topologyKey": ""})), format!("PR104 {}", at("topologyKey"))),
            (one(json!({"whenUnsatisfiable": "No"})), format!("PR104 {}", at("whenUnsatisfiable"))),
            (one(json!({"labelSelector": {}})), format!("PR101 {}", at("labelSelector"))),
        ];
        for (args, refusal) in table {
            assert_eq!(read(&args), Err(vec![refusal]), "{args}");
        }
    }
}
