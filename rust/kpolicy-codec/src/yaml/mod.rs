//! Converts YAML, as `kubectl get -o yaml` prints it and people write it, to JSON: one line for
//! each document.
//!
//! Nothing is assumed about the text. Bounds keep aliases from growing it without end. Scalars mean
//! what they mean to kubectl: YAML 1.1 words and numbers, everything else text.

mod scalar;

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use crate::limits::{YAML_GROWTH_MAX, YAML_GROWTH_SLACK_BYTES};

/// The JSON of all documents before the first fault, and the fault.
#[derive(Debug, Default)]
pub(crate) struct Converted {
    pub json: String,
    pub fault: Option<String>,
}

pub(crate) fn to_json(text: &str) -> Converted {
    let mut writer = Writer::new(text.len());
    let fault = writer.read(text).err();
    writer.json.truncate(if fault.is_some() { writer.documents_end } else { writer.json.len() });
    Converted { json: writer.json, fault }
}

enum Frame {
    Sequence { anchor: usize, start: usize },
    Mapping { anchor: usize, start: usize, at: At, merged: String },
}

/// Where inside a mapping.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Key,
    Value,
    /// The value of a merge key (`<<`), which began at this byte.
    Merge(usize),
}

struct Writer {
    json: String,
    documents_end: usize,
    frames: Vec<Frame>,
    /// The JSON of anchored values.
    anchors: BTreeMap<usize, String>,
    /// What anchors hold, beside the text itself.
    anchors_bytes: usize,
    bytes_max: usize,
}

impl Writer {
    fn new(text_bytes: usize) -> Self {
        let bytes_max =
            text_bytes.saturating_mul(YAML_GROWTH_MAX).saturating_add(YAML_GROWTH_SLACK_BYTES);
        Self {
            json: String::with_capacity(text_bytes),
            documents_end: 0,
            frames: Vec::new(),
            anchors: BTreeMap::new(),
            anchors_bytes: 0,
            bytes_max,
        }
    }

    fn read(&mut self, text: &str) -> Result<(), String> {
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| error.to_string())?;
            let line = span.start.line();
            self.event(event).map_err(|message| format!("{message} at line {line}"))?;
            if self.json.len() + self.anchors_bytes > self.bytes_max {
                return Err(format!("aliases make the text too large at line {line}"));
            }
        }
        Ok(())
    }

    fn event(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(&text, style, anchor, tag.as_deref())
            }
            Event::SequenceStart(anchor, _) => {
                let start = self.begin('[')?;
                self.frames.push(Frame::Sequence { anchor, start });
                Ok(())
            }
            Event::MappingStart(anchor, _) => {
                let start = self.begin('{')?;
                let merged = String::new();
                self.frames.push(Frame::Mapping { anchor, start, at: At::Key, merged });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor),
            Event::DocumentEnd => {
                self.json.push('\n');
                self.documents_end = self.json.len();
                self.anchors.clear();
                self.anchors_bytes = 0;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> Result<(), String> {
        let is_plain = style == ScalarStyle::Plain && tag.is_none();
        if let Some(Frame::Mapping { at: at @ At::Key, .. }) = self.frames.last_mut() {
            if is_plain && text == "<<" {
                *at = At::Merge(self.json.len());
                return Ok(());
            }
            self.key(text, anchor);
            return Ok(());
        }
        self.separate();
        let start = self.json.len();
        if scalar::is_resolved(style, tag) {
            scalar::push_resolved(&mut self.json, text);
        } else {
            scalar::push_text(&mut self.json, text);
        }
        self.finished(anchor, start)
    }

    fn key(&mut self, text: &str, anchor: usize) {
        self.separate();
        let start = self.json.len();
        scalar::push_text(&mut self.json, text);
        self.keep(anchor, start);
        self.json.push(':');
        if let Some(Frame::Mapping { at, .. }) = self.frames.last_mut() {
            *at = At::Value;
        }
    }

    fn begin(&mut self, open: char) -> Result<usize, String> {
        if matches!(self.frames.last(), Some(Frame::Mapping { at: At::Key, .. })) {
            return Err("a key must be a text".to_owned());
        }
        self.separate();
        let start = self.json.len();
        self.json.push(open);
        Ok(start)
    }

    fn end(&mut self) -> Result<(), String> {
        match self.frames.pop() {
            Some(Frame::Sequence { anchor, start }) => {
                self.json.push(']');
                self.finished(anchor, start)
            }
            Some(Frame::Mapping { anchor, start, mut merged, .. }) => {
                if !merged.is_empty() {
                    // In front, since of equal keys the last one counts.
                    if self.json.len() > start + 1 {
                        merged.push(',');
                    }
                    self.json.insert_str(start + 1, &merged);
                }
                self.json.push('}');
                self.finished(anchor, start)
            }
            None => Ok(()),
        }
    }

    fn alias(&mut self, anchor: usize) -> Result<(), String> {
        let Some(json) = self.anchors.get(&anchor).cloned() else {
            return Err("an alias stands inside what it names".to_owned());
        };
        if matches!(self.frames.last(), Some(Frame::Mapping { at: At::Key, .. })) {
            let text = serde_json::from_str::<String>(&json);
            self.key(&text.map_err(|_| "a key must be a text".to_owned())?, 0);
            return Ok(());
        }
        self.separate();
        let start = self.json.len();
        self.json.push_str(&json);
        self.finished(0, start)
    }

    /// The comma in front of what follows, where one is due.
    fn separate(&mut self) {
        let (start, is_member) = match self.frames.last() {
            Some(Frame::Sequence { start, .. }) => (*start, true),
            Some(Frame::Mapping { start, at, .. }) => (*start, *at == At::Key),
            None => (0, false),
        };
        if is_member && self.json.len() > start + 1 {
            self.json.push(',');
        }
    }

    /// A value ends here.
    fn finished(&mut self, anchor: usize, start: usize) -> Result<(), String> {
        self.keep(anchor, start);
        let Some(Frame::Mapping { at, merged, .. }) = self.frames.last_mut() else {
            return Ok(());
        };
        if let At::Merge(from) = *at {
            let value = self.json.split_off(from);
            let members = members(&value).ok_or("only mappings can be merged")?;
            if !members.is_empty() && !merged.is_empty() {
                merged.insert(0, ',');
            }
            merged.insert_str(0, &members);
        }
        *at = At::Key;
        Ok(())
    }

    fn keep(&mut self, anchor: usize, start: usize) {
        if anchor > 0 {
            let json = self.json.get(start..).unwrap_or_default().to_owned();
            self.anchors_bytes += json.len();
            self.anchors.insert(anchor, json);
        }
    }
}

