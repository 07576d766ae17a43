//! Advice is sound: each suggestion, made in the objects themselves and decided from scratch by another
//! engine, places the pod, and nothing smaller of its kind does.

use std::collections::BTreeMap;
use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Kind, Verdict};
use kpolicy_engine::engine::AdviceAsked;
use serde_json::{Value, json};

use crate::draw;
use crate::run::{Fault, Run, feed};
use crate::world::{Step, World};

/// Objects by kind and name, as they are fed to an engine.
type Objects = BTreeMap<(Kind, String), Value>;

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Advised {
    pub(crate) pods: usize,
    pub(crate) suggestions: usize,
    pub(crate) decisions: usize,
    /// Suggestions by kind.
    pub(crate) kinds: BTreeMap<String, usize>,
    /// Pods without any suggestion.
    pub(crate) helpless: usize,
}

/// A world as it is at its end, for engines that are made anew.
struct Ending<'w> {
    world: &'w World,
    program: Value,
    now_ns: i64,
    objects: Objects,
}

/// Whether a suggestion is falsified before it is judged, to see that this is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planted {
    Nothing,
    /// One change of several is left out, or an amount is one step too near to what it was.
    TooLittle,
    /// A change that is not needed comes on top.
    TooMuch,
}

impl Advised {
    pub(crate) fn add(&mut self, seed: u64, planted: Planted) -> Result<(), String> {
        let world = draw::world(seed);
        let Some(ending) = Ending::of(&world) else { return Ok(()) };
        let mut engine = ending.engine(&ending.program, &ending.objects);
        for pending in engine.pending() {
            let key = format!("{}/{}", pending.namespace, pending.name);
            let asked =
                AdviceAsked { pods: Some(vec![key.clone()]), limit: 1, ..AdviceAsked::default() };
            let before = engine.decide_from_scratch(&pending.uid);
            let lines = engine.advise(&asked);
            let after = engine.decide_from_scratch(&pending.uid);
            if before != after {
                return Err(format!(
                    "{key} is decided otherwise after advice on it: {before:?}, {after:?}"
                ));
            }
            // Several pods of one name: the first is advised on.
            let line = lines.split(|byte| *byte == b'\n').find(|line| !line.is_empty());
            let Some(line) = line else { continue };
            let told: Value = serde_json::from_slice(line).expect("a line is JSON");
            if told["situation"] != "fitsNowhere" {
                continue;
            }
            self.pods += 1;
            let suggestions = told["suggestions"].as_array().cloned().unwrap_or_default();
            self.helpless += usize::from(suggestions.is_empty());
            for suggestion in suggestions {
                self.suggestions += 1;
                let kind = suggestion["kind"].as_str().unwrap_or_default().to_owned();
                *self.kinds.entry(kind).or_default() += 1;
                self.judge(&ending, &pending.uid, &falsified(suggestion, planted))
                    .map_err(|why| format!("world {seed}, {key}: {why}"))?;
            }
        }
        Ok(())
    }

    fn judge(
        &mut self,
        ending: &Ending<'_>,
        uid: &Arc<str>,
        suggestion: &Value,
    ) -> Result<(), String> {
        let changes = suggestion["changes"].as_array().expect("changes are a list");
        if !self.places(ending, uid, changes)? {
            return Err(format!("this does not place it: {suggestion}"));
        }
        for position in 0..changes.len() {
            let mut smaller = changes.clone();
            let nearer = one_step_nearer(&changes[position]);
            if let Some(nearer) = nearer {
                smaller[position] = nearer;
                if self.places(ending, uid, &smaller)? {
                    return Err(format!("less of change {position} would do: {suggestion}"));
                }
            }
            smaller.clone_from(changes);
            smaller.remove(position);
            if self.places(ending, uid, &smaller)? {
                return Err(format!("it is placed without change {position}: {suggestion}"));
            }
        }
        Ok(())
    }

    fn places(
        &mut self,
        ending: &Ending<'_>,
        uid: &Arc<str>,
        changes: &[Value],
    ) -> Result<bool, String> {
        let (mut program, mut objects) = (ending.program.clone(), ending.objects.clone());
        let mut made = changes.to_vec();
        // Positions in the pod's spec are those before any change: the last ones go first.
        made.sort_by_key(|change| std::cmp::Reverse(change["position"].as_u64().unwrap_or(0)));
        for change in &made {
            make(change, uid, &mut program, &mut objects)
                .ok_or_else(|| format!("this cannot be made: {change}"))?;
        }
        self.decisions += 1;
        let decision = ending.engine(&program, &objects).decide_from_scratch(uid);
        Ok(decision.verdict == Verdict::Placed)
    }
}

