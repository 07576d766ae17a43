//! The text that an expression was compiled from, for messages that name a part of it.
//!
//! The program has it beside the expression. A part without text, or with a span outside of it, is not
//! named.

use std::iter;

use serde_json::Value;

/// Characters of a part that a message shows.
const SHOWN_MAX: usize = 80;

/// Where a node stands: bytes in one of the texts.
#[derive(Debug, Clone, Copy)]
struct Span {
    text: usize,
    start: usize,
    end: usize,
}

/// The texts of a rule's expression and of the variables that it uses, and the place of each node.
#[derive(Debug, Clone, Default)]
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
        let ends: Vec<Vec<usize>> = texts.iter().map(|(_, text)| ends(text)).collect();
        let spans = spans.into_iter().flatten().map(|span| place(span, &texts, &ends)).collect();
        Self { texts, spans }
    }

    /// A node's text in one line, with the variable that it stands in.
    pub(super) fn part(&self, node: u32) -> Option<String> {
        let Span { text, start, end } = (*self.spans.get(node as usize)?)?;
        let (name, text) = self.texts.get(text)?;
        let part = shortened(text.get(start..end)?);
        (!part.is_empty()).then(|| match &**name {
            "" => format!("`{part}`"),
            name => format!("`{part}` of {name}"),
        })
    }
}

/// Where each character of a text begins, and where the last one ends.
fn ends(text: &str) -> Vec<usize> {
    text.char_indices().map(|(index, _)| index).chain([text.len()]).collect()
}

/// In the program a span counts code points, and may go beyond the end.
fn place(span: &Value, texts: &[(Box<str>, Box<str>)], ends: &[Vec<usize>]) -> Option<Span> {
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let (start, end, name) = match span.as_array()?.as_slice() {
        [start, end] => (start, end, ""),
        [start, end, name] => (start, end, name.as_str()?),
        _ => return None,
    };
    let text = texts.iter().position(|(known, _)| **known == *name)?;
    let (ends, length) = (ends.get(text)?, texts.get(text)?.1.len());
    let byte = |value: &Value| Some(ends.get(number(value)?).copied().unwrap_or(length));
    Some(Span { text, start: byte(start)?, end: byte(end)? })
}

/// In one line. Looks no further than what is shown.
fn shortened(part: &str) -> String {
    let words = part.split_whitespace().flat_map(|word| iter::once(' ').chain(word.chars()));
    let mut line: Vec<char> = words.skip(1).take(SHOWN_MAX + 1).collect();
    if line.len() > SHOWN_MAX {
        line.truncate(SHOWN_MAX - 1);
        line.push('…');
    }
    line.into_iter().collect()
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
        let text = "ä b ".repeat(20);
        let source = Source::of(&json!({"sources": {"": text}, "spans": [[0, 80], [2, 82]]}));
        let shown = source.part(0).unwrap_or_default();
        assert_eq!(shown, format!("`{}`", text.trim_end()), "what fits is shown in full");
        let shown = source.part(1).unwrap_or_default();
        assert_eq!(shown, format!("`{}`", text.get(3..).unwrap_or_default().trim_end()));
    }
}
