//! Every decision equals one from scratch: random worlds, random changes in between, random programs.
//!
//! `KPOLICY_WORLDS` says how many worlds, `KPOLICY_WORLD_FIRST` the seed of the first one; `make
//! worlds` runs ten thousand. A world that shows a difference is made small and written to a file;
//! `KPOLICY_WORLD_FILE` lives through such a file again. `KPOLICY_WORLDS_OBSERVED` is for this test alone:
//! where another process of it writes what it decided.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod advice;
mod afterwards;
mod bound;
mod changes;
mod devices;
mod draw;
mod draws;
mod live;
mod objects;
mod programs;
mod run;
mod seen;
mod shrink;
mod storage;
#[path = "../support/mod.rs"]
mod support;
mod two_steps;
mod wakes;
mod world;

use std::process::Command;
use std::str::FromStr;
use std::sync::Arc;
use std::{env, fs, panic};

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, Kind, Still};
use kpolicy_engine::rules::catalog;
use serde_json::json;

use advice::{Advised, Planted};
use draws::Draws;
use live::{live, live_with};
use run::{Difference, Fault};
use seen::Seen;
use world::World;

/// About twenty seconds' worth without optimisation.
const WORLDS: u64 = 250;
const THREADS: u8 = 2;

fn number<T: FromStr>(name: &str, default: T) -> T {
    match env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number")),
        Err(_) => default,
    }
}

fn report(world: &World, found: &Difference) -> String {
    let small = shrink::shrink(world, Fault::None);
    let what = live(&small, Fault::None).err().unwrap_or_else(|| found.clone());
    let text = small.text();
    let path = env::temp_dir().join(format!("kpolicy-world-{}.jsonl", world.seed));
    let _ = fs::write(&path, &text);
    format!(
        "world {} differs at step {}: {}\nmade small, it differs at step {}: {}\n{text}\
         again: KPOLICY_WORLD_FILE={} cargo test -p kpolicy-engine --test worlds every\n\
         as drawn: KPOLICY_WORLD_FIRST={} KPOLICY_WORLDS=1 cargo test -p kpolicy-engine --test worlds every",
        world.seed,
        found.step,
        found.what,
        what.step,
        what.what,
        path.display(),
        world.seed
    )
}

fn live_through(seeds: impl Iterator<Item = u64>) -> Result<Seen, String> {
    let mut seen = Seen::default();
    for seed in seeds {
        let world = draw::world(seed);
        for program in &world.programs {
            if let Err(refusals) = Engine::new(0).load(program) {
                return Err(format!("programs.rs draws what is refused: {refusals:#?}"));
            }
        }
        match live(&world, Fault::None) {
            Ok((some, _)) => seen.add(&some),
            Err(found) => return Err(report(&world, &found)),
        }
    }
    Ok(seen)
}

/// Differences that are panics are caught and reported, not printed one by one.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let observed = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let done = work();
    panic::set_hook(observed);
    done
}

#[test]
fn every_decision_equals_one_from_scratch() {
    if let Ok(path) = env::var("KPOLICY_WORLD_FILE") {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let (seen, observed) = live(&World::read(&text), Fault::None)
            .unwrap_or_else(|found| panic!("step {}: {}", found.step, found.what));
        println!("{observed}");
        println!("{seen:?}");
        return;
    }
    let worlds = number("KPOLICY_WORLDS", WORLDS);
    let first = number("KPOLICY_WORLD_FIRST", 1);
    let last: u64 = first + worlds;
    let found = quietly(|| {
        std::thread::scope(|scope| {
            let of = |thread: u8| (first + u64::from(thread)..last).step_by(THREADS.into());
            let running: Vec<_> =
                (0..THREADS).map(|thread| scope.spawn(move || live_through(of(thread)))).collect();
            running.into_iter().map(|each| each.join().expect("a thread ends")).collect::<Vec<_>>()
        })
    });
    let mut seen = Seen::default();
    for part in found {
        seen.add(&part.unwrap_or_else(|report| panic!("{report}")));
    }
    println!("{seen:#?}");
    let worlds = usize::try_from(worlds).expect("it is a count");
    assert_eq!(seen.worlds, worlds);
    // That there was enough of everything to see. What is rare comes many times in one world and then
    // not in a hundred, so that in few worlds it only has to occur.
    for (what, count, at_least_in_ten_worlds) in [
        ("steps", seen.steps, 400),
        ("decisions", seen.decisions, 100),
        ("placed", seen.placed, 30),
        ("parked", seen.parked, 30),
        ("preempting", seen.preempting, 1),
        ("in batches", seen.in_batches, 10),
        ("in two steps", seen.in_two_steps, 5),
        ("promised", seen.promised, 1),
        ("rebuilt", seen.rebuilt, 10),
        ("uncached", seen.uncached, 10),
        ("listed for paths", seen.listed_for_paths, 1),
        ("woken", seen.woken, 10),
    ] {
        let wanted = match worlds {
            ..ENOUGH_WORLDS => 0,
            ENOUGH_WORLDS..WORLDS_OF_EVERYTHING => 1,
            _ => at_least_in_ten_worlds * worlds / 10,
        };
        assert!(count >= wanted, "{what}: {count}, wanted {wanted}");
    }
    let missing = never_seen(&seen);
    assert!(worlds < WORLDS_OF_EVERYTHING || missing.is_empty(), "never seen: {missing:#?}");
}