impl<'w> Ending<'w> {
    /// `None` where what is promised is in no object yet.
    fn of(world: &'w World) -> Option<Self> {
        let (engine, twin) = (Engine::new(world.seed), Engine::new(world.seed));
        let mut run = Run::begin(world, Fault::None, engine, twin);
        for step in &world.steps {
            run.step(step).expect("the world is one that all agree on");
        }
        if run.engine.statistics().objects_promised > 0 {
            return None;
        }
        let loaded = world.steps.iter().rev().find_map(|step| match step {
            Step::Load(program) => world.programs.get(*program),
            _ => None,
        });
        let mut objects = Objects::new();
        for ((kind, name), object) in &run.shown {
            let mut object = object.clone();
            if *kind == Kind::Pod {
                let Some(entry) = run.engine.cluster().pods().get(name) else { continue };
                if let Some(node) = entry.node() {
                    let placed = run.placed.get(name).filter(|_| entry.is_assumed());
                    object = placed.cloned().unwrap_or(object);
                    object["spec"]["nodeName"] = json!(&**node);
                }
            }
            objects.insert((*kind, name.clone()), object);
        }
        Some(Self { world, program: loaded?.clone(), now_ns: run.now_ns, objects })
    }

    fn engine(&self, program: &Value, objects: &Objects) -> Engine {
        let mut engine = Engine::new(self.world.seed);
        engine.set_time(self.now_ns);
        engine.load(program).expect("the program is not refused");
        for object in objects.values() {
            feed(&mut engine, object);
        }
        engine
    }
}

/// The amount as it is, but one step nearer to what it was.
fn one_step_nearer(change: &Value) -> Option<Value> {
    let mut nearer = change.clone();
    match change["change"].as_str()? {
        "request" => {
            let (resource, to) = (change["resource"].as_str()?, change["to"].as_str()?);
            let steps = steps_of(resource, to) + 1;
            nearer["to"] = json!(written(resource, steps));
        }
        "constant" => {
            let (from, to) = (&change["from"], &change["to"]);
            nearer["to"] = match (from.as_i64(), to.as_i64()) {
                (Some(from), Some(to)) => json!(to + (from - to).signum()),
                _ => return None,
            };
        }
        _ => return None,
    }
    (nearer["to"] != change["from"]).then_some(nearer)
}

fn falsified(mut suggestion: Value, planted: Planted) -> Value {
    let changes = suggestion["changes"].as_array_mut().expect("changes are a list");
    match planted {
        Planted::Nothing => {}
        Planted::TooLittle => match changes.first().and_then(one_step_nearer) {
            Some(nearer) => changes[0] = nearer,
            None if changes.len() > 1 => changes.truncate(1),
            None => {}
        },
        Planted::TooMuch => {
            changes.push(json!({"change": "toleration", "key": "nobody", "operator": "Equal",
                                "value": "has", "effect": "NoSchedule"}));
        }
    }
    suggestion
}

/// Makes a change in the program or in an object.
fn make(change: &Value, uid: &str, program: &mut Value, objects: &mut Objects) -> Option<()> {
    let kind = change["change"].as_str()?;
    if let Some(node) = change["node"].as_str().filter(|_| kind != "room") {
        let node = objects.get_mut(&(Kind::Node, format!("/{node}")))?;
        return of_node(kind, change, node);
    }
    match kind {
        "room" => {
            let is_it = |(kind, _): &(Kind, String), object: &Value| {
                let meta = &object["metadata"];
                let key = format!("{}/{}", meta["namespace"].as_str()?, meta["name"].as_str()?);
                Some(*kind == Kind::Pod && change["pod"] == json!(key))
            };
            let on = &change["node"];
            let found = objects.iter().find(|(key, object)| {
                is_it(key, object) == Some(true) && object["spec"]["nodeName"] == *on
            });
            let key = found?.0.clone();
            objects.remove(&key).map(|_| ())
        }
        "rule" | "constant" => of_policy(kind, change, program),
        _ => of_pod(kind, change, objects.get_mut(&(Kind::Pod, uid.to_owned()))?),
    }
}

fn of_node(kind: &str, change: &Value, node: &mut Value) -> Option<()> {
    let is_same = |taint: &Value, name: &str| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        text(&taint[name]) == text(&change[name])
    };
    match kind {
        "taint" => {
            let taints = node["spec"]["taints"].as_array_mut()?;
            let before = taints.len();
            taints.retain(|taint| {
                !["key", "value", "effect"].iter().all(|name| is_same(taint, name))
            });
            return (taints.len() < before).then_some(());
        }
        "cordon" => node["spec"]["unschedulable"] = json!(false),
        "nodeLabel" => {
            let labels = node["metadata"]["labels"].as_object_mut()?;
            let key = change["key"].as_str()?;
            match &change["value"] {
                Value::Null => labels.remove(key)?,
                value => labels.insert(key.to_owned(), value.clone()).unwrap_or_default(),
            };
        }
        _ => return None,
    }
    Some(())
}

