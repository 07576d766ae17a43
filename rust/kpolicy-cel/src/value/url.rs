//! URLs, parsed as Go's `net/url` does, which the Kubernetes CEL library uses.
//!
//! Accepted are absolute URLs and absolute paths. The fragment is cut off after the whole text has
//! been accepted.

use super::ip_text::{self, Family};
use super::quoted;
use super::url_escape::{Mode, escape, is_valid_encoded, unescape};

/// An absolute URL or an absolute path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    scheme: String,
    host: String,
    /// Escaped.
    path: String,
    query: String,
}

impl Url {
    /// Reads an absolute URL or an absolute path; the reason otherwise is Go's.
    pub fn parse(text: &str) -> Result<Self, String> {
        let because = |why: String| format!("parse {}: {why}", quoted(text));
        Self::is_request(text)?;
        let (bare, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = parts(bare, Purpose::Parts).map_err(because)?;
        if unescape(fragment, Mode::Fragment).is_err() {
            return Err(because("invalid fragment".into()));
        }
        text.clone_into(&mut url.text);
        Ok(url)
    }

    /// Whether it passes as a whole, fragment and all; Go's reason otherwise.
    pub fn is_request(text: &str) -> Result<(), String> {
        parts(text, Purpose::Request)
            .map(drop)
            .map_err(|why| format!("parse {}: {why}", quoted(text)))
    }

    /// The URL as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The scheme, empty for a path.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The host, with its port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path, escaped.
    pub fn escaped_path(&self) -> &str {
        &self.path
    }

    /// The host without port and without the brackets of IPv6.
    pub fn hostname(&self) -> &str {
        let host = self.split().0;
        host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host)
    }

    /// The port, empty without one.
    pub fn port(&self) -> &str {
        self.split().1
    }

    fn split(&self) -> (&str, &str) {
        match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (&self.host, ""),
        }
    }

    /// Keys and values, unescaped, in order; what cannot be read is left out.
    pub fn query(&self) -> Vec<(String, String)> {
        let pair = |text: &str| {
            let (key, value) = text.split_once('=').unwrap_or((text, ""));
            let read = |text| unescape(text, Mode::Query).ok();
            Some((read(key)?, read(value)?))
        };
        let texts = self.query.split('&').filter(|text| !text.is_empty() && !text.contains(';'));
        texts.filter_map(pair).collect()
    }
}

/// A request has a host only behind a scheme; the parts of a URL also behind two slashes alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Request,
    Parts,
}

fn parts(text: &str, purpose: Purpose) -> Result<Url, String> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err("net/url: invalid control character in URL".into());
    }
    if text.is_empty() && purpose == Purpose::Request {
        return Err("empty url".into());
    }
    let mut url = Url {
        text: text.to_owned(),
        scheme: String::new(),
        host: String::new(),
        path: String::new(),
        query: String::new(),
    };
    if text == "*" {
        text.clone_into(&mut url.path);
        return Ok(url);
    }
    let (scheme, rest) = scheme_of(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    query.clone_into(&mut url.query);
    if !rest.starts_with('/') {
        // `mailto:someone` has no part but the scheme.
        return if scheme.is_empty() { Err("invalid URI for request".into()) } else { Ok(url) };
    }
    let mut path = rest;
    let has_host = !scheme.is_empty() || (purpose == Purpose::Parts && !rest.starts_with("///"));
    if let (true, Some(behind)) = (has_host, rest.strip_prefix("//")) {
        let end = behind.find('/').unwrap_or(behind.len());
        let (authority, after) = behind.split_at(end);
        url.host = host_of(&url.scheme, authority)?;
        path = after;
    }
    url.path = escaped(path)?;
    Ok(url)
}

fn scheme_of(text: &str) -> Result<(&str, &str), String> {
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let end = text.bytes().position(|byte| !is_scheme(byte)).unwrap_or(text.len());
    let (scheme, rest) = text.split_at(end);
    match rest.strip_prefix(':') {
        Some(_) if scheme.is_empty() => Err("missing protocol scheme".into()),
        Some(rest) if scheme.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            Ok((scheme, rest))
        }
        _ => Ok(("", text)),
    }
}

fn escaped(path: &str) -> Result<String, String> {
    let bare = unescape(path, Mode::Path)?;
    Ok(if is_valid_encoded(path) { path.to_owned() } else { escape(&bare) })
}