/// What stands between the braces of a mapping, or of a list of mappings: of those the first counts,
/// so it comes last.
fn members(json: &str) -> Option<String> {
    if let Some(inside) = json.strip_prefix('{') {
        return inside.strip_suffix('}').map(str::to_owned);
    }
    let listed: Vec<&serde_json::value::RawValue> = serde_json::from_str(json).ok()?;
    let mut inside = Vec::with_capacity(listed.len());
    for mapping in listed.iter().rev() {
        let mapping = mapping.get().strip_prefix('{')?.strip_suffix('}')?;
        if !mapping.is_empty() {
            inside.push(mapping);
        }
    }
    Some(inside.join(","))
}

#[cfg(test)]
mod tests {
    use super::to_json;

    #[track_caller]
    fn check(yaml: &str, want: &str) {
        let converted = to_json(yaml);
        assert_eq!(converted.fault, None, "{yaml}");
        assert_eq!(converted.json, want, "{yaml}");
    }

    #[track_caller]
    fn fails(yaml: &str, says: &str) {
        let fault = to_json(yaml).fault.unwrap_or_else(|| panic!("{yaml} is read"));
        assert!(fault.contains(says), "{yaml}: {fault}");
    }

    #[test]
    fn documents_become_lines() {
        check(
            "a: 1\n---\n- b\n- c: {d: [e, 'f']}\n",
            "{\"a\":1}\n[\"b\",{\"c\":{\"d\":[\"e\",\"f\"]}}]\n",
        );
        check("", "");
        check("# nothing\n---\n...\n---\n{}\n", "null\n{}\n");
        check("a:\nb: ~\nc: ''\n", "{\"a\":null,\"b\":null,\"c\":\"\"}\n");
        check("- []\n- {}\n-\n", "[[],{},null]\n");
        check("a: |\n  x\n  y\nb: >-\n  x\n  y\n", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}\n");
        check("80: x\ntrue: y\n", "{\"80\":\"x\",\"true\":\"y\"}\n");
    }

    #[test]
    fn aliases_and_merges_are_resolved() {
        check("a: &x {b: 1}\nc: *x\n", "{\"a\":{\"b\":1},\"c\":{\"b\":1}}\n");
        check("- &x k\n- *x : v\n", "[\"k\",{\"k\":\"v\"}]\n");
        check(
            "a: &x {b: 1, c: 1}\nd:\n  c: 2\n  <<: *x\n",
            "{\"a\":{\"b\":1,\"c\":1},\"d\":{\"b\":1,\"c\":1,\"c\":2}}\n",
        );
        check(
            "- &x {b: 1}\n- &y {b: 2, c: 2}\n- <<: [*x, *y, {}]\n",
            "[{\"b\":1},{\"b\":2,\"c\":2},{\"b\":2,\"c\":2,\"b\":1}]\n",
        );
        check("a: &x {}\nd: {<<: *x, e: 1}\n", "{\"a\":{},\"d\":{\"e\":1}}\n");
        check("'<<': 1\n", "{\"<<\":1}\n");
        fails("a: &x [*x]\n", "an alias stands inside");
        fails("a: {<<: 1}\n", "only mappings can be merged");
        fails("? {a: b}\n: c\n", "a key must be a text");
        fails("a: *nowhere\n", "");
    }

    #[test]
    fn what_comes_before_a_fault_is_kept() {
        let converted = to_json("a: 1\n---\nb: [\n---\nc: 3\n");
        assert_eq!(converted.json, "{\"a\":1}\n");
        assert!(converted.fault.is_some());
    }

    #[test]
    fn laughs_are_bounded() {
        use std::fmt::Write;
        let mut yaml = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let below = format!("*a{}", level - 1);
            let list = vec![below; 10].join(",");
            writeln!(yaml, "a{level}: &a{level} [{list}]").expect("a string takes all");
        }
        fails(&yaml, "aliases make the text too large");
        fails(&"[".repeat(100_000), "recursion limit");
    }
}
