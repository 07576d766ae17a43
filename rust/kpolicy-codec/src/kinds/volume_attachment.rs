//! Volumes attached to nodes.

use kpolicy_engine::model::{Kind, VolumeAttachment};
use serde::de::{Deserialize, Deserializer};

use crate::wire::meta::MetaWire;
use crate::wire::scalar::Text;
use crate::wire::storage::CsiWire;
use crate::wire::wire;

wire! {
    struct AttachmentWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: AttachmentSpecWire<'a>,
    }
}

wire! {
    struct AttachmentSpecWire<'a> {
        "attacher" => attacher: Text<'a>,
        "nodeName" => node_name: Text<'a>,
        "source" => source: AttachmentSourceWire<'a>,
    }
}

wire! {
    struct AttachmentSourceWire<'a> {
        "persistentVolumeName" => volume_name: Option<Text<'a>>,
        "inlineVolumeSpec" => inline: InlineWire<'a>,
    }
}

wire! {
    struct InlineWire<'a> {
        "csi" => csi: Option<CsiWire<'a>>,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<VolumeAttachment, D::Error> {
    let AttachmentWire { meta, spec } = AttachmentWire::deserialize(json)?;
    Ok(VolumeAttachment {
        meta: meta.into_meta(Kind::VolumeAttachment).0,
        attacher: spec.attacher.boxed(),
        node_name: spec.node_name.boxed(),
        volume_name: spec.source.volume_name.map(Text::boxed),
        inline: spec.source.inline.csi.map(CsiWire::into_pair),
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;

    #[test]
    fn attachments_name_a_volume_or_hold_one() {
        let attachment = model_of!(
            VolumeAttachment,
            r#"{"metadata":{"name":"a"},"spec":{"attacher":"d","nodeName":"n",
                "source":{"persistentVolumeName":"v"}}}"#
        );
        assert_eq!((&*attachment.attacher, &*attachment.node_name), ("d", "n"));
        assert_eq!((attachment.volume_name.as_deref(), attachment.inline), (Some("v"), None));
        let inline = model_of!(
            VolumeAttachment,
            r#"{"metadata":{"name":"a"},"spec":{"source":{"inlineVolumeSpec":
                {"csi":{"driver":"d","volumeHandle":"h"}}}}}"#
        );
        assert_eq!(inline.inline, Some(("d".into(), "h".into())));
    }
}