fn host_of(scheme: &str, authority: &str) -> Result<String, String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host = checked_host(scheme, host)?;
    if let Some(user) = user {
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
        if !user.bytes().all(is_plain) {
            return Err("net/url: invalid userinfo".into());
        }
        unescape(user, Mode::User)?;
    }
    Ok(host)
}

fn checked_host(scheme: &str, host: &str) -> Result<String, String> {
    match host.rfind('[') {
        Some(0) => return literal(host),
        Some(_) => return Err("invalid IP-literal".into()),
        None => {}
    }
    if let Some(first) = host.find(':') {
        let is_web = scheme == "http" || scheme == "https";
        let at = if is_web { first } else { host.rfind(':').unwrap_or(first) };
        checked_port(host.get(at..).unwrap_or_default())?;
    }
    unescape(host, Mode::Host)
}

/// `[address]` with or without a port.
fn literal(host: &str) -> Result<String, String> {
    let end = host.rfind(']').ok_or("missing ']' in host")?;
    let port = host.get(end + 1..).unwrap_or_default();
    checked_port(port)?;
    let inside = host.get(1..end).unwrap_or_default();
    let name = match inside.find("%25") {
        Some(at) => {
            let (address, zone) = inside.split_at(at);
            unescape(address, Mode::Host)? + &unescape(zone, Mode::Zone)?
        }
        None => unescape(inside, Mode::Host)?,
    };
    match ip_text::family(&name) {
        Ok(Family::V6) => Ok(format!("[{name}]{port}")),
        Ok(Family::V4) => Err("invalid IP-literal".into()),
        Err(why) => Err(format!("invalid host: {why}")),
    }
}

fn checked_port(port: &str) -> Result<(), String> {
    let digits = port.strip_prefix(':').unwrap_or_default();
    let is_port = port.is_empty() || port.starts_with(':');
    if is_port && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    Err(format!("invalid port {} after host", quoted(port)))
}

#[cfg(test)]
mod tests {
    use super::Url;

    fn url(text: &str) -> Url {
        Url::parse(text).expect(text)
    }

    #[test]
    fn the_parts_of_a_url() {
        let whole =
            url("https://user:pass@example.com:80/a%20b/c d?k1=a&k2=b&k2=c+d&e&f=%zz&;=1#x");
        assert_eq!((whole.scheme(), whole.host()), ("https", "example.com:80"));
        assert_eq!((whole.hostname(), whole.port()), ("example.com", "80"));
        assert_eq!(whole.escaped_path(), "/a%20b/c%20d");
        let pairs: Vec<(String, String)> = whole.query();
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(pairs, [("k1", "a"), ("k2", "b"), ("k2", "c d"), ("e", "")]);
        let v6 = url("https://[::1]:80/");
        assert_eq!((v6.host(), v6.hostname(), v6.port()), ("[::1]:80", "::1", "80"));
        assert_eq!(url("https://[::1]/").port(), "");
        assert_eq!(url("https://[fe80::1%25en0]/").hostname(), "fe80::1%en0");
        let path = url("/path");
        assert_eq!((path.scheme(), path.host(), path.escaped_path()), ("", "", "/path"));
        assert_eq!(url("mailto:a@b").escaped_path(), "");
        assert_eq!(url("HTTP://h").scheme(), "http");
        assert_eq!(url("https://h?").query(), []);
        assert_eq!(url("/a//b:c").escaped_path(), "/a//b:c");
        assert_eq!(url("https://h/é").escaped_path(), "/%C3%A9");
    }

    #[test]
    fn what_is_no_url() {
        for (text, why) in [
            ("", "empty url"),
            ("../relative-path", "invalid URI for request"),
            (":x", "missing protocol scheme"),
            ("https://a:b:c/", r#"invalid port ":b:c" after host"#),
            ("https://[::1/", "missing ']' in host"),
            ("https://[1.2.3.4]/", "invalid IP-literal"),
            ("https://a[::1]/", "invalid IP-literal"),
            ("https://h/%zz", r#"invalid URL escape "%zz""#),
            ("https://a b/", r#"invalid character " " in host name"#),
            ("https://u^@h/", "net/url: invalid userinfo"),
        ] {
            assert_eq!(Url::parse(text), Err(format!("parse {text:?}: {why}")), "{text}");
        }
        let why = r#"parse "/a\x7f": net/url: invalid control character in URL"#;
        assert_eq!(Url::parse("/a\u{7f}"), Err(why.to_owned()));
    }
}
