//! Parts that storage objects share. The legacy class annotation counts before the field; the API's
//! default is `volumeMode: Filesystem`.

use kpolicy_engine::model::Meta;

use super::scalar::Text;
use super::wire;

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
pub(crate) const VOLUME_MODE_DEFAULT: &str = "Filesystem";

wire! {
    pub(crate) struct PhaseWire<'a> {
        "phase" => phase: Text<'a>,
    }
}

wire! {
    pub(crate) struct CsiWire<'a> {
        "driver" => driver: Text<'a>,
        "volumeHandle" => handle: Text<'a>,
    }
}

impl CsiWire<'_> {
    /// Driver and handle.
    pub(crate) fn into_pair(self) -> (Box<str>, Box<str>) {
        (self.driver.boxed(), self.handle.boxed())
    }
}

/// The storage class named by the legacy annotation, as Kubernetes reads it in
/// `GetPersistentVolumeClass` and `GetPersistentVolumeClaimClass`.
pub(crate) fn annotated_class(meta: &Meta) -> Option<Box<str>> {
    meta.annotations.get(CLASS_ANNOTATION).map(Into::into)
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;

    #[test]
    fn the_class_annotation_counts_before_the_field() {
        let annotated = r#"{"metadata":{"name":"x","annotations":
            {"volume.beta.kubernetes.io/storage-class":"old"}},"spec":{"storageClassName":"new"}}"#;
        assert_eq!(&*model_of!(PersistentVolume, annotated).storage_class, "old");
        assert_eq!(
            model_of!(PersistentVolumeClaim, annotated).storage_class.as_deref(),
            Some("old")
        );
        let without = r#"{"metadata":{"name":"x"},"spec":{}}"#;
        assert_eq!(model_of!(PersistentVolumeClaim, without).storage_class, None);
        let empty = r#"{"metadata":{"name":"x"},"spec":{"storageClassName":""}}"#;
        assert_eq!(model_of!(PersistentVolumeClaim, empty).storage_class.as_deref(), Some(""));
    }
}
