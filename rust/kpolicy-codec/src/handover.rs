//! Hands over what a text holds, object by object in the order of the text.
//!
//! On several threads ([`kpolicy_engine::threads`]) a stretch of objects is found first, by where each
//! ends, then decoded side by side, while the stretch before it is handed over.

use kpolicy_engine::model::{Event, Kind, Object};
use kpolicy_engine::threads::{both, each, is_inside};

use crate::cursor::{Cursor, Syntax};
use crate::kept::Keep;
use crate::limits::STRETCH_BYTES;
use crate::object::{self, Whole};
use crate::unreadable::{Unread, Unreadable};

/// Who gets the objects.
pub type Sink<'s> = dyn FnMut(Event) + Send + 's;

/// What an object without a name is called.
pub(crate) enum Place {
    Item(usize),
    Named(String),
}

impl Place {
    fn name(&self) -> String {
        match self {
            Self::Item(position) => format!("items[{position}]"),
            Self::Named(name) => name.clone(),
        }
    }
}

type Read = Result<Object, Unreadable>;

/// What was found, in its order.
enum Found<'t> {
    Text { raw: &'t str, kind: Kind, place: Place },
    Read(Box<Read>),
}

impl Found<'_> {
    fn decode(&mut self, keep: Keep<'_>) {
        let Self::Text { raw, kind, place } = self else { return };
        // It is one whole value, so that there is an object or a refusal.
        if let Ok(read) = read(&mut Cursor::new(raw), *kind, keep, place) {
            *self = Self::Read(Box::new(read));
        }
    }
}

pub(crate) struct Handover<'t, 's> {
    keep: Keep<'s>,
    sink: &'s mut Sink<'s>,
    unread: Unread,
    is_divided: bool,
    /// To be decoded, and how long that is.
    found: Vec<Found<'t>>,
    bytes: usize,
    /// To be handed over.
    decoded: Vec<Found<'t>>,
}

impl<'t, 's> Handover<'t, 's> {
    pub(crate) fn new(keep: Keep<'s>, sink: &'s mut Sink<'s>) -> Self {
        Self {
            keep,
            sink,
            unread: Unread::default(),
            is_divided: is_inside(),
            found: Vec::new(),
            bytes: 0,
            decoded: Vec::new(),
        }
    }

    /// The object at the cursor, which then stands behind it.
    pub(crate) fn object(
        &mut self,
        cursor: &mut Cursor<'t>,
        kind: Kind,
        place: Place,
    ) -> Result<(), Syntax> {
        if self.is_divided
            && let Ok(raw) = cursor.skip()
        {
            self.found.push(Found::Text { raw, kind, place });
            self.bytes += raw.len();
            if self.bytes >= STRETCH_BYTES {
                self.divide();
            }
            return Ok(());
        }
        let read = read(cursor, kind, self.keep, &place)?;
        self.add(read);
        Ok(())
    }

    pub(crate) fn refuse(&mut self, unreadable: Unreadable) {
        self.add(Err(unreadable));
    }

    fn add(&mut self, read: Read) {
        match self.is_divided {
            true => self.found.push(Found::Read(Box::new(read))),
            false => give(read, self.sink, &mut self.unread),
        }
    }

    /// Decodes what was found, and hands over what was decoded before.
    fn divide(&mut self) {
        let before = std::mem::take(&mut self.decoded);
        let mut found = std::mem::take(&mut self.found);
        let (keep, sink, unread) = (self.keep, &mut *self.sink, &mut self.unread);
        let hand_over = || {
            for read in before {
                if let Found::Read(read) = read {
                    give(*read, sink, unread);
                }
            }
        };
        both(|| each(&mut found, || (), |(), one| one.decode(keep)), hand_over);
        self.decoded = found;
        self.bytes = 0;
    }

    /// What could not be read.
    pub(crate) fn finish(mut self) -> Unread {
        self.divide();
        self.divide();
        self.unread
    }
}

fn read(
    cursor: &mut Cursor<'_>,
    kind: Kind,
    keep: Keep<'_>,
    place: &Place,
) -> Result<Read, Syntax> {
    let read = object::read(cursor, Whole(kind, keep), &|| place.name())?;
    Ok(read.map_err(|refused| refused.unreadable))
}

fn give(read: Read, sink: &mut Sink<'_>, unread: &mut Unread) {
    match read {
        Ok(object) => sink(Event::Present(object)),
        Err(unreadable) => unread.add(unreadable),
    }
}

#[cfg(test)]
mod tests {
    use kpolicy_engine::model::{Event, Kind};
    use kpolicy_engine::threads::Threads;

    use crate::limits::STRETCH_BYTES;
    use crate::{Keep, file, list};

    /// Good and bad objects, of several stretches, and an end that is no JSON.
    fn body() -> String {
        let filler = "x".repeat(2_000);
        let item = |index: usize| match index % 97 {
            13 => "null".to_owned(),
            14 => format!(r#"{{"kind":"Pod","metadata":{{"name":"p{index}"}},"spec":7}}"#),
            15 => r#"{"kind":"Pod","metadata":{}}"#.to_owned(),
            16 => r#"{"kind":"ConfigMap","metadata":{"name":"c"}}"#.to_owned(),
            _ => format!(
                r#"{{"kind":"Pod","metadata":{{"name":"p{index}","annotations":{{"a":"{filler}"}}}}}}"#
            ),
        };
        let items: Vec<String> = (0..3 * STRETCH_BYTES / 2_000).map(item).collect();
        format!(r#"{{"kind":"List","items":[{}]}}"#, items.join(","))
    }

    fn read(body: &str, threads: usize) -> (Vec<String>, String) {
        let mut names = Vec::new();
        let mut sink = |event| {
            let Event::Present(object) = event else { panic!("nothing is gone") };
            names.push(object.meta().name.to_string());
        };
        let unreadable = Threads::new(threads).inside(|| {
            let of_file = file::objects(body.as_bytes(), Keep(None), &mut sink);
            let of_page = list::page(body.as_bytes(), Kind::Pod, Keep(None), &mut sink);
            format!("{of_file:?} {of_page:?}")
        });
        (names, unreadable)
    }

    #[test]
    fn any_number_of_threads_reads_the_same_in_the_same_order() {
        let whole = body();
        let broken = &whole[..whole.len() * 2 / 3];
        for body in [whole.as_str(), broken, "[7", "", "{}"] {
            let one = read(body, 1);
            assert_eq!(read(body, 2), one);
            assert_eq!(read(body, 4), one);
        }
        let (names, unreadable) = read(&whole, 2);
        assert!(names.len() > 2_000, "{}", names.len());
        assert!(
            unreadable.contains("ConfigMap") && unreadable.contains("metadata.name is missing")
        );
    }
}
