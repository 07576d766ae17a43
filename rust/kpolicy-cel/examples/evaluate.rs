//! Evaluates lines of `{"ir": …, "vars": {…}}` from standard input, one answer a line.
//! `--overloads` prints the table of functions instead.

use std::io::{BufRead, Write};

use serde_json::Value as Json;

fn main() -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if std::env::args().any(|arg| arg == "--overloads") {
        for line in kpolicy_cel::overloads() {
            writeln!(out, "{line}")?;
        }
        return out.flush();
    }
    for line in std::io::stdin().lock().lines() {
        let json: Json = serde_json::from_str(&line?)?;
        let part = |key: &str| json.get(key).cloned().unwrap_or(Json::Null).to_string();
        out.write_all(&kpolicy_cel::evaluate_json(part("ir").as_bytes(), part("vars").as_bytes()))?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
