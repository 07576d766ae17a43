//! Stateful sets.

use kpolicy_engine::model::{Controller, Kind};
use serde::de::{Deserialize, Deserializer};

use crate::wire::selecting::SelectorOwnerWire;

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<Controller, D::Error> {
    let set = SelectorOwnerWire::deserialize(json)?;
    let (meta, _) = set.meta.into_meta(Kind::StatefulSet);
    Ok(Controller { meta, selector: set.spec.into_selector() })
}
