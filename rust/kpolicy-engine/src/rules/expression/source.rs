//! The text that an expression was compiled from, for messages that name a part of it.
//!
//! The program has it beside the expression. A part without text, or with a span outside of it, is not
//! named.

use serde_json::Value;

/// Characters of a part that a message shows.
const SHOWN_MAX: usize = 80;

/// Where a node stands: code points in one of the texts.
#[derive(Debug, Clone, Copy)]
struct Span {
    text: usize,
    start: usize,
    end: usize,
}

/// The texts of a rule's expression and of the variables that it uses, and the place of each node.
#[derive(Debug, Default)]
pub(super) struct Source {
    texts: Vec<(Box<str>, Box<str>)>,
    spans: Box<[Option<Span>]>,
}

impl Source {
    /// `document` is an expression of the program.
    pub(super) fn of(document: &Value) -> Self {
        let sources = document.get("sources").and_then(Value::as_object);
        let texts: Vec<(Box<str>, Box<str>)> = sources
            .into_iter()
            .flatten()
            .filter_map(|(name, text)| Some((name.as_str().into(), text.as_str()?.into())))
            .collect();
        let spans = document.get("spans").and_then(Value::as_array);
        let spans = spans.into_iter().flatten().map(|span| place(span, &texts)).collect();
        Self { texts, spans }
    }

    /// A node's text in one line, with the variable that it stands in.
    pub(super) fn part(&self, node: u32) -> Option<String> {
        let Span { text, start, end } = (*self.spans.get(node as usize)?)?;
        let (name, text) = self.texts.get(text)?;
        let part: String = text.chars().skip(start).take(end.checked_sub(start)?).collect();
        let part = shortened(&part);
        (!part.is_empty()).then(|| match &**name {
            "" => format!("`{part}`"),
            name => format!("`{part}` of {name}"),
        })
    }
}

fn place(span: &Value, texts: &[(Box<str>, Box<str>)]) -> Option<Span> {
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let (start, end, name) = match span.as_array()?.as_slice() {
        [start, end] => (start, end, ""),
        [start, end, name] => (start, end, name.as_str()?),
        _ => return None,
    };
    let text = texts.iter().position(|(known, _)| **known == *name)?;
    Some(Span { text, start: number(start)?, end: number(end)? })
}

fn shortened(part: &str) -> String {
    let line = part.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN_MAX {
        return line;
    }
    line.chars().take(SHOWN_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Source;

    #[test]
    fn a_part_is_shown_in_one_line_with_its_variable() {
        let source = Source::of(&json!({
            "sources": {"": "1 +\n  variables.ä", "variables.ä": "'é'.size()"},
            "spans": [[0, 17], [0, 10, "variables.ä"], [0, 3, "variables.missing"], [9, 2], [40, 50], "x"],
        }));
        let parts: Vec<_> = (0..7).map(|node| source.part(node)).collect();
        let whole = Some("`1 + variables.ä`".to_owned());
        let variable = Some("`'é'.size()` of variables.ä".to_owned());
        assert_eq!(parts, [whole, variable, None, None, None, None, None]);
    }

    #[test]
    fn a_long_part_is_shortened() {
        let text = "a".repeat(500);
        let source = Source::of(&json!({"sources": {"": text}, "spans": [[0, 500]]}));
        let shown = source.part(0).unwrap_or_default();
        assert_eq!(shown, format!("`{}…`", "a".repeat(79)));
    }
}
