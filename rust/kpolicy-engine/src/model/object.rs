//! One object of any kind that the engine reads.

use std::sync::Arc;

use super::Meta;
use super::kind::Kind;

macro_rules! objects {
    ($(
        $kind:ident $api:tt: $model:ident $(in $store:ident)?, decoder $decoder:ident;
    )*) => {
        /// One decoded object.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Object {
            $(
                #[doc = concat!("An object of kind ", stringify!($kind), ".")]
                $kind(Arc<super::$model>),
            )*
        }

        impl Object {
            /// The kind in the table.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)*
                }
            }

            /// What every object has.
            pub fn meta(&self) -> &Meta {
                match self {
                    $(Self::$kind(object) => &object.meta,)*
                }
            }
        }
    };
}

crate::object_kinds!(objects);

/// A change of one object, as the API server reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It is there, new or changed.
    Present(Object),
    /// It is gone; its last metadata.
    Gone(Kind, Box<Meta>),
}