/// In fewer worlds, what is looked for may not occur.
const ENOUGH_WORLDS: usize = 250;
/// In fewer worlds, what is rare may not occur.
const WORLDS_OF_EVERYTHING: usize = 2000;

/// The kinds of changes, the facts and the built-ins that did not occur once.
fn never_seen(seen: &Seen) -> Vec<String> {
    let of_kinds = Kind::ALL.into_iter().flat_map(|kind| {
        let is_in_parts = matches!(kind, Kind::Node | Kind::Pod);
        let words: &[&str] =
            if is_in_parts { &["added", "removed"] } else { &["added", "changed", "removed"] };
        words.iter().map(move |word| format!("{} {word}", kind.name()))
    });
    let of_parts = |what: &'static str, parts: &'static [(&str, &str)]| {
        parts.iter().map(move |(part, _)| format!("{what}.{part}"))
    };
    let changes = of_kinds
        .chain(of_parts("Node", &changes::NODE_PARTS))
        .chain(of_parts("waiting Pod", &changes::POD_PARTS[..7]))
        .chain(of_parts("placed Pod", &changes::POD_PARTS))
        .filter(|name| name != "placed Pod.gates");
    changes
        .map(|name| ("change", name))
        .chain(catalog::filter_names().into_iter().map(|name| ("rejected by", name.to_owned())))
        .chain(programs::known_facts().iter().map(|fact| ("fact", fact.clone())))
        .filter(|(what, name)| seen.counted(what, name) == 0)
        .map(|(what, name)| format!("{what} {name}"))
        .collect()
}

/// Each is lived through once for each number of threads, so there are fewer.
const WORLDS_OF_THREADS: u64 = 5;

#[test]
fn the_number_of_threads_changes_no_byte() {
    let worlds = number("KPOLICY_WORLDS", WORLDS).div_ceil(WORLDS_OF_THREADS);
    let first = number("KPOLICY_WORLD_FIRST", 1);
    let mut in_batches = 0;
    for seed in first..first + worlds {
        let world = draw::world(seed);
        let [one, two, four] = [1, 2, 4].map(|threads| {
            live_with(&world, Fault::None, threads)
                .unwrap_or_else(|found| panic!("world {seed}, {threads} threads: {}", found.what))
        });
        assert_eq!(one.1, two.1, "world {seed} with two threads");
        assert_eq!(one.1, four.1, "world {seed} with four threads");
        in_batches += one.0.in_batches;
    }
    let worlds = usize::try_from(worlds).expect("it is a count");
    assert!(in_batches >= worlds, "{in_batches} decisions in batches");
}

/// Few enough to be lived through twice, with programs of every sort.
const OBSERVED: u64 = 60;
const OBSERVED_IN: &str = "KPOLICY_WORLDS_OBSERVED";

fn observed() -> String {
    let observe = |seed| match live(&draw::world(seed), Fault::None) {
        Ok((_, observed)) => observed,
        Err(found) => panic!("world {seed}: {}", found.what),
    };
    (1..=OBSERVED).map(observe).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_in_another_process() {
    if let Ok(path) = env::var(OBSERVED_IN) {
        fs::write(path, observed()).expect("the file can be written");
        return;
    }
    let path = env::temp_dir().join(format!("kpolicy-worlds-{}", std::process::id()));
    let program = env::current_exe().expect("this program has a path");
    let ran = Command::new(program)
        .args(["--exact", "the_same_seed_gives_the_same_bytes_in_another_process"])
        .env(OBSERVED_IN, &path)
        .output()
        .expect("it can be run again");
    assert!(ran.status.success(), "{ran:?}");
    let other = fs::read_to_string(&path).expect("the other process wrote the file");
    let _ = fs::remove_file(&path);
    let own = observed();
    assert_eq!(own, observed(), "twice in one process");
    assert_eq!(own, other, "in another process");
    let decisions = own.lines().count();
    assert!(decisions > 1000, "{decisions}");
}

/// Pods that fit nowhere on which advice is judged, each with many decisions from scratch.
const ADVISED: usize = 1_000;

fn advised(pods: usize, planted: Planted) -> Result<Advised, String> {
    let first: u64 = number("KPOLICY_WORLD_FIRST", 1);
    let mut advised = Advised::default();
    for seed in first.. {
        if advised.pods >= pods {
            break;
        }
        advised.add(seed, planted)?;
    }
    Ok(advised)
}

#[test]
fn every_suggestion_places_the_pod_and_nothing_smaller_does() {
    let advised = advised(number("KPOLICY_ADVISED", ADVISED), Planted::Nothing);
    let advised = advised.unwrap_or_else(|why| panic!("{why}"));
    println!("{advised:#?}");
    // Of most pods of these worlds too many rules reject every node for a small change to help.
    assert!(advised.suggestions >= advised.pods / 2, "{advised:?}");
    let is_missing =
        |kind: &&str| !advised.kinds.keys().any(|found| found.split('+').any(|own| own == *kind));
    let missing: Vec<&str> = ADVISED_KINDS.into_iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "never suggested: {missing:?}");
}

