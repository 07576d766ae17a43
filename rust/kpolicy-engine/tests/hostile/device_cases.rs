//! Claims, classes, slices and taint rules of devices that cost as much as they can: what is published,
//! and what the pod asks for.

use std::collections::BTreeMap;

use kpolicy_engine::Engine;
use kpolicy_engine::api::Verdict;
use serde_json::{Value, json};

use crate::cluster::{OBJECT_BYTES_MAX, node_name, pod};
use crate::device_objects::{
    DRIVER, Look, Objects, all, allocated, ask, claim, class, distinct, lists, matching,
    nodes_with_devices, on_alike_nodes, on_each_node, pod_with, requests, slice, taint_rule,
    without_devices,
};
use crate::draws::Draws;

/// What finding devices may take on each of 5,000 nodes.
const UNITS_A_NODE: u64 = 500;
/// What finding devices may take on each kind of nodes where there are 1,024 kinds of them.
const UNITS_OF_ALIKE: u64 = 2_500_000 / 1_024;

/// What a case publishes, and the claims of its pod.
pub(crate) struct Case {
    pub name: &'static str,
    pub description: String,
    /// What must come of the pod, where one knows.
    pub verdict: Option<Verdict>,
    /// The same where 1.36 is followed, if it is not what comes of it otherwise.
    pub as_1_36: Option<Verdict>,
    pub published: Objects,
    /// The most that a node with devices may take, in units.
    pub units_max: u64,
    pub claims: Vec<Value>,
    /// Where the pod has more than these claims.
    pub pod: Option<Value>,
}

impl Case {
    fn of(
        name: &'static str,
        verdict: impl Into<Option<Verdict>>,
        published: impl Iterator<Item = Value> + 'static,
        claim_spec: Value,
    ) -> Self {
        let (verdict, description) = (verdict.into(), String::new());
        let claims = vec![claim("own", claim_spec)];
        let (published, units_max) = (Box::new(published), u64::MAX);
        Self { name, description, verdict, as_1_36: None, published, units_max, claims, pod: None }
    }

    /// A group of nodes may take so much at most.
    fn within(self, units_max: u64) -> Self {
        Self { units_max, ..self }
    }

