//! The values of CEL: one type, [`Value`], which is cheap to clone and always well formed.
//! Equality, order and conversion to JSON have files of their own.

mod compare;
mod cron;
mod duration;
mod ip_text;
mod json;
mod map;
mod named_format;
mod network;
mod object;
mod quantity;
mod quantity_text;
mod quoted;
mod selector;
mod semver;
mod timestamp;
mod url;
mod url_escape;
mod window;
mod zone;

use core::net::IpAddr;
use std::fmt;
use std::sync::Arc;

use crate::error::EvaluationError;

pub use compare::{equal, order};
pub use duration::Duration;
pub(crate) use json::{decode_base64, encode_base64};
pub use json::{from_json, to_json};
pub use map::{Key, Map};
pub use named_format::NamedFormat;
pub use network::Cidr;
pub(crate) use network::{
    is_global_unicast, is_link_local_multicast, is_link_local_unicast, parse_ip,
};
pub use object::{Answer, Object};
pub use quantity::Quantity;
pub(crate) use quoted::quoted;
pub use selector::{Operator, Requirement, Selector};
pub use semver::Semver;
pub use timestamp::{Civil, Timestamp};
pub use url::Url;
pub use window::Window;
pub use zone::time_zones;
pub(crate) use zone::zone_offset;

/// What evaluating gives.
pub(crate) type Evaluated = Result<Value, EvaluationError>;

/// A value. Cloning copies at most a pointer and a count.
#[derive(Clone)]
pub enum Value {
    /// `null`.
    Null,
    /// A `bool`.
    Bool(bool),
    /// An `int`.
    Int(i64),
    /// A `uint`.
    Uint(u64),
    /// A `double`.
    Double(f64),
    /// A `string`.
    String(Arc<str>),
    /// A `bytes` value.
    Bytes(Arc<[u8]>),
    /// A `list`.
    List(Arc<Vec<Value>>),
    /// A `map`.
    Map(Arc<Map>),
    /// A point in time.
    Timestamp(Timestamp),
    /// A span of time.
    Duration(Duration),
    /// A type as a value, by its name (`type(1) == int`).
    Type(Arc<str>),
    /// An `optional_type`: a value, or none.
    Optional(Option<Arc<Value>>),
    /// An amount, as Kubernetes writes it.
    Quantity(Arc<Quantity>),
    /// A label selector.
    Selector(Arc<Selector>),
    /// An IP address. Apart, as a range is: in place, its odd length would make each value slow to move.
    Ip(Arc<IpAddr>),
    /// A range of IP addresses.
    Cidr(Arc<Cidr>),
    /// A semantic version.
    Semver(Arc<Semver>),
    /// A URL.
    Url(Arc<Url>),
    /// A format of texts, by its name.
    Format(NamedFormat),
    /// A value of the host, see [`Object`].
    Object(Arc<dyn Object>),
}

impl Value {
    /// The name `type()` gives.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Selector(_) => "kpolicy.Selector",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Url(_) => "kubernetes.URL",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Object(object) => object.type_name(),
        }
    }

    /// A `string`.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    /// A `list`.
    pub fn list(items: Vec<Value>) -> Self {
        Self::List(Arc::new(items))
    }

    /// A `map`.
    pub fn map(map: Map) -> Self {
        Self::Map(Arc::new(map))
    }

    /// An `optional_type` with a value.
    pub fn some(value: Value) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// An `optional_type` without a value.
    pub const NONE: Value = Self::Optional(None);

    /// Whether it is the zero value of its type: what `optional.ofNonZeroValue` leaves out.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Timestamp(time) => *time == Timestamp::MIN,
            Self::Duration(duration) => *duration == Duration::ZERO,
            Self::Type(_)
            | Self::Optional(_)
            | Self::Quantity(_)
            | Self::Selector(_)
            | Self::Ip(_)
            | Self::Cidr(_)
            | Self::Semver(_)
            | Self::Url(_)
            | Self::Format(_)
            | Self::Object(_) => false,
        }
    }

    /// Bytes held, roughly; what a budget charges for making it.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::String(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(items) => items.len() * 16,
            Self::Map(map) => map.len() * 32,
            _ => 8,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Uint(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}

impl From<Arc<str>> for Value {
    fn from(value: Arc<str>) -> Self {
        Self::String(value)
    }
}

/// Equality of representation, for constants and tests: `1` and `1.0` differ and `NaN` is itself.
/// What `==` means in CEL is [`equal`].
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Uint(a), Self::Uint(b)) => a == b,
            (Self::Double(a), Self::Double(b)) => a.to_bits() == b.to_bits(),
            (Self::String(a), Self::String(b)) | (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Optional(a), Self::Optional(b)) => a == b,
            (Self::Quantity(a), Self::Quantity(b)) => a == b,
            (Self::Selector(a), Self::Selector(b)) => a == b,
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a), Self::Cidr(b)) => a == b,
            (Self::Semver(a), Self::Semver(b)) => a == b,
            (Self::Url(a), Self::Url(b)) => a == b,
            (Self::Format(a), Self::Format(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => {
                a.type_name() == b.type_name() && a.identity() == b.identity()
            }
            _ => false,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(object) => write!(formatter, "{object:?}"),
            other => write!(formatter, "{}", to_json(other)),
        }
    }
}
