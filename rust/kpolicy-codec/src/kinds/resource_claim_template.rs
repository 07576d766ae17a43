//! Templates of claims: only their metadata.

use kpolicy_engine::model::{ClaimTemplate, Kind};
use serde::de::{Deserialize, Deserializer};

use crate::wire::meta::BareWire;

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<ClaimTemplate, D::Error> {
    let template = BareWire::deserialize(json)?;
    Ok(ClaimTemplate { meta: template.meta.into_meta(Kind::ResourceClaimTemplate).0 })
}
