//! Bit planes: one bit for each lane, 64 lanes in a word.

/// A set of lanes. Bits beyond the last lane are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    lanes: usize,
}

impl Bits {
    /// The empty set.
    pub fn zeros(lanes: usize) -> Self {
        Self { words: vec![0; lanes.div_ceil(64)], lanes }
    }

    /// The set of all lanes.
    pub fn ones(lanes: usize) -> Self {
        Self::from_words(vec![u64::MAX; lanes.div_ceil(64)], lanes)
    }

    /// The set of all lanes, or the empty set.
    pub fn filled(value: bool, lanes: usize) -> Self {
        if value { Self::ones(lanes) } else { Self::zeros(lanes) }
    }

    /// Words of a plane; missing words are zero, bits beyond the last lane are cleared.
    pub fn from_words(mut words: Vec<u64>, lanes: usize) -> Self {
        words.resize(lanes.div_ceil(64), 0);
        let used = lanes % 64;
        if used != 0
            && let Some(last) = words.last_mut()
        {
            *last &= (1 << used) - 1;
        }
        Self { words, lanes }
    }

    /// How many lanes there are, in the set or not.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The words of the plane, 64 lanes each; lane 0 is the lowest bit of word 0.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether the lane is in the set.
    pub fn get(&self, lane: usize) -> bool {
        self.words.get(lane / 64).is_some_and(|word| word >> (lane % 64) & 1 == 1)
    }

    /// Adds a lane; a lane that does not exist is ignored.
    pub fn set(&mut self, lane: usize) {
        if lane < self.lanes
            && let Some(word) = self.words.get_mut(lane / 64)
        {
            *word |= 1 << (lane % 64);
        }
    }

    pub(crate) fn assign(&mut self, lane: usize, value: bool) {
        let Some(word) = self.words.get_mut(lane / 64).filter(|_| lane < self.lanes) else {
            return;
        };
        *word = *word & !(1 << (lane % 64)) | u64::from(value) << (lane % 64);
    }

    /// Whether any lane is in the set.
    pub fn any(&self) -> bool {
        self.words.iter().any(|word| *word != 0)
    }

    /// How many lanes are in the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The lanes in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                Some(index * 64 + bit)
            })
        })
    }

    /// The lanes that are in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// The lanes that are in at least one of the sets.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// The lanes of `self` that are not in `other`.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    /// The lanes that are not in the set.
    #[must_use]
    pub fn not(&self) -> Self {
        Self::from_words(self.words.iter().map(|word| !word).collect(), self.lanes)
    }

    pub(super) fn words_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        self.words.iter_mut()
    }

    fn zip(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let words = self.words.iter().zip(&other.words).map(|(a, b)| with(*a, *b)).collect();
        Self { words, lanes: self.lanes }
    }

    /// The lanes for which `holds`, asked for every lane in order.
    pub(crate) fn collect(lanes: usize, mut values: impl Iterator<Item = bool>) -> Self {
        let mut words = Vec::with_capacity(lanes.div_ceil(64));
        for start in (0..lanes).step_by(64) {
            let mut word = 0;
            for bit in 0..(lanes - start).min(64) {
                word |= u64::from(values.next().unwrap_or(false)) << bit;
            }
            words.push(word);
        }
        Self { words, lanes }
    }

    /// The lanes whose item `holds`.
    pub fn of_slice<T: Copy>(items: &[T], holds: impl Fn(T) -> bool) -> Self {
        let mut words = Vec::with_capacity(items.len().div_ceil(LANES_PER_WORD));
        let (chunks, rest) = items.as_chunks::<LANES_PER_WORD>();
        if is_wide::<T>() {
            words.extend(chunks.iter().map(|chunk| marked(chunk, chunk, |item, _| holds(item))));
        } else {
            words.extend(chunks.iter().map(|chunk| packed(chunk, &holds)));
        }
        if !rest.is_empty() {
            words.push(slow(rest.iter().map(|item| holds(*item))));
        }
        Self { words, lanes: items.len() }
    }

    /// As [`Bits::of_slice`] over two slices; as many lanes as the shorter one has.
    pub fn of_slices<A: Copy, B: Copy>(a: &[A], b: &[B], holds: impl Fn(A, B) -> bool) -> Self {
        let lanes = a.len().min(b.len());
        let (a, rest_of_a) = a.get(..lanes).unwrap_or_default().as_chunks::<LANES_PER_WORD>();
        let (b, rest_of_b) = b.get(..lanes).unwrap_or_default().as_chunks::<LANES_PER_WORD>();
        let mut words = Vec::with_capacity(lanes.div_ceil(LANES_PER_WORD));
        words.extend(a.iter().zip(b).map(|(a, b)| marked(a, b, &holds)));
        if !rest_of_a.is_empty() {
            words.push(slow(rest_of_a.iter().zip(rest_of_b).map(|(a, b)| holds(*a, *b))));
        }
        Self { words, lanes }
    }
}

const LANES_PER_WORD: usize = 64;

/// The bit of each lane of a word.
const MARKS: [u64; LANES_PER_WORD] = {
    let mut marks = [0; LANES_PER_WORD];
    let mut lane = 0;
    while lane < LANES_PER_WORD {
        marks[lane] = 1 << lane;
        lane += 1;
    }
    marks
};

/// Whether an item is as wide as a word, so that marking the word is one step an item.
const fn is_wide<T>() -> bool {
    size_of::<T>() >= size_of::<u64>()
}

/// The lanes for which `holds`: without a branch, so that lanes are compared side by side.
fn marked<A: Copy, B: Copy>(
    a: &[A; LANES_PER_WORD],
    b: &[B; LANES_PER_WORD],
    holds: impl Fn(A, B) -> bool,
) -> u64 {
    let lanes = a.iter().zip(b).zip(&MARKS);
    lanes.fold(0, |word, ((a, b), mark)| word | if holds(*a, *b) { *mark } else { 0 })
}

/// Packs narrow items by way of bytes of 0 and 1: a multiplication moves the low bits of eight
/// bytes side by side.
fn packed<T: Copy>(items: &[T; LANES_PER_WORD], holds: impl Fn(T) -> bool) -> u64 {
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut bytes = [0; LANES_PER_WORD];
    for (byte, item) in bytes.iter_mut().zip(items) {
        *byte = u8::from(holds(*item));
    }
    let (groups, _) = bytes.as_chunks::<8>();
    let bits = |group: &[u8; 8]| u64::from_le_bytes(*group).wrapping_mul(GATHER) >> 56;
    groups.iter().rev().fold(0, |word, group| word << 8 | bits(group))
}

fn slow(values: impl Iterator<Item = bool>) -> u64 {
    values.enumerate().fold(0, |word, (bit, value)| word | u64::from(value) << bit)
}
