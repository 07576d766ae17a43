//! Claims for persistent volumes.

use kpolicy_engine::model::{Kind, PersistentVolumeClaim};
use serde::de::{Deserialize, Deserializer};

use crate::wire::map::AmountMap;
use crate::wire::meta::MetaWire;
use crate::wire::scalar::Text;
use crate::wire::selector::SelectorWire;
use crate::wire::sequence::List;
use crate::wire::storage::{PhaseWire, VOLUME_MODE_DEFAULT, annotated_class};
use crate::wire::wire;

wire! {
    struct ClaimWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: ClaimSpecWire<'a>,
        "status" => status: PhaseWire<'a>,
    }
}

wire! {
    struct ClaimSpecWire<'a> {
        "volumeName" => volume_name: Text<'a>,
        "storageClassName" => class: Option<Text<'a>>,
        "volumeMode" => mode: Text<'a>,
        "accessModes" => access_modes: List<Text<'a>>,
        "resources" => resources: ClaimResourcesWire,
        "selector" => selector: Option<SelectorWire<'a>>,
        "volumeAttributesClassName" => attributes_class: Option<Text<'a>>,
    }
}

wire! {
    struct ClaimResourcesWire {
        "requests" => requests: AmountMap,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(
    json: D,
) -> Result<PersistentVolumeClaim, D::Error> {
    let ClaimWire { meta, spec, status } = ClaimWire::deserialize(json)?;
    let (meta, owner) = meta.into_meta(Kind::PersistentVolumeClaim);
    Ok(PersistentVolumeClaim {
        volume_name: spec.volume_name.boxed(),
        storage_class: annotated_class(&meta).or_else(|| spec.class.map(Text::boxed)),
        volume_mode: spec.mode.boxed_or(VOLUME_MODE_DEFAULT),
        access_modes: spec.access_modes.texts_sorted_unique(),
        requested: spec.resources.requests.0.get("storage").copied().unwrap_or_default(),
        selector: spec.selector.map(SelectorWire::into_model),
        attributes_class: spec.attributes_class.map(Text::boxed),
        phase: status.phase.boxed(),
        owner_uid: owner.map(|owner| owner.uid).unwrap_or_default(),
        meta,
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;
    use kpolicy_engine::model::Quantity;

    #[test]
    fn claims_are_read() {
        let claim = model_of!(
            PersistentVolumeClaim,
            r#"{"metadata":{"name":"c","namespace":"n",
                  "annotations":{"volume.kubernetes.io/selected-node":"n1"},
                  "ownerReferences":[{"kind":"Pod","name":"p","uid":"u","controller":true}]},
                "spec":{"volumeName":"v","volumeMode":"Block","accessModes":["ReadWriteOncePod"],
                  "resources":{"requests":{"storage":"1Gi"}},"selector":{"matchLabels":{"a":"b"}},
                  "volumeAttributesClassName":"gold"},
                "status":{"phase":"Bound"}}"#
        );
        assert_eq!((&*claim.volume_name, &*claim.volume_mode), ("v", "Block"));
        assert_eq!((&*claim.owner_uid, &*claim.phase), ("u", "Bound"));
        assert_eq!(claim.requested, Quantity::from_units(1 << 30));
        assert_eq!(claim.attributes_class.as_deref(), Some("gold"));
        assert_eq!(claim.selector.map(|selector| selector.requirements.len()), Some(1));
        assert_eq!(claim.meta.annotations.get("volume.kubernetes.io/selected-node"), Some("n1"));
    }
}
