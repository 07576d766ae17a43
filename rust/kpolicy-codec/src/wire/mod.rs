//! The shapes of JSON that the decoders in `kinds` share, with only the fields that the model keeps.
//!
//! Unknown fields are skipped without being built, `null` equals absent, the last of duplicate keys
//! counts (as in Go), and strings are borrowed from the input.

pub(crate) mod affinity;
pub(crate) mod container;
pub(crate) mod device;
pub(crate) mod map;
pub(crate) mod meta;
pub(crate) mod requirement_problem;
pub(crate) mod scalar;
pub(crate) mod selecting;
pub(crate) mod selector;
pub(crate) mod sequence;
pub(crate) mod spread;
pub(crate) mod storage;
pub(crate) mod taint;
pub(crate) mod volume;

use serde::de::{Deserialize, Deserializer, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A field's value, where `null` is as good as absent.
pub(crate) struct OrDefault<T>(pub T);

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for OrDefault<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Present<T>(PhantomData<T>);
        impl<'de, T: Default + Deserialize<'de>> Visitor<'de> for Present<T> {
            type Value = T;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value or null")
            }

            fn visit_none<E>(self) -> Result<T, E> {
                Ok(T::default())
            }

            fn visit_unit<E>(self) -> Result<T, E> {
                Ok(T::default())
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
                T::deserialize(deserializer)
            }
        }
        deserializer.deserialize_option(Present(PhantomData)).map(OrDefault)
    }
}

/// A JSON object with some named fields, all optional: `"key" => field: Type`.
///
/// Not serde's derive: that refuses duplicate keys and `null`.
macro_rules! wire {
    ($(#[$doc:meta])* $visibility:vis struct $name:ident<$life:lifetime> {
        $($key:literal => $field:ident: $kind:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Default)]
        $visibility struct $name<$life> { $(pub $field: $kind,)* }
        $crate::wire::wire!(@visit [$name<'de>] $($key => $field,)*);
    };
    ($(#[$doc:meta])* $visibility:vis struct $name:ident {
        $($key:literal => $field:ident: $kind:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Default)]
        $visibility struct $name { $(pub $field: $kind,)* }
        $crate::wire::wire!(@visit [$name] $($key => $field,)*);
    };
    (@visit [$($name:tt)+] $($key:literal => $field:ident,)*) => {
        const _: () = {
            #[allow(non_camel_case_types, reason = "one variant a field, named as the field")]
            enum Key { $($field,)* Unread }

            impl<'de> serde::Deserialize<'de> for Key {
                fn deserialize<D: serde::Deserializer<'de>>(keys: D) -> Result<Self, D::Error> {
                    struct Name;
                    impl serde::de::Visitor<'_> for Name {
                        type Value = Key;

                        fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                            to.write_str("a field name")
                        }

                        fn visit_str<E>(self, text: &str) -> Result<Key, E> {
                            Ok(match text {
                                $($key => Key::$field,)*
                                _ => Key::Unread,
                            })
                        }
                    }
                    keys.deserialize_identifier(Name)
                }
            }

            impl<'de> serde::Deserialize<'de> for $($name)+ {
                fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                    struct Fields;
                    impl<'de> serde::de::Visitor<'de> for Fields {
                        type Value = $($name)+;

                        fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                            to.write_str("an object")
                        }

                        fn visit_map<A: serde::de::MapAccess<'de>>(
                            self,
                            mut fields: A,
                        ) -> Result<Self::Value, A::Error> {
                            let mut read = Self::Value::default();
                            while let Some(next_key) = fields.next_key::<Key>()? {
                                match next_key {
                                    $(Key::$field => {
                                        let $crate::wire::OrDefault(value) = fields.next_value()?;
                                        read.$field = value;
                                    })*
                                    Key::Unread => {
                                        fields.next_value::<serde::de::IgnoredAny>()?;
                                    }
                                }
                            }
                            Ok(read)
                        }
                    }
                    input.deserialize_map(Fields)
                }
            }
        };
    };
}
pub(crate) use wire;
