//! IP addresses and CIDR ranges, parsed as strictly as by the Kubernetes API.
//!
//! No leading zeros, no zones, no IPv4 inside IPv6.

use core::net::{IpAddr, Ipv6Addr};
use std::fmt;

/// An address with the length of a prefix; bits behind the prefix are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cidr {
    /// The address before the slash.
    pub address: IpAddr,
    /// The length of the prefix.
    pub bits: u8,
}

/// The address a text denotes, or why it denotes none.
pub(crate) fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let unreadable = || format!("IP Address {text:?} parse error during conversion from string");
    if let Some((before, zone)) = text.split_once('%') {
        let is_address = before.parse::<Ipv6Addr>().is_ok() && !zone.is_empty();
        return Err(if is_address {
            format!("IP Address with zone value is not allowed: {text:?}")
        } else {
            unreadable()
        });
    }
    match text.parse().map_err(|_| unreadable())? {
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(_) => Err(mapped(text)),
            None => Ok(IpAddr::V6(address)),
        },
        address @ IpAddr::V4(_) => Ok(address),
    }
}

fn mapped(text: &str) -> String {
    format!("IPv4-mapped IPv6 address is not allowed: {text:?}")
}

impl Cidr {
    /// Reads `10.0.0.0/8`; otherwise the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let unreadable =
            || format!("network address parse error during conversion from string: {text:?}");
        let (address, bits) = text.rsplit_once('/').ok_or_else(unreadable)?;
        if address.contains('%') {
            return Err(format!("CIDR with zone value is not allowed: {text:?}"));
        }
        let address: IpAddr = address.parse().map_err(|_| unreadable())?;
        if matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some()) {
            return Err(mapped(text));
        }
        let is_plain = bits.bytes().all(|digit| digit.is_ascii_digit());
        if !is_plain || (bits.len() > 1 && bits.starts_with('0')) {
            return Err(unreadable());
        }
        let bits: u8 = bits.parse().map_err(|_| unreadable())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        if bits > most { Err(unreadable()) } else { Ok(Self { address, bits }) }
    }

    /// Without the bits behind the prefix.
    #[must_use]
    pub fn masked(self) -> Self {
        Self { address: masked(self.address, self.bits), bits: self.bits }
    }

    /// Whether the address is in the range.
    pub fn has_ip(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && masked(self.address, self.bits) == masked(address, self.bits)
    }

    /// Whether all of the other range is in this one.
    pub fn has_range(self, other: Self) -> bool {
        self.bits <= other.bits && self.has_ip(other.address)
    }
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6((address.to_bits() & mask).into())
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.bits)
    }
}

pub(crate) fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.to_bits() >> 8 == 0x00e0_0000,
        IpAddr::V6(address) => {
            address.segments().first().is_some_and(|part| part & 0xff0f == 0xff02)
        }
    }
}

pub(crate) fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => {
            address.segments().first().is_some_and(|part| part & 0xffc0 == 0xfe80)
        }
    }
}

pub(crate) fn is_global_unicast(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(is_broadcast
        || address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || is_link_local_unicast(address))
}

#[cfg(test)]
mod tests {
    use super::{Cidr, parse_ip};

    #[test]
    fn what_the_api_refuses_is_refused() {
        for text in [
            "",
            "1.2.3",
            "1.2.3.4.5",
            "01.2.3.4",
            "1.2.3.256",
            "1.2.3.4%eth0",
            "fe80::1%eth0",
            ":::1",
            "::ffff:1.2.3.4",
            "1::2::3",
            "12345::",
            " 1.2.3.4",
            "1.2.3.4 ",
            "0x1.2.3.4",
            "1.2.3.+4",
        ] {
            assert!(parse_ip(text).is_err(), "{text}");
        }
        for text in [
            "1.2.3.4",
            "1.2.3.4/",
            "1.2.3.4/33",
            "1.2.3.4/08",
            "1.2.3.4/+8",
            "::/129",
            "::1%e/64",
            "::ffff:1.2.3.4/120",
            "::ffff:102:304/120",
            "/8",
            "1.2.3.4/8/8",
            "1.2.3.4/-1",
        ] {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn texts_are_canonical() {
        for (text, canonical) in [
            ("2001:DB8::0:0:0:ABCD", "2001:db8::abcd"),
            ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
            ("::1.2.3.4", "::102:304"),
            ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"),
        ] {
            assert_eq!(parse_ip(text).map(|address| address.to_string()), Ok(canonical.into()));
        }
    }

    #[test]
    fn a_range_contains_what_shares_its_prefix() {
        let range = |text: &str| Cidr::parse(text).expect(text);
        let ip = |text: &str| parse_ip(text).expect(text);
        assert!(range("0.0.0.0/0").has_ip(ip("255.1.2.3")));
        assert!(!range("0.0.0.0/0").has_ip(ip("::1")));
        assert!(range("::/0").has_range(range("2001:db8::/32")));
        assert!(!range("10.0.0.0/8").has_range(range("0.0.0.0/0")));
        assert!(range("10.1.2.3/32").has_ip(ip("10.1.2.3")));
        assert_eq!(range("10.1.2.3/12").masked().to_string(), "10.0.0.0/12");
        assert_eq!(range("2001:db8:ffff::1/33").masked().to_string(), "2001:db8:8000::/33");
    }
}
