//! Claims, classes, slices and taint rules of devices that cost as much as they can: what is published,
//! and what the pod asks for.

use std::collections::BTreeMap;

use kpolicy_engine::Engine;
use kpolicy_engine::api::Verdict;
use serde_json::{Value, json};

use crate::cluster::{NODES, node_name, pod};
use crate::device_objects::{
    DRIVER, Look, all, allocated, ask, claim, class, distinct, lists, matching, on_each_node,
    pod_with, requests, slice, taint_rule,
};
use crate::draws::Draws;

/// What a case publishes, and the claims of its pod.
pub(crate) struct Case {
    pub name: &'static str,
    pub description: String,
    /// What must come of the pod, where one knows.
    pub verdict: Option<Verdict>,
    pub published: Vec<Value>,
    pub claims: Vec<Value>,
    /// Where the pod has more than these claims.
    pub pod: Option<Value>,
}

impl Case {
    fn of(
        name: &'static str,
        verdict: impl Into<Option<Verdict>>,
        published: Vec<Value>,
        claim_spec: Value,
    ) -> Self {
        let (verdict, description) = (verdict.into(), String::new());
        let claims = vec![claim("own", claim_spec)];
        Self { name, description, verdict, published, claims, pod: None }
    }

    pub(crate) fn pod(&self) -> Value {
        let names = self.claims.iter().map(|claim| claim["metadata"]["name"].as_str());
        let names: Vec<String> = names.flatten().map(str::to_owned).collect();
        self.pod.clone().unwrap_or_else(|| pod_with(&names))
    }
}

/// Texts of selectors by name, and what they compile to.
pub(crate) struct Selectors(BTreeMap<String, (String, Value)>);

impl Selectors {
    pub(crate) fn read() -> Self {
        let lines: Vec<Value> = serde_json::from_str(include_str!("device_selectors.json"))
            .expect("the selectors are JSON");
        let text = |line: &Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();
        let each =
            |line: &Value| (text(line, "name"), (text(line, "text"), line["expression"].clone()));
        Self(lines.iter().map(each).collect())
    }

    fn text(&self, name: &str) -> &str {
        &self.0.get(name).expect("there is a selector of this name").0
    }

    fn many(&self) -> Vec<&str> {
        (0..32).map(|number| self.text(&format!("many-{number:02}"))).collect()
    }

    /// Gives the engine what it wants compiled.
    pub(crate) fn load(&self, engine: &mut Engine) {
        let wanted = engine.wanted_selectors();
        let found = self.0.values().filter(|(text, _)| wanted.contains(text));
        let compiled: Vec<(String, Result<Value, String>)> =
            found.map(|(text, expression)| (text.clone(), Ok(expression.clone()))).collect();
        engine.load_selectors(&compiled);
        assert!(engine.wanted_selectors().is_empty(), "a selector is not compiled");
    }
}

fn plain(devices: usize) -> Vec<Value> {
    let mut published = on_each_node(devices, Look::default());
    published.push(class("c", &[]));
    published
}

fn looking(devices: usize, look: Look) -> Vec<Value> {
    let mut published = on_each_node(devices, look);
    published.push(class("c", &[]));
    published
}

/// As people have them.
pub(crate) fn ordinary(selectors: &Selectors) -> Vec<Case> {
    let (own, refusing) = (selectors.text("ordinary"), selectors.text("refusing"));
    let look = Look { attributes: 8, capacities: 2, ..Look::default() };
    let counting = Look { counters: 8, ..look };
    let one = |text: &str| json!({"requests": requests(1, &ask(1, &[text]))});
    let mut in_use = looking(8, look);
    in_use.extend(
        (0..NODES)
            .map(|index| allocated(&format!("used-{index}"), &node_name(index), 0..4 + index % 5)),
    );
    vec![
        Case::of("8 devices, one is asked for", Verdict::Placed, looking(8, look), one(own)),
        Case::of(
            "8 devices, all are",
            Verdict::Placed,
            looking(8, look),
            json!({"requests": requests(1, &all())}),
        ),
        Case::of("8 devices, none will do", Verdict::Parked, looking(8, look), one(refusing)),
        Case::of("8 devices, 4 to 8 in use", Verdict::Placed, in_use, one(own)),
        Case::of(
            "64 devices with counters, 4 requests, a constraint",
            Verdict::Placed,
            looking(64, counting),
            json!({"requests": requests(4, &ask(1, &[own])), "constraints": matching(1, "model")}),
        ),
        Case::of(
            "64 devices with counters, none will do",
            Verdict::Parked,
            looking(64, counting),
            one(refusing),
        ),
        Case::of(
            "8 devices on one of ten nodes, 8 lists",
            Verdict::Placed,
            looking(8, look).into_iter().step_by(10).chain([class("c", &[])]).collect(),
            json!({"requests": lists(4, 2, &ask(2, &[own]))}),
        ),
    ]
}

