//! What every node of a block has free at least: a filter that finds this enough need not look at the nodes.
//!
//! Follows the columns of free CPU and memory, and of nodes that may have no pod more. Slots without a node
//! do not count.

use std::ops::Range;

/// Slots of one block.
const BLOCK: usize = 64;

/// What one node has free.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) cpu: f64,
    pub(super) memory: f64,
    pub(super) is_full: bool,
}

impl Room {
    /// Of a slot without a node.
    pub(super) const NOBODY: Self =
        Self { cpu: f64::INFINITY, memory: f64::INFINITY, is_full: false };
}

/// What each node of a block has free at least.
#[derive(Debug, Clone, Copy)]
struct Least {
    cpu: f64,
    memory: f64,
    /// How many nodes may have no pod more.
    full: usize,
}

impl Least {
    const OF_NONE: Self = Self { cpu: f64::INFINITY, memory: f64::INFINITY, full: 0 };

    fn and(self, room: Room) -> Self {
        Self {
            cpu: self.cpu.min(room.cpu),
            memory: self.memory.min(room.memory),
            full: self.full + usize::from(room.is_full),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Headroom(Vec<Least>);

impl Headroom {
    /// Whether every node of these slots has so much free, and room for a pod. It may be more than is said
    /// to be too little: nodes of the same blocks count too.
    pub(crate) fn is_enough(&self, slots: Range<usize>, cpu: f64, memory: f64) -> bool {
        let blocks = slots.start / BLOCK..slots.end.div_ceil(BLOCK).min(self.0.len());
        self.0
            .get(blocks)
            .unwrap_or_default()
            .iter()
            .all(|least| least.full == 0 && cpu <= least.cpu && memory <= least.memory)
    }

    /// A node came, changed or went. `room_of` tells of each slot what is there now.
    pub(super) fn follow(
        &mut self,
        index: usize,
        [before, after]: [Room; 2],
        room_of: impl Fn(usize) -> Room,
    ) {
        let block = index / BLOCK;
        if self.0.len() <= block {
            self.0.resize(block + 1, Least::OF_NONE);
        }
        let Some(least) = self.0.get_mut(block) else { return };
        // The least one may be another now.
        let is_unsure = (before.cpu <= least.cpu && after.cpu > before.cpu)
            || (before.memory <= least.memory && after.memory > before.memory);
        if is_unsure {
            let slots = block * BLOCK..(block + 1) * BLOCK;
            *least = slots.map(room_of).fold(Least::OF_NONE, Least::and);
        } else {
            let full = least.full - usize::from(before.is_full);
            *least = Least { full, ..*least }.and(after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Headroom, Room};

    #[test]
    fn the_least_is_that_of_all_nodes_after_any_change() {
        let mut rooms = vec![Room::NOBODY; 2 * BLOCK + 5];
        let mut headroom = Headroom::default();
        let (mut number, mut enough) = (7_u32, 0);
        for step in 0..5_000 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let index = (number >> 8) as usize % rooms.len();
            let free = f64::from(number >> 28);
            let after = match number >> 4 & 7 {
                0 => Room::NOBODY,
                _ => Room {
                    cpu: free - 3.0,
                    memory: 12.0 - free,
                    is_full: number.is_multiple_of(1_024),
                },
            };
            let before = std::mem::replace(&mut rooms[index], after);
            headroom.follow(index, [before, after], |index| {
                rooms.get(index).copied().unwrap_or(Room::NOBODY)
            });
            for block in 0..3 {
                let slots = block * BLOCK..((block + 1) * BLOCK).min(rooms.len());
                let has = |room: &Room, asked: f64| {
                    !room.is_full && asked <= room.cpu && asked <= room.memory
                };
                for asked in [-4.0, -2.0, 0.0, f64::NEG_INFINITY] {
                    let want = rooms[slots.clone()].iter().all(|room| has(room, asked));
                    let have = headroom.is_enough(slots.clone(), asked, asked);
                    assert_eq!(have, want, "step {step}, block {block}, {asked}");
                    enough += usize::from(want);
                }
            }
        }
        assert!(enough > 100, "{enough}");
    }

    #[test]
    fn slots_of_two_blocks_are_looked_at_in_both() {
        let mut headroom = Headroom::default();
        let room = |cpu| Room { cpu, memory: 9.0, is_full: false };
        headroom.follow(BLOCK, [Room::NOBODY, room(1.0)], |_| Room::NOBODY);
        headroom.follow(3, [Room::NOBODY, room(5.0)], |_| Room::NOBODY);
        assert!(headroom.is_enough(0..BLOCK, 5.0, 9.0));
        assert!(!headroom.is_enough(BLOCK - 1..BLOCK + 1, 5.0, 9.0));
        assert!(headroom.is_enough(0..2 * BLOCK, 1.0, 9.0));
        assert!(headroom.is_enough(2 * BLOCK..3 * BLOCK, 100.0, 100.0), "no node is there");
    }
}
