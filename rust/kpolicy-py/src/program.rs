//! Reads a program's bytes before the engine is asked: bounded, and refused if they are not JSON.

use kpolicy_engine::api::Refusal;
use serde_json::Value;

/// Beside the codes of the engine (`PR101` and on).
const NOT_JSON: &str = "PR100";

/// Far above any program: the compiler refuses policies long before.
const PROGRAM_BYTES_MAX: usize = 64 << 20;

pub(crate) fn read(program: &[u8]) -> Result<Value, Refusal> {
    let refusal = |message: String| Refusal {
        code: NOT_JSON,
        place: "$".to_owned(),
        message,
        hint: "a program is made by kpolicy.policy.compile".to_owned(),
    };
    if program.len() > PROGRAM_BYTES_MAX {
        return Err(refusal(format!("the program is larger than {PROGRAM_BYTES_MAX} bytes")));
    }
    serde_json::from_slice(program).map_err(|error| refusal(error.to_string()))
}