/// Claims that search long.
pub(crate) fn searching(selectors: &Selectors) -> Vec<Case> {
    let own = selectors.text("ordinary");
    let look = Look { attributes: 8, ..Look::default() };
    let dear = |name: &str| json!({"requests": requests(1, &ask(1, &[selectors.text(name)]))});
    let refused = || {
        let mut asks: Vec<Value> = (0..31)
            .map(|index| json!({"name": format!("r{index}"), "exactly": ask(1, &[])}))
            .collect();
        asks.push(json!({"name": "last", "exactly": ask(1, &[selectors.text("refusing")])}));
        Value::Array(asks)
    };
    vec![
        Case::of(
            "32 lists of 8 alternatives with 32 selectors",
            Verdict::SetAside,
            looking(32, look),
            json!({"requests": lists(32, 8, &ask(1, &selectors.many()))}),
        ),
        Case::of(
            "the last of 32 requests fails",
            Verdict::SetAside,
            plain(40),
            json!({"requests": refused()}),
        ),
        Case::of(
            "32 constraints, 32 requests",
            Verdict::SetAside,
            looking(64, look),
            json!({"requests": requests(32, &ask(1, &[own])), "constraints": matching(32, "index")}),
        ),
        Case::of(
            "distinct values of one model",
            Verdict::SetAside,
            plain(32),
            json!({"requests": requests(4, &ask(2, &[])), "constraints": distinct("model")}),
        ),
        Case::of("a selector with loops", Verdict::SetAside, plain(8), dear("loops")),
        Case::of("a selector with a pattern", Verdict::SetAside, plain(8), dear("pattern")),
        Case::of("a wide selector", Verdict::SetAside, plain(8), dear("wide")),
        Case::of(
            "counters and capacities of 64 devices",
            Verdict::SetAside,
            looking(64, Look { capacities: 28, counters: 32, ..Look::default() }),
            json!({"requests": refused()}),
        ),
        Case::of(
            "16 taints, tolerated late",
            Verdict::SetAside,
            looking(64, Look { taints: 16, ..Look::default() }),
            json!({"requests": requests(32, &ask(1, &[]))}),
        ),
        Case::of(
            "shares of 64 devices",
            Verdict::SetAside,
            looking(64, Look { capacities: 28, is_shared: true, ..Look::default() }),
            json!({"requests": refused()}),
        ),
    ]
}

