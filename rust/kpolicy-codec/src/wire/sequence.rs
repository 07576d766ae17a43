//! Lists of the wire.
//!
//! Owns their bound and how elements become what the model holds. A `null` element is read as the
//! empty value, as Go does.

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

use super::OrDefault;
use super::scalar::Text;
use crate::limits::LIST_ELEMENTS_MAX;

#[derive(Debug)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> List<T> {
    /// The elements, converted.
    pub fn boxed<M>(self, convert: impl FnMut(T) -> M) -> Box<[M]> {
        self.0.into_iter().map(convert).collect()
    }

    /// The elements for which there is something, converted.
    pub fn boxed_some<M>(self, convert: impl FnMut(T) -> Option<M>) -> Box<[M]> {
        self.0.into_iter().filter_map(convert).collect()
    }
}

impl List<Text<'_>> {
    pub fn texts(self) -> Box<[Box<str>]> {
        self.boxed(Text::boxed)
    }

    pub fn texts_sorted(self) -> Box<[Box<str>]> {
        let mut texts = self.texts();
        texts.sort_unstable();
        texts
    }

    pub fn texts_sorted_unique(self) -> Box<[Box<str>]> {
        let mut texts: Vec<Box<str>> = self.0.into_iter().map(Text::boxed).collect();
        texts.sort_unstable();
        texts.dedup();
        texts.into_boxed_slice()
    }
}

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements<T>(PhantomData<T>);
        impl<'de, T: Default + Deserialize<'de>> Visitor<'de> for Elements<T> {
            type Value = List<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<List<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(OrDefault(element)) = elements.next_element()? {
                    if list.len() == LIST_ELEMENTS_MAX {
                        return Err(A::Error::custom(format_args!(
                            "a list of more than {LIST_ELEMENTS_MAX} elements is not read"
                        )));
                    }
                    list.push(element);
                }
                Ok(List(list))
            }
        }
        deserializer.deserialize_seq(Elements(PhantomData))
    }
}
