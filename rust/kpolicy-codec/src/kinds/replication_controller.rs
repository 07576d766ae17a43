//! Replication controllers.

use kpolicy_engine::model::{Controller, Kind};
use serde::de::{Deserialize, Deserializer};

use crate::wire::selecting::{MapSelectorWire, REPLICAS};
use crate::wire::selector::of_labels;

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<Controller, D::Error> {
    let controller = MapSelectorWire::deserialize(json)?;
    Ok(Controller {
        meta: controller.meta.into_meta(Kind::ReplicationController).0,
        selector: controller.spec.selector.map(|labels| of_labels(&labels.0)),
        replicas: controller.spec.replicas.unwrap_or(REPLICAS),
    })
}