/// Kinds of changes, by themselves or together with others.
const ADVISED_KINDS: [&str; 14] = [
    "request",
    "toleration",
    "nodeSelector",
    "nodeAffinity",
    "topologySpread",
    "podAffinity",
    "podAntiAffinity",
    "podLabel",
    "taint",
    "cordon",
    "nodeLabel",
    "room",
    "rule",
    "constant",
];

#[test]
fn advice_that_is_too_little_or_too_much_is_found() {
    for planted in [Planted::TooLittle, Planted::TooMuch] {
        let found = advised(100, planted);
        assert!(found.is_err(), "{planted:?}: {found:?}");
    }
}

#[test]
fn a_planted_fault_is_found_and_made_small() {
    is_found_and_made_small(Fault::MissesNodes, 40, 10, 6);
}

#[test]
fn a_lost_wake_is_found_and_made_small() {
    is_found_and_made_small(Fault::LosesWakes, 200, 4, 12);
}

fn is_found_and_made_small(fault: Fault, worlds: u64, found_min: usize, steps_max: usize) {
    let (mut found, mut lived) = (Vec::new(), 0);
    quietly(|| {
        for seed in 1..=worlds {
            lived += 1;
            let world = draw::world(seed);
            if live(&world, fault).is_err() {
                found.push(world);
            }
        }
    });
    assert!(found.len() >= found_min, "found in {} of {lived}", found.len());
    for world in found.iter().take(2) {
        let small = quietly(|| shrink::shrink(world, fault));
        let again = World::read(&small.text());
        assert_eq!(again.steps, small.steps, "what is printed is what there was");
        assert_eq!(again.seed, world.seed);
        assert!(live(&again, fault).is_err() && live(&again, Fault::None).is_ok());
        // At least a program, a node, its change, a pod, and looking at it.
        assert!(again.steps.len() <= steps_max, "{}", small.text());
    }
}

/// More kinds of pods than the cycle keeps answers for.
const KINDS: usize = 4_200;

#[test]
fn answers_that_were_dropped_are_worked_out_again() {
    let mut engine = support::loaded(3, &support::default_program());
    for index in 0..3 {
        support::apply(&mut engine, &objects::node(&mut Draws::of(7), index));
    }
    let create = |engine: &mut Engine, name: &str, index: usize| {
        let requests =
            json!({"cpu": format!("{}m", 1 + index / 4), "memory": format!("{}Mi", index % 4)});
        support::apply(
            engine,
            &json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": "d", "uid": name},
                "spec": {"containers": [{"name": "c", "image": "i",
                                         "resources": {"requests": requests}}]}}),
        );
    };
    let decide = |engine: &mut Engine, index: usize| {
        let name = format!("p{index}");
        create(engine, &name, index);
        let uid = Arc::from(name);
        let want = engine.decide_from_scratch(&uid);
        let have = engine.schedule(std::slice::from_ref(&uid), 0, &Still);
        assert_eq!(have.decisions, [want]);
        engine.settle(&[(uid, BindOutcome::Gone)], 0, &mut Applied::default());
    };
    // A kind is known again while there is a pod of it.
    (0..KINDS).for_each(|index| create(&mut engine, &format!("waiting-{index}"), index));
    (0..KINDS / 2).for_each(|index| decide(&mut engine, index));
    let once = engine.statistics();
    assert!(once.cached_shapes < 100, "few that one pod had: {}", once.cached_shapes);
    assert_eq!(once.shape_misses, KINDS as u64 / 2);
    (0..KINDS / 2).for_each(|index| decide(&mut engine, index));
    for _ in 0..2 {
        (KINDS / 2..KINDS).for_each(|index| decide(&mut engine, index));
    }
    let full = engine.statistics();
    assert!((KINDS / 2..KINDS).contains(&full.cached_shapes), "{}", full.cached_shapes);
    (0..KINDS).step_by(50).for_each(|index| decide(&mut engine, index));
    let after = engine.statistics();
    assert!(after.shape_misses > full.shape_misses && after.shape_hits > full.shape_hits);
}