/// Large objects, and many of them.
pub(crate) fn large(selectors: &Selectors) -> Vec<Case> {
    let own = selectors.text("ordinary");
    let configs = || -> Value {
        let names: Vec<String> = (0..32).map(|index| format!("r{index}")).collect();
        let config = |_| {
            json!({"requests": names, "opaque": {"driver": DRIVER,
                "parameters": {"text": "x".repeat(10_000)}}})
        };
        (0..32).map(config).collect()
    };
    let one = || json!({"requests": requests(1, &ask(1, &[own]))});
    let for_all = |slices: usize, place: Value| {
        let mut published: Vec<Value> = (0..slices)
            .map(|index| {
                let name = format!("slice-{index:05}");
                slice(
                    &name,
                    ("shared", slices),
                    &place,
                    index * 64..(index + 1) * 64,
                    Look::default(),
                )
            })
            .collect();
        published.push(class("c", &[]));
        published
    };
    let selected = json!({"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "common00", "operator": "In", "values": ["v0"]}]}]}});
    let mut tainted = plain(8);
    tainted.extend((0..2_000).map(|index| taint_rule(index, &json!({"driver": DRIVER}))));
    let mut tainted_by_name = plain(8);
    tainted_by_name.extend((0..5_000).map(|index| {
        taint_rule(
            index,
            &json!({"driver": DRIVER, "pool": node_name(index), "device": "device-000"}),
        )
    }));
    let mut many_claims = Case::of("64 claims", Verdict::SetAside, plain(64), one());
    many_claims.claims = (0..64).map(|index| claim(&format!("c{index}"), one())).collect();
    let mut repeated = Case::of("one claim 16,000 times", Verdict::SetAside, plain(8), one());
    repeated.pod = Some(pod_with(&vec!["own".to_owned(); 16_000]));
    let mut behind =
        Case::of("200 resources with classes behind them", Verdict::SetAside, plain(32), one());
    let amounts: BTreeMap<String, Value> =
        (0..200).map(|index| (format!("x.com/r{index}"), json!("1"))).collect();
    for index in 0..200 {
        let mut class = class(&format!("c{index}"), &[own]);
        class["spec"]["extendedResourceName"] = json!(format!("x.com/r{index}"));
        behind.published.push(class);
    }
    behind.pod = Some(pod(
        "devices",
        json!({"containers": [{"name": "c", "image": "i",
        "resources": {"requests": amounts, "limits": amounts}}]}),
    ));
    let mut reserved = Case::of("20,000 claims beside it", Verdict::Placed, plain(8), one());
    reserved.published.extend(
        (0..20_000).map(|index| allocated(&format!("used-{index}"), &node_name(index), 0..1)),
    );
    vec![
        Case::of(
            "32 configurations that name 32 requests",
            Verdict::Placed,
            plain(32),
            json!({"requests": requests(32, &ask(1, &[])), "config": configs()}),
        ),
        Case::of(
            "1,000 slices for every node",
            Verdict::SetAside,
            for_all(1_000, json!({"allNodes": true})),
            one(),
        ),
        Case::of(
            "1,000 slices for selected nodes",
            Verdict::SetAside,
            for_all(1_000, selected),
            one(),
        ),
        Case::of("2,000 taint rules for all devices", Verdict::SetAside, tainted, one()),
        Case::of("5,000 taint rules, each for one device", Verdict::Placed, tainted_by_name, one()),
        many_claims,
        repeated,
        behind,
        reserved,
    ]
}

/// Anything, small and large numbers alike.
pub(crate) fn any(draws: &mut Draws, selectors: &Selectors) -> Case {
    let mut up_to = |most: usize| (1 << draws.below(8)).min(most) * (1 + draws.below(2)) / 2;
    let look = Look {
        attributes: up_to(28),
        capacities: up_to(4) * up_to(4),
        taints: up_to(32) / 4,
        counters: up_to(32) / 2,
        is_shared: up_to(8) == 8,
    };
    let (devices, requests_count, alternatives) =
        (up_to(64).max(1), up_to(32).max(1), up_to(8).max(1));
    let (constraints, texts, count) = (up_to(32), up_to(32), up_to(4).max(1));
    let step = if draws.one_in(3) { 10 } else { 1 };
    let mut published: Vec<Value> = on_each_node(devices, look).into_iter().step_by(step).collect();
    published.push(class("c", &[]));
    let names: Vec<&(String, Value)> = selectors.0.values().collect();
    let texts: Vec<&str> = (0..texts).map(|_| draws.pick(&names).0.as_str()).collect();
    let own = if draws.one_in(4) { all() } else { ask(count, &texts) };
    let wanted = match draws.one_in(2) {
        true => requests(requests_count, &own),
        false => lists(requests_count, alternatives, &own),
    };
    let constrained = match draws.below(3) {
        0 => matching(constraints, "model"),
        1 => matching(constraints, "index"),
        _ => distinct("index"),
    };
    let name = "random";
    let spec = json!({"requests": wanted, "constraints": constrained});
    let description = format!(
        "{devices} devices on one of {step} nodes, {look:?}, {requests_count} requests of {alternatives}: \
         {} selectors, {count} each, {constraints} constraints",
        texts.len()
    );
    Case { description, ..Case::of(name, None, published, spec) }
}
