//! Namespaces.

use kpolicy_engine::model::{ApiValues, Kind, Namespace};
use serde::de::{Deserialize, Deserializer};

use crate::wire::meta::BareWire;

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<Namespace, D::Error> {
    let (meta, _) = BareWire::deserialize(json)?.meta.into_meta(Kind::Namespace);
    Ok(Namespace { meta, api_values: ApiValues::default() })
}
