//! Makes a world that shows a difference small: fewer steps, fewer rules, smaller objects, as long
//! as a difference is left.

use serde_json::Value;

use crate::live::live;
use crate::run::Fault;
use crate::world::{Step, World};

/// Worlds tried for one that fails; a round that found nothing ends it earlier.
const TRIES_MAX: usize = 6000;

struct Shrink {
    fault: Fault,
    best: World,
    tries: usize,
}

pub(crate) fn shrink(world: &World, fault: Fault) -> World {
    let mut shrink = Shrink { fault, best: world.clone(), tries: 0 };
    loop {
        let before = shrink.best.text().len();
        shrink.steps();
        shrink.rules();
        shrink.objects();
        if shrink.best.text().len() >= before || shrink.tries >= TRIES_MAX {
            return shrink.best;
        }
    }
}

impl Shrink {
    /// Takes the smaller world if it fails too.
    fn offer(&mut self, world: World) -> bool {
        self.tries += 1;
        let fails = self.tries <= TRIES_MAX && live(&world, self.fault).is_err();
        if fails {
            self.best = world;
        }
        fails
    }

    fn steps(&mut self) {
        let mut size = self.best.steps.len().div_ceil(2).max(1);
        loop {
            let mut start = 0;
            while start < self.best.steps.len() {
                let mut smaller = self.best.clone();
                let end = (start + size).min(smaller.steps.len());
                smaller.steps.drain(start..end);
                if !self.offer(smaller) {
                    start += size;
                }
            }
            if size == 1 {
                return;
            }
            size = size.div_ceil(2);
        }
    }

    /// Leaves out rules and settings of the programs, then whole programs.
    fn rules(&mut self) {
        for program in 0..self.best.programs.len() {
            let mut position = 0;
            while let Some(smaller) =
                without_part(&self.best.programs[program]["profiles"], position)
            {
                let mut world = self.best.clone();
                world.programs[program]["profiles"] = smaller;
                if !self.offer(world) {
                    position += 1;
                }
            }
        }
        if self.best.programs.len() > 1 {
            let mut world = self.best.clone();
            world.programs.pop();
            self.offer(world);
        }
    }

    fn objects(&mut self) {
        for step in 0..self.best.steps.len() {
            let mut position = 0;
            while let Some(Step::Apply(object)) = self.best.steps.get(step) {
                let Some(smaller) = without_part(object, position) else { break };
                let mut world = self.best.clone();
                world.steps[step] = Step::Apply(smaller);
                if !self.offer(world) {
                    position += 1;
                }
            }
        }
    }
}

/// What an object must keep to be one.
const KEPT: [&str; 5] = ["apiVersion", "kind", "metadata", "name", "uid"];

/// Without its n-th part, counted from the outside in.
fn without_part(value: &Value, position: usize) -> Option<Value> {
    let mut smaller = value.clone();
    let mut left = position;
    remove(&mut smaller, &mut left).then_some(smaller)
}

fn remove(value: &mut Value, left: &mut usize) -> bool {
    match value {
        Value::Object(map) => {
            let keys: Vec<String> =
                map.keys().filter(|key| !KEPT.contains(&key.as_str())).cloned().collect();
            for key in &keys {
                if *left == 0 {
                    map.remove(key);
                    return true;
                }
                *left -= 1;
            }
            map.values_mut().any(|inner| remove(inner, left))
        }
        Value::Array(items) => {
            for index in 0..items.len() {
                if *left == 0 {
                    items.remove(index);
                    return true;
                }
                *left -= 1;
            }
            items.iter_mut().any(|inner| remove(inner, left))
        }
        _ => false,
    }
}
