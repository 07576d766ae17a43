//! Kubernetes' IP and CIDR libraries.

use core::net::IpAddr;
use std::sync::Arc;

use super::{Call, Family, family};
use crate::error::Fault;
use crate::value::{
    Cidr, Value, is_global_unicast, is_link_local_multicast, is_link_local_unicast, parse_ip,
};

const TEST: &[(&str, &str, &str)] = &[("ip", "ip", "bool")];

pub(super) const FAMILIES: &[Family] = &[
    family("ip", ip, &[("string", "string", "ip")]).parsing(),
    family("is_ip", is_ip, &[("string", "string", "bool")]).parsing(),
    family("is_canonical_ip", is_canonical, &[("string", "string", "bool")]).parsing(),
    family("ip_family", ip_family, &[("ip", "ip", "int")]),
    family("is_unspecified", |call| test(call, |ip| ip.is_unspecified()), TEST),
    family("is_loopback", |call| test(call, |ip| ip.is_loopback()), TEST),
    family("is_link_local_multicast", |call| test(call, is_link_local_multicast), TEST),
    family("is_link_local_unicast", |call| test(call, is_link_local_unicast), TEST),
    family("is_global_unicast", |call| test(call, is_global_unicast), TEST),
    family("cidr", cidr, &[("string", "string", "cidr")]).parsing(),
    family("is_cidr", is_cidr, &[("string", "string", "bool")]).parsing(),
    family(
        "contains_ip",
        contains_ip,
        &[("ip", "cidr ip", "bool"), ("string", "cidr string", "bool")],
    )
    .parsing(),
    family(
        "contains_cidr",
        contains_cidr,
        &[("cidr", "cidr cidr", "bool"), ("string", "cidr string", "bool")],
    )
    .parsing(),
    family(
        "cidr_ip",
        |call| of_range(call, |range| Value::Ip(Arc::new(range.address))),
        &[("cidr", "cidr", "ip")],
    ),
    family(
        "masked",
        |call| of_range(call, |range| Value::Cidr(Arc::new(range.masked()))),
        &[("cidr", "cidr", "cidr")],
    ),
    family(
        "prefix_length",
        |call| of_range(call, |range| Value::Int(i64::from(range.bits))),
        &[("cidr", "cidr", "int")],
    ),
];

fn text<'a>(call: &'a mut Call<'_>) -> Result<&'a str, Fault> {
    match call.args {
        [Value::String(text)] => {
            call.budget.charge_text(text.len())?;
            Ok(text)
        }
        _ => Err(Fault::no_such_overload()),
    }
}

fn ip(call: &mut Call<'_>) -> Result<Value, Fault> {
    parse_ip(text(call)?).map(|address| Value::Ip(Arc::new(address))).map_err(Fault::malformed)
}

fn is_ip(call: &mut Call<'_>) -> Result<Value, Fault> {
    Ok(Value::Bool(parse_ip(text(call)?).is_ok()))
}

fn is_canonical(call: &mut Call<'_>) -> Result<Value, Fault> {
    let text = text(call)?;
    let address = parse_ip(text).map_err(Fault::malformed)?;
    Ok(Value::Bool(address.to_string() == text))
}

fn ip_family(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Ip(address)] => Ok(Value::Int(if address.is_ipv4() { 4 } else { 6 })),
        _ => Err(Fault::no_such_overload()),
    }
}

fn test(call: &mut Call<'_>, of: fn(IpAddr) -> bool) -> Result<Value, Fault> {
    match call.args {
        [Value::Ip(address)] => Ok(Value::Bool(of(**address))),
        _ => Err(Fault::no_such_overload()),
    }
}

fn cidr(call: &mut Call<'_>) -> Result<Value, Fault> {
    Cidr::parse(text(call)?).map(|range| Value::Cidr(Arc::new(range))).map_err(Fault::malformed)
}

fn is_cidr(call: &mut Call<'_>) -> Result<Value, Fault> {
    Ok(Value::Bool(Cidr::parse(text(call)?).is_ok()))
}

fn contains_ip(call: &mut Call<'_>) -> Result<Value, Fault> {
    let (range, address) = match call.args {
        [Value::Cidr(range), Value::Ip(address)] => (range, **address),
        [Value::Cidr(range), Value::String(text)] => {
            call.budget.charge_text(text.len())?;
            (range, parse_ip(text).map_err(Fault::malformed)?)
        }
        _ => return Err(Fault::no_such_overload()),
    };
    Ok(Value::Bool(range.has_ip(address)))
}

fn contains_cidr(call: &mut Call<'_>) -> Result<Value, Fault> {
    let (range, inner) = match call.args {
        [Value::Cidr(range), Value::Cidr(inner)] => (range, **inner),
        [Value::Cidr(range), Value::String(text)] => {
            call.budget.charge_text(text.len())?;
            (range, Cidr::parse(text).map_err(Fault::malformed)?)
        }
        _ => return Err(Fault::no_such_overload()),
    };
    Ok(Value::Bool(range.has_range(inner)))
}

fn of_range(call: &mut Call<'_>, of: fn(Cidr) -> Value) -> Result<Value, Fault> {
    match call.args {
        [Value::Cidr(range)] => Ok(of(**range)),
        _ => Err(Fault::no_such_overload()),
    }
}
