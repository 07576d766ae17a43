//! `base64.encode`, `base64.decode`.

use super::{Call, Family, family};
use crate::error::Fault;
use crate::value::{Value, decode_base64, encode_base64};

pub(super) const FAMILIES: &[Family] = &[
    family("base64_encode", encode, &[("bytes", "bytes", "string")]),
    family("base64_decode", decode, &[("string", "string", "bytes")]).parsing(),
];

fn encode(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Bytes(bytes)] => {
            call.budget.charge_text(bytes.len())?;
            Ok(Value::from(encode_base64(bytes)))
        }
        _ => Err(Fault::no_such_overload()),
    }
}

fn decode(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::String(text)] => {
            call.budget.charge_text(text.len())?;
            let bytes = decode_base64(text);
            bytes
                .map(|bytes| Value::Bytes(bytes.into()))
                .ok_or_else(|| Fault::malformed("not base64"))
        }
        _ => Err(Fault::no_such_overload()),
    }
}