fn of_policy(kind: &str, change: &Value, program: &mut Value) -> Option<()> {
    let filters = program["profiles"][0]["filters"].as_array_mut()?;
    let position = filters.iter().position(|filter| filter["name"] == change["rule"])?;
    if kind == "rule" {
        filters.remove(position);
        return Some(());
    }
    let expression = &mut filters[position]["expression"];
    let part = usize::try_from(change["part"].as_u64()?).ok()?;
    let args = expression["nodes"][part]["args"].as_array()?.clone();
    let constant = args.iter().filter_map(Value::as_u64).find(|arg| {
        let node = &expression["nodes"][usize::try_from(*arg).unwrap_or(0)];
        let constant = node["constant"].as_u64().and_then(|index| usize::try_from(index).ok());
        constant
            .is_some_and(|index| number(&expression["constants"][index]) == number(&change["from"]))
    })?;
    let constants = expression["constants"].as_array_mut()?;
    let is_double = change["to"].is_f64();
    constants.push(match is_double {
        true => json!({"double": change["to"].to_string()}),
        false => change["to"].clone(),
    });
    let new = constants.len() - 1;
    expression["nodes"][usize::try_from(constant).ok()?]["constant"] = json!(new);
    Some(())
}

/// Doubles are written in a way of their own.
fn number(constant: &Value) -> Option<f64> {
    constant.as_f64().or_else(|| constant["double"].as_str()?.parse().ok())
}

fn of_pod(kind: &str, change: &Value, pod: &mut Value) -> Option<()> {
    let position = usize::try_from(change["position"].as_u64().unwrap_or(0)).ok()?;
    let spec = &mut pod["spec"];
    let remove = |list: &mut Value| list.as_array_mut()?.get(position).is_some().then_some(());
    match kind {
        "request" => return lower(change, spec),
        "toleration" => {
            let mut toleration = change.clone();
            toleration.as_object_mut()?.remove("change");
            match spec["tolerations"].as_array_mut() {
                Some(own) => own.push(toleration),
                None => spec["tolerations"] = json!([toleration]),
            }
        }
        "nodeSelector" => {
            spec["nodeSelector"].as_object_mut()?.remove(change["key"].as_str()?)?;
        }
        "nodeAffinity" => {
            let required = &mut spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
            let term = usize::try_from(change["term"].as_u64()?).ok()?;
            let own = &mut required["nodeSelectorTerms"][term];
            own[change["list"].as_str()?].as_array_mut()?.remove(position);
            let is_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
            if is_empty(&own["matchExpressions"]) && is_empty(&own["matchFields"]) {
                spec["affinity"]["nodeAffinity"]
                    .as_object_mut()?
                    .remove("requiredDuringSchedulingIgnoredDuringExecution");
            }
        }
        "topologySpread" => {
            remove(&mut spec["topologySpreadConstraints"])?;
            spec["topologySpreadConstraints"].as_array_mut()?.remove(position);
        }
        "podAffinity" | "podAntiAffinity" => {
            let list =
                &mut spec["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"];
            remove(list)?;
            list.as_array_mut()?.remove(position);
        }
        "podLabel" => {
            let labels = pod["metadata"]["labels"].as_object_mut()?;
            labels.insert(change["key"].as_str()?.to_owned(), change["value"].clone());
        }
        _ => return None,
    }
    Some(())
}

/// Lowers what the containers request together, the first container first.
fn lower(change: &Value, spec: &mut Value) -> Option<()> {
    let resource = change["resource"].as_str()?;
    let steps = |text: &Value| Some(steps_of(resource, text.as_str()?));
    let mut left = steps(&change["from"])? - steps(&change["to"])?;
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            let request = &mut container["resources"]["requests"][resource];
            let Some(own) = steps(request) else { continue };
            let taken = left.min(own);
            left -= taken;
            *request = json!(written(resource, own - taken));
        }
    }
    (left == 0).then_some(())
}

/// In thousandths of a processor, or in whole units.
fn steps_of(resource: &str, text: &str) -> i64 {
    let number = |text: &str| text.parse::<i64>().unwrap_or_else(|_| panic!("{text} is a number"));
    let suffixes = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40)];
    if resource == "cpu" {
        return text.strip_suffix('m').map_or_else(|| number(text) * 1_000, number);
    }
    for (suffix, bits) in suffixes {
        if let Some(text) = text.strip_suffix(suffix) {
            return number(text) << bits;
        }
    }
    let decimal = [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
    for (suffix, times) in decimal {
        if let Some(text) = text.strip_suffix(suffix) {
            return number(text) * times;
        }
    }
    number(text)
}

fn written(resource: &str, steps: i64) -> String {
    if resource == "cpu" { format!("{steps}m") } else { steps.to_string() }
}