    /// Of a node's share, only a part may be taken.
    fn with_room(self, times: u64) -> Self {
        Self { units_max: UNITS_A_NODE / times, ..self }
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

    pub(crate) fn text(&self, name: &str) -> &str {
        &self.0.get(name).expect("there is a selector of this name").0
    }

    pub(crate) fn many(&self) -> Vec<&str> {
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

fn with_class(published: Objects) -> Objects {
    Box::new(published.chain([class("c", &[])]))
}

fn plain(devices: usize) -> Objects {
    looking(devices, Look::default())
}

fn looking(devices: usize, look: Look) -> Objects {
    with_class(on_each_node(devices, look, 1))
}

/// As people have them, with the room that they leave.
pub(crate) fn ordinary(selectors: &Selectors) -> Vec<Case> {
    let (own, refusing) = (selectors.text("ordinary"), selectors.text("refusing"));
    let look = Look { attributes: 8, capacities: 2, ..Look::default() };
    let count = |count: usize| json!({"requests": requests(1, &ask(count, &[own]))});
    let of_driver = |devices: usize| {
        on_each_node(devices, look, 1).chain([class("c", &[selectors.text("driver")])])
    };
    let used = move |devices: usize| {
        let nodes = 0..nodes_with_devices(devices, look);
        let left = move |index: usize| 0..devices - 4 + index % 5;
        nodes.map(move |index| allocated(&format!("used-{index}"), &node_name(index), left(index)))
    };
    let refused = || json!({"requests": requests(1, &ask(1, &[refusing]))});
    let other = || json!({"requests": requests(1, &ask(1, &[selectors.text("other")]))});
    let all_of = || json!({"requests": requests(1, &all())});
    let constrained =
        || json!({"requests": requests(4, &ask(1, &[own])), "constraints": matching(1, "model")});
    vec![
        Case::of("one of 64 devices", Verdict::Placed, of_driver(64), count(1)).with_room(4),
        Case::of("8 of 64 devices", Verdict::Placed, of_driver(64), count(8)).with_room(2),
        Case::of(
            "60 to 64 of 64 devices in use",
            Verdict::Placed,
            of_driver(64).chain(used(64)),
            count(1),
        )
        .with_room(2),
        Case::of("none of 64 devices will do", Verdict::Parked, looking(64, look), other()),
        Case::of("one of 8 devices", Verdict::Placed, of_driver(8), count(1)).with_room(4),
        Case::of("all of 8 devices", Verdict::Placed, looking(8, look), all_of()).with_room(3),
        Case::of("none of 8 devices will do", Verdict::Parked, looking(8, look), refused())
            .with_room(2),
        Case::of(
            "4 to 8 of 8 devices in use",
            Verdict::Placed,
            of_driver(8).chain(used(8)),
            count(1),
        )
        .with_room(4),
        Case::of("4 requests and a constraint", Verdict::Placed, looking(64, look), constrained())
            .with_room(2),
    ]
}

/// What would take too much if each of 5,000 nodes were asked: nodes are alike but for the numbers of
/// their devices.
pub(crate) fn on_nodes_that_are_alike(selectors: &Selectors) -> Vec<Case> {
    let own = selectors.text("ordinary");
    let look = Look { attributes: 8, capacities: 2, has_serials: true, ..Look::default() };
    let counting = Look { counters: 8, ..look };
    let published = |devices: usize, look: Look| with_class(on_alike_nodes(devices, look, 1));
    let count = |count: usize, text: &str| json!({"requests": requests(1, &ask(count, &[text]))});
    let used = move |devices: usize| {
        let nodes = 0..nodes_with_devices(devices, look);
        let left = move |index: usize| 0..devices - 24 + index % 25;
        nodes.map(move |index| allocated(&format!("used-{index}"), &node_name(index), left(index)))
    };
    let constrained =
        || json!({"requests": requests(4, &ask(1, &[own])), "constraints": matching(1, "model")});
    let listed = || json!({"requests": lists(4, 2, &ask(2, &[own]))});
    let by_index = selectors.text("many-31");
    let configs = || {
        let names: Vec<String> = (0..32).map(|index| format!("r{index}")).collect();
        let text = "x".repeat(10_000);
        let config = json!({"requests": names, "opaque": {"driver": DRIVER,
            "parameters": {"text": text}}});
        Value::Array(vec![config; 32])
    };
    vec![
        Case::of("32 of 64 devices", Verdict::Placed, published(64, look), count(32, own)),
        Case::of("one by its index", Verdict::Placed, published(64, look), count(1, by_index)),
        Case::of(
            "16 of 64 devices, 40 to 64 in use",
            Verdict::Placed,
            Box::new(published(64, look).chain(used(64))),
            count(16, by_index),
        ),
        Case::of(
            "none of 64 devices will do",
            Verdict::Parked,
            published(64, look),
            count(1, selectors.text("refusing")),
        ),
        Case::of(
            "4 requests of 8 counters",
            Verdict::Placed,
            published(64, counting),
            constrained(),
        ),
        Case::of("4 lists of 2", Verdict::Placed, published(8, look), listed()),
        Case::of(
            "32 configurations that name 32 requests",
            Verdict::Placed,
            published(32, Look::default()),
            json!({"requests": requests(32, &ask(1, &[])), "config": configs()}),
        ),
    ]
    .into_iter()
    .map(|case| case.within(UNITS_OF_ALIKE))
    .collect()
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
            looking(64, Look { capacities: 28, values: 4, counters: 32, ..Look::default() }),
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
            looking(64, Look { capacities: 28, values: 4, is_shared: true, ..Look::default() }),
            json!({"requests": refused()}),
        ),
    ]
}

/// Large objects, and many of them.
pub(crate) fn large(selectors: &Selectors) -> Vec<Case> {
    let own = selectors.text("ordinary");
    let one = || json!({"requests": requests(1, &ask(1, &[own]))});
    let for_all = |slices: usize, place: Value| {
        let published = (0..slices).map(move |index| {
            let devices = index * 64..(index + 1) * 64;
            let name = format!("slice-{index:05}");
            slice(&name, ("shared", slices), &place, devices, Look::default())
        });
        published.chain([class("c", &[])])
    };
    let selected = json!({"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "common00", "operator": "In", "values": ["v0"]}]}]}});
    let of_driver = |index: usize| taint_rule(index, &json!({"driver": DRIVER}));
    let of_one = |index: usize| {
        let pool = node_name(index);
        taint_rule(index, &json!({"driver": DRIVER, "pool": pool, "device": "device-000"}))
    };
    let ruled = plain(8).chain((0..2_000).map(of_driver));
    let name = "2,000 taint rules for all devices";
    let tainted = Case::of(name, Verdict::SetAside, ruled, one());
    let tainted_by_name = plain(8).chain((0..5_000).map(of_one));
    let mut many_claims = Case::of("64 claims", Verdict::SetAside, plain(64), one());
    many_claims.claims = (0..64).map(|index| claim(&format!("c{index}"), one())).collect();
    let mut repeated = Case::of("one claim 16,000 times", Verdict::SetAside, plain(8), one());
    repeated.pod = Some(pod_with(&vec!["own".to_owned(); 16_000]));
    let classes: Vec<Value> = (0..200)
        .map(|index| {
            let mut class = class(&format!("c{index}"), &[own]);
            class["spec"]["extendedResourceName"] = json!(format!("x.com/r{index}"));
            class
        })
        .collect();
    let published = plain(32).chain(classes);
    let name = "200 resources with classes behind them";
    let mut behind = Case::of(name, Verdict::SetAside, published, one());
    let amounts: BTreeMap<String, Value> =
        (0..200).map(|index| (format!("x.com/r{index}"), json!("1"))).collect();
    behind.pod = Some(pod(
        "devices",
        json!({"containers": [{"name": "c", "image": "i",
        "resources": {"requests": amounts, "limits": amounts}}]}),
    ));
    let beside = |index: usize| allocated(&format!("used-{index}"), &node_name(index), 0..1);
    let published = plain(8).chain((0..20_000).map(beside));
    let reserved = Case::of("20,000 claims beside it", Verdict::Placed, published, one());
    // 1.36 shows counters to every node, and has no rules that taint devices.
    let halves = |pools: usize| plain(8).chain(without_devices(pools));
    let many_halves =
        Case::of("counters of 40 pools that are not whole", Verdict::Placed, halves(40), one());
    vec![
        Case::of("counters of 20 pools that are not whole", Verdict::Placed, halves(20), one()),
        Case { as_1_36: Some(Verdict::SetAside), ..many_halves },
        Case::of(
            "1,000 slices for every node",
            Verdict::Placed,
            for_all(1_000, json!({"allNodes": true})),
            one(),
        ),
        Case::of(
            "1,000 slices for selected nodes",
            Verdict::SetAside,
            for_all(1_000, selected),
            one(),
        ),
        Case { as_1_36: Some(Verdict::Placed), ..tainted },
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
        values: up_to(8),
        taints: up_to(32) / 4,
        counters: up_to(32) / 2,
        is_shared: up_to(8) == 8,
        has_serials: up_to(2) == 2,
    };
    let (devices, requests_count, alternatives) =
        (up_to(64).max(1), up_to(32).max(1), up_to(8).max(1));
    let (constraints, texts, count) = (up_to(32), up_to(32), up_to(4).max(1));
    let step = if draws.one_in(3) { 10 } else { 1 };
    let published = match draws.one_in(2) {
        true => on_each_node(devices, look, step),
        false => on_alike_nodes(devices, look, step),
    };
    let names: Vec<&(String, Value)> = selectors.0.values().collect();
    let mut texts: Vec<&str> = (0..texts).map(|_| draws.pick(&names).0.as_str()).collect();
    let (is_all, are_lists) = (draws.one_in(4), !draws.one_in(2));
    let constrained = match draws.below(3) {
        0 => matching(constraints, "model"),
        1 => matching(constraints, "index"),
        _ => distinct("index"),
    };
    let spec_of = |texts: &[&str]| {
        let own = if is_all { all() } else { ask(count, texts) };
        let wanted = match are_lists {
            true => lists(requests_count, alternatives, &own),
            false => requests(requests_count, &own),
        };
        json!({"requests": wanted, "constraints": constrained})
    };
    let name = "random";
    // An API server accepts a claim with as many selectors as fit into an object.
    let mut spec = spec_of(&texts);
    while claim(name, spec.clone()).to_string().len() > OBJECT_BYTES_MAX && texts.pop().is_some() {
        spec = spec_of(&texts);
    }
    let description = format!(
        "{devices} devices on one of {step} nodes, {look:?}, {requests_count} requests of {alternatives}: \
         {} selectors, {count} each, {constraints} constraints",
        texts.len()
    );
    Case { description, ..Case::of(name, None, with_class(published), spec) }
}
