//! Lists in JSON, bounded, with elements converted to the model. A `null` element is read as the
//! empty value, as Go does. Most lists have one or two elements, so they grow from one.

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

use super::OrDefault;
use super::scalar::Text;
use crate::limits::LIST_ELEMENTS_MAX;

#[derive(Debug)]
pub(crate) struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> List<T> {
    /// The elements, converted.
    pub(crate) fn boxed<M>(self, convert: impl FnMut(T) -> M) -> Box<[M]> {
        self.0.into_iter().map(convert).collect()
    }
}

impl List<Text<'_>> {
    pub(crate) fn texts(self) -> Box<[Box<str>]> {
        self.boxed(Text::boxed)
    }

    pub(crate) fn texts_sorted(self) -> Box<[Box<str>]> {
        let mut texts = self.texts();
        texts.sort_unstable();
        texts
    }

    pub(crate) fn texts_sorted_unique(self) -> Box<[Box<str>]> {
        let mut texts: Vec<Box<str>> = self.0.into_iter().map(Text::boxed).collect();
        texts.sort_unstable();
        texts.dedup();
        texts.into_boxed_slice()
    }
}

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        elements(deserializer, Some).map(List)
    }
}

/// Elements of the model, each made from its wire form as it is read: wire forms are large.
#[derive(Debug)]
pub(crate) struct Models<M>(pub Box<[M]>);

impl<M> Default for Models<M> {
    fn default() -> Self {
        Self(Box::default())
    }
}

/// An element of the model that has a wire form.
pub(crate) trait Element<'de>: Sized {
    type Wire: Default + Deserialize<'de>;

    /// `None` leaves it out.
    fn from_wire(wire: Self::Wire) -> Option<Self>;
}

impl<'de, M: Element<'de>> Deserialize<'de> for Models<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        elements(deserializer, M::from_wire).map(|list| Self(list.into_boxed_slice()))
    }
}

fn elements<'de, D, T, M>(
    deserializer: D,
    convert: impl Fn(T) -> Option<M>,
) -> Result<Vec<M>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    struct Elements<F, T>(F, PhantomData<T>);
    impl<'de, F: Fn(T) -> Option<M>, T: Default + Deserialize<'de>, M> Visitor<'de> for Elements<F, T> {
        type Value = Vec<M>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<M>, A::Error> {
            let mut list = Vec::new();
            let mut count = 0;
            while let Some(OrDefault(element)) = elements.next_element()? {
                if count == LIST_ELEMENTS_MAX {
                    return Err(A::Error::custom(format_args!(
                        "a list of more than {LIST_ELEMENTS_MAX} elements is not read"
                    )));
                }
                count += 1;
                let Some(element) = (self.0)(element) else { continue };
                if list.len() == list.capacity() {
                    list.reserve_exact(list.len().max(1));
                }
                list.push(element);
            }
            Ok(list)
        }
    }
    deserializer.deserialize_seq(Elements(convert, PhantomData))
}
