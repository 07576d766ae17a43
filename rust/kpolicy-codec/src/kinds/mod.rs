//! A decoder for each kind of the engine's table, in a module named there.
//!
//! Each has `decode`, which gives the model type of the kind: a row without one does not compile.

use kpolicy_engine::model::{Kind, Object};
use serde::de::Deserializer;

// `cargo fmt` does not find modules that a macro declares: `make fmt` and `make lint` name the files.
macro_rules! decoders {
    ($(
        $kind:ident $api:tt: $model:ident $(in $store:ident)?, decoder $decoder:ident;
    )*) => {
        $(mod $decoder;)*

        /// All that the model keeps of one object.
        pub(crate) fn decode<'de, D: Deserializer<'de>>(
            kind: Kind,
            json: D,
        ) -> Result<Object, D::Error> {
            Ok(match kind {
                $(Kind::$kind => Object::$kind($decoder::decode(json)?.into()),)*
            })
        }
    };
}

kpolicy_engine::object_kinds!(decoders);
