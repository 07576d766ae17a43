//! Bounds on what is read (B10), each with what it protects.
//!
//! At a bound there is a message, and the object or the rest of the file is lost. Memory and time
//! stay in proportion to the input.

/// One object as JSON text. The API server takes requests of at most 3 MiB and etcd values of
/// 1.5 MiB, so nothing that exists in a cluster is near it.
pub const OBJECT_BYTES_MAX: usize = 4 << 20;

/// Elements of one list inside an object. An element can be written in three bytes and take a few
/// hundred decoded.
pub const LIST_ELEMENTS_MAX: usize = 1 << 14;

/// Entries of one map inside an object (labels, annotations, resources).
pub const MAP_ENTRIES_MAX: usize = 1 << 15;

/// Objects named as unreadable in one call; those after them are only counted.
pub const UNREADABLE_NAMED_MAX: usize = 1_000;

/// Bytes of one message or name that quotes the input.
pub const QUOTE_BYTES_MAX: usize = 400;

/// Lists inside lists of a file.
pub const LIST_NESTING_MAX: u32 = 4;

/// How many times its own size a YAML text may take as JSON: a key alone takes four, aliases of
/// aliases have no end.
pub const YAML_GROWTH_MAX: usize = 8;

/// What a small YAML text may take besides.
pub const YAML_GROWTH_SLACK_BYTES: usize = 64 << 10;

/// Kinds named as left out of one file.
pub const OTHER_KINDS_NAMED_MAX: usize = 16;

/// Several threads read a text in pieces of so many bytes, each with the object that goes on behind
/// it. Decoding a piece takes longer than it takes to wake a thread. Debug builds divide what they can:
/// their tests have short texts.
pub const PIECE_BYTES: usize = if cfg!(debug_assertions) { 64 } else { 64 << 10 };

/// So many pieces are read at once, while as many that were read before are handed over.
pub const PIECES_AHEAD_MAX: usize = 32;

/// How an object is written up to its first key, with the white space before it. Where that takes
/// more, a text is not read in pieces.
pub const OPENING_BYTES_MAX: usize = 256;
