//! Replica sets.

use kpolicy_engine::model::{Controller, Kind};
use serde::de::{Deserialize, Deserializer};

use crate::wire::selecting::SelectorOwnerWire;

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<Controller, D::Error> {
    Ok(SelectorOwnerWire::deserialize(json)?.into_model(Kind::ReplicaSet))
}
