//! The functions that an expression may call, by overload id. Each family of functions has a file.
//!
//! Operands are evaluated before the call. A function checks the types of its operands itself:
//! static types only choose among overloads and kernels.

mod arithmetic;
mod collections;
mod convert;
mod encoders;
mod format;
mod lists;
mod localized;
mod logic;
mod math;
mod named_formats;
mod networks;
mod numeric;
mod optionals;
mod patterns;
mod quantities;
mod regexes;
mod scoring;
mod selectors;
mod semvers;
mod sets;
mod strings;
mod text;
mod times;
mod urls;

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use rustc_hash::FxHashMap;

use crate::budget::Budget;
use crate::error::Fault;
use crate::prices::{
    CALL, PARSING, PATTERN_BYTE, PATTERN_BYTES, PATTERN_CLASS, PATTERN_COUNTED, TEXT_BYTES,
};
use crate::value::Value;

pub(crate) use collections::select;
pub(crate) use numeric::double_to_int;
pub(crate) use scoring::ratio_of;
pub(crate) use times::window_of;

/// The operands of one call.
pub(crate) struct Call<'a> {
    pub args: &'a [Value],
    /// The compiled pattern, when the pattern operand is constant.
    pub pattern: Option<&'a Regex>,
    pub budget: &'a mut Budget,
}

type Apply = fn(&mut Call<'_>) -> Result<Value, Fault>;

/// How a function is done for all lanes at once, where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// One lane, or one lane of each class, at a time.
    None,
    Not,
    Add,
    Subtract,
    Multiply,
    Divide,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    ToDouble,
    ToInt,
    Ratio,
}

/// Overloads of one function that share an implementation.
///
/// The id of an overload is the name of the family, `_`, and its suffix. The bare name of the
/// family is the overload for operands whose types are only known while evaluating.
pub(crate) struct Family {
    pub name: &'static str,
    pub apply: Apply,
    pub kernel: Kernel,
    /// Whether texts among the operands are read figure by figure, or become part of an error.
    pub is_parsing: bool,
    /// Index of the operand that is a regular expression.
    pub pattern: Option<usize>,
    /// Suffix, heads of the operand types, head of the result type.
    pub overloads: &'static [(&'static str, &'static str, &'static str)],
}

const fn family(
    name: &'static str,
    apply: Apply,
    overloads: &'static [(&'static str, &'static str, &'static str)],
) -> Family {
    Family { name, apply, kernel: Kernel::None, is_parsing: false, pattern: None, overloads }
}

impl Family {
    const fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    const fn parsing(mut self) -> Self {
        self.is_parsing = true;
        self
    }

    /// What a call takes besides its node and what its implementation charges.
    pub(crate) fn base(&self, args: &[Value]) -> u64 {
        if !self.is_parsing {
            return CALL;
        }
        let mut texts = args.iter().filter_map(|arg| match arg {
            Value::String(text) => Some(text.len() as u64),
            _ => None,
        });
        match texts.next() {
            // Functions with a kernel turn numbers into numbers.
            None if self.kernel != Kernel::None => CALL,
            None => CALL + PARSING,
            Some(first) => CALL + PARSING + first + texts.sum::<u64>(),
        }
    }

    const fn with_pattern(mut self, operand: usize) -> Self {
        self.pattern = Some(operand);
        self
    }
}

/// One overload.
pub(crate) struct Overload {
    pub id: String,
    pub family: &'static Family,
    /// Heads of the operand types; `None` for the overload that takes any number of any type.
    pub params: Option<Vec<&'static str>>,
    pub result: &'static str,
}

impl std::fmt::Debug for Overload {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.id)
    }
}

impl Overload {
    /// Whether a call may have so many operands.
    pub(crate) fn takes(&self, count: usize) -> bool {
        if let Some(params) = &self.params {
            return params.len() == count;
        }
        let arity = |row: &(&str, &'static str, &str)| row.1.split_whitespace().count();
        self.family.overloads.iter().any(|row| arity(row) == count)
    }
}

static FAMILIES: &[&[Family]] = &[
    arithmetic::FAMILIES,
    collections::FAMILIES,
    convert::FAMILIES,
    encoders::FAMILIES,
    format::FAMILIES,
    lists::FAMILIES,
    logic::FAMILIES,
    math::FAMILIES,
    named_formats::FAMILIES,
    networks::FAMILIES,
    optionals::FAMILIES,
    quantities::FAMILIES,
    regexes::FAMILIES,
    scoring::FAMILIES,
    selectors::FAMILIES,
    semvers::FAMILIES,
    sets::FAMILIES,
    strings::FAMILIES,
    text::FAMILIES,
    times::FAMILIES,
    urls::FAMILIES,
];

fn table() -> &'static FxHashMap<String, Overload> {
    static TABLE: OnceLock<FxHashMap<String, Overload>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let families = FAMILIES.iter().flat_map(|families| families.iter());
        families.flat_map(rows).map(|overload| (overload.id.clone(), overload)).collect()
    })
}

fn rows(family: &'static Family) -> Vec<Overload> {
    let mut rows =
        vec![Overload { id: family.name.to_owned(), family, params: None, result: "dyn" }];
    rows.extend(family.overloads.iter().map(|(suffix, params, result)| Overload {
        id: format!("{}_{suffix}", family.name),
        family,
        params: Some(params.split_whitespace().collect()),
        result,
    }));
    rows
}

pub(crate) fn find(id: &str) -> Option<&'static Overload> {
    table().get(id)
}

/// A line for each overload, sorted: `id(operands) result`. What the front end's own table is
/// compared with.
pub fn overloads() -> Vec<String> {
    let families = FAMILIES.iter().flat_map(|families| families.iter());
    let mut lines: Vec<String> = families
        .flat_map(rows)
        .filter_map(|row| {
            let params = row.params?;
            Some(format!("{}({}) {}", row.id, params.join(" "), row.result))
        })
        .collect();
    lines.sort();
    lines
}

/// The size a compiled pattern may take.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Charges for looking for a pattern in `bytes` of text.
pub(crate) fn charge_matching(
    budget: &mut Budget,
    bytes: usize,
    pattern: &str,
) -> Result<(), Fault> {
    let slower = 1 + pattern.len() as u64 / PATTERN_BYTES;
    budget.charge(1 + bytes as u64 * slower / TEXT_BYTES)
}

/// Charges for compiling a pattern that is only known while evaluating.
pub(crate) fn charge_pattern(budget: &mut Budget, pattern: &str) -> Result<(), Fault> {
    let units = |byte: u8| match byte {
        b'{' => PATTERN_COUNTED,
        b'\\' | b'[' | b'.' => PATTERN_CLASS,
        _ => PATTERN_BYTE,
    };
    budget.charge(PATTERN_CLASS + pattern.bytes().map(units).sum::<u64>())
}

/// Compiles RE2 syntax, in time linear in the text it will meet.
pub(crate) fn compile_pattern(pattern: &str) -> Result<Regex, Fault> {
    RegexBuilder::new(&patterns::with_ascii_classes(pattern))
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_BYTES_MAX)
        .nest_limit(64)
        .build()
        .map_err(|_| Fault::malformed(format!("invalid regular expression: {pattern}")))
}
