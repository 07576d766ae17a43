//! Maps in JSON, read straight into the model's sorted forms and bounded. A `null` value is the
//! empty string, as Go reads it; an amount of `null` is zero.

use kpolicy_engine::model::{Labels, Quantity, ResourceList};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

use super::OrDefault;
use super::scalar::{Amount, Text};
use crate::limits::MAP_ENTRIES_MAX;

/// What becomes of an entry; `None` drops it.
trait Entry<'de>: Sized {
    type Value: Default + Deserialize<'de>;

    fn new(key: Text<'de>, value: Self::Value) -> Option<Self>;
}

fn entries<'de, D: Deserializer<'de>, T: Entry<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct Pairs<T>(PhantomData<T>);
    impl<'de, T: Entry<'de>> Visitor<'de> for Pairs<T> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Vec<T>, A::Error> {
            let mut read = Vec::new();
            let mut count = 0;
            while let Some(key) = pairs.next_key::<Text<'de>>()? {
                let OrDefault(value) = pairs.next_value::<OrDefault<T::Value>>()?;
                if count == MAP_ENTRIES_MAX {
                    return Err(A::Error::custom(format_args!(
                        "a map of more than {MAP_ENTRIES_MAX} entries is not read"
                    )));
                }
                count += 1;
                read.extend(T::new(key, value));
            }
            Ok(read)
        }
    }
    deserializer.deserialize_map(Pairs(PhantomData))
}

/// A map of strings.
#[derive(Default)]
pub(crate) struct TextMap(pub Labels);

impl<'de> Deserialize<'de> for TextMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pair(Box<str>, Box<str>);
        impl<'de> Entry<'de> for Pair {
            type Value = Text<'de>;

            fn new(key: Text<'de>, value: Text<'de>) -> Option<Self> {
                Some(Self(key.boxed(), value.boxed()))
            }
        }
        let pairs: Vec<Pair> = entries(deserializer)?;
        Ok(Self(pairs.into_iter().map(|Pair(key, value)| (key, value)).collect()))
    }
}

/// Annotations, without the copy of the whole object that `kubectl apply` keeps in one.
#[derive(Default)]
pub(crate) struct AnnotationMap(pub Labels);

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl<'de> Deserialize<'de> for AnnotationMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pair(Box<str>, Box<str>);
        impl<'de> Entry<'de> for Pair {
            type Value = Text<'de>;

            fn new(key: Text<'de>, value: Text<'de>) -> Option<Self> {
                (&*key != LAST_APPLIED).then(|| Self(key.boxed(), value.boxed()))
            }
        }
        let pairs: Vec<Pair> = entries(deserializer)?;
        Ok(Self(pairs.into_iter().map(|Pair(key, value)| (key, value)).collect()))
    }
}

/// A map of amounts.
#[derive(Default)]
pub(crate) struct AmountMap(pub ResourceList);

impl<'de> Deserialize<'de> for AmountMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pair(Box<str>, Quantity);
        impl<'de> Entry<'de> for Pair {
            type Value = Amount;

            fn new(key: Text<'de>, value: Amount) -> Option<Self> {
                Some(Self(key.boxed(), value.0))
            }
        }
        let pairs: Vec<Pair> = entries(deserializer)?;
        Ok(Self(pairs.into_iter().map(|Pair(name, amount)| (name, amount)).collect()))
    }
}

/// A map of objects, sorted by key; the last of equal keys counts.
pub(crate) struct MapOf<T>(pub Vec<(Box<str>, T)>);

impl<T> Default for MapOf<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> MapOf<T> {
    /// The entries, converted.
    pub(crate) fn boxed<M>(self, convert: impl Fn(T) -> M) -> Box<[(Box<str>, M)]> {
        self.0.into_iter().map(|(key, value)| (key, convert(value))).collect()
    }
}

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for MapOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pair<T>(Box<str>, T);
        impl<'de, T: Default + Deserialize<'de>> Entry<'de> for Pair<T> {
            type Value = T;

            fn new(key: Text<'de>, value: T) -> Option<Self> {
                Some(Self(key.boxed(), value))
            }
        }
        let pairs: Vec<Pair<T>> = entries(deserializer)?;
        let mut pairs: Vec<(Box<str>, T)> =
            pairs.into_iter().map(|Pair(key, value)| (key, value)).collect();
        pairs.reverse();
        pairs.sort_by(|left, right| left.0.cmp(&right.0));
        pairs.dedup_by(|later, earlier| later.0 == earlier.0);
        Ok(Self(pairs))
    }
}

/// The keys of a map, sorted; its values are skipped.
#[derive(Default)]
pub(crate) struct Keys(pub Box<[Box<str>]>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Key(Box<str>);
        impl<'de> Entry<'de> for Key {
            type Value = IgnoredAny;

            fn new(key: Text<'de>, _: IgnoredAny) -> Option<Self> {
                Some(Self(key.boxed()))
            }
        }
        let keys: Vec<Key> = entries(deserializer)?;
        let mut keys: Vec<Box<str>> = keys.into_iter().map(|Key(key)| key).collect();
        keys.sort_unstable();
        keys.dedup();
        Ok(Self(keys.into_boxed_slice()))
    }
}
