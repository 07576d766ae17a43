"""Edge values of every type, in our JSON form: empty, negative, huge, not a number, of all planes
of Unicode, malformed.
"""

from __future__ import annotations

import base64
from typing import Any, Final

_HUGE: Final = 2**63 - 1


def _tagged(tag: str, *bodies: Any) -> tuple[dict[str, Any], ...]:
    return tuple({tag: body} for body in bodies)


_LONG: Final = "x" * 70

TEXTS: Final = (
    "",
    "a",
    "Abc",
    "ä€𝄞",
    " a\t\u00a0",
    "a,b,,c",
    "aaa",
    "\n\"'\\`\x07\u2028",
    "İß",
    _LONG,
)
INTS: Final = (0, 1, -1, 2, 3, 63, 64, 1_000_000, 2**53 + 1, _HUGE, -_HUGE - 1)
UINTS: Final = _tagged("uint", 0, 1, 2, 63, 64, 2**53 + 1, 2**63, 2**64 - 1)
DOUBLES: Final = _tagged(
    "double",
    *("0.0", "-0.0", "1.0", "-1.0", "0.5", "-0.5", "1.5", "2.5", "1e6", "1e-7", "123456.789"),
    *("1e15", "1e21", "1e22", "9007199254740993", "9223372036854775807", "-9223372036854775808"),
    *("18446744073709551615", "5e-324", "1e308", "-1e308", "0.1", "1e-5", "100000.0"),
    *("NaN", "Infinity", "-Infinity"),
)
BYTES: Final = _tagged(
    "bytes",
    *(base64.b64encode(each).decode() for each in (b"", b"a", b"abc", b"\xff\x00", "ä€".encode())),
)
TIMESTAMPS: Final = _tagged(
    "timestamp",
    *("1970-01-01T00:00:00Z", "2026-02-28T23:59:59.123456789Z", "2024-02-29T12:30:00.5Z"),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.001Z"),
    "2026-07-01T00:00:00Z",
)
DURATIONS: Final = _tagged(
    "duration",
    *("0s", "1s", "-1s", "90.5s", "-90.5s", "0.000000001s", "-0.001999s", "3661.001s"),
    *("9223372036.854775807s", "-9223372036.854775808s"),
)
QUANTITY_TEXTS: Final = (
    *("0", "1", "-1", "500m", "1Gi", "1.5Gi", "1Pi", "1Ei", "8Ei", "9E", "1n", "0.1n", "-0.1n"),
    *("1e3", "1E3", "1e-3", "1E", "100k", "2Ki", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "0.000000001", "1.0000000001", "1e30", "1u", "1000m", "1500m"),
    *("12345678901234567890123", "1023Ki", "1024Ki", "0.5Mi", "0Ki", "00.10", ".5", "5.", "+1"),
)
IP_TEXTS: Final = (
    *(
        "0.0.0.0",
        "127.0.0.1",
        "10.0.0.1",
        "169.254.0.1",
        "224.0.0.1",
        "224.0.1.1",
        "255.255.255.255",
    ),
    *("::", "::1", "fe80::1", "ff02::1", "ff05::2", "2001:db8::abcd", "2001:DB8::ABCD"),
    "2001:db8:0:0:0:0:0:abcd",
)
CIDR_TEXTS: Final = (
    *("0.0.0.0/0", "10.0.0.0/8", "10.0.0.1/8", "10.0.0.1/32", "192.168.1.0/24"),
    *("::/0", "2001:db8::/32", "2001:db8::1/128", "fe80::/10"),
)
URL_TEXTS: Final = (
    *("/", "/path", "/a%20b/c d", "//host/p", "https://example.com", "HTTP://EXAMPLE.com:80/"),
    "https://user:pass@example.com:8080/path?k1=a&k2=b&k2=c+d&e&f=%zz&;=1#frag",
    *(
        "https://[::1]:80/",
        "https://[fe80::1%25en0]/",
        "mailto:a@b",
        "https://h?",
        "https://h/é?é=ß",
    ),
    *(
        "urn:isbn:1?q=2",
        "file:///etc/passwd",
        "https://h:/x",
        "https://h/%C3%A9%2F",
        "*",
        "a:b",
        "x://",
    ),
)
SEMVER_TEXTS: Final = (
    *("0.0.0", "1.2.3", "1.10.0", "1.2.3-rc.1", "1.2.3-rc.1+build", "1.2.3+build", "1.2.3-alpha"),
    *("1.2.3-1", "1.2.3-10", "1.2.3-a.b.c", "18446744073709551615.0.0"),
)
FORMATS: Final = _tagged(
    "format",
    *("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix"),
    *("dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date"),
    "datetime",
)

# By the name of a type, without its parameters.
VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "null": (None,),
    "bool": (False, True),
    "int": INTS,
    "uint": UINTS,
    "double": DOUBLES,
    "string": TEXTS,
    "bytes": BYTES,
    "timestamp": TIMESTAMPS,
    "duration": DURATIONS,
    "quantity": _tagged("quantity", *QUANTITY_TEXTS),
    "ip": _tagged("ip", *IP_TEXTS),
    "cidr": _tagged("cidr", *CIDR_TEXTS),
    "url": _tagged("url", *URL_TEXTS),
    "semver": _tagged("semver", *SEMVER_TEXTS),
    "format": FORMATS,
}
# The types that a parameter of an overload, such as the items of a list, takes in turn.
ITEMS: Final = ("int", "double", "string", "duration", "dyn")

_NUMBERS: Final = (
    *("0", "-0", "1", "+1", "-1", "007", "0x10", "1_000", "1.5", "1.", ".5", "1e3", "1e309"),
    *("-1e309", "1e-400", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("-9223372036854775809", "18446744073709551615", "18446744073709551616", " 1", "1 ", "١"),
    *("NaN", "nan", "Inf", "inf", "+Inf", "-inf", "Infinity", "-Infinity", "infinity", "0x1p-2"),
    *("t", "T", "true", "TRUE", "True", "tRUE", "f", "False", "yes", "1u", "1e", "e1", "--1", "+"),
)
_TIMES: Final = (
    *("1970-01-01T00:00:00Z", "2026-01-31T12:00:00+02:00", "2026-01-31T12:00:00.5-08:30"),
    *("2026-01-31t12:00:00Z", "2026-01-31T12:00:00z", "2026-01-31t12:00:00z", "2026-01-31"),
    *(
        "2026-02-29T00:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T23:59:60Z",
        "0001-01-01T00:00:00Z",
    ),
    *("0000-12-31T23:59:59Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59Z"),
    *("9999-12-31T23:59:59-01:00", "10000-01-01T00:00:00Z", "2026-01-31T12:00:00"),
    *("2026-01-31T12:00:00.Z", "2026-01-31T12:00:00,5Z", "2026-01-31T12:00:00.1234567891Z"),
    *("2026-01-31 12:00:00Z", "2026-1-31T12:00:00Z", "2026-01-31T1:00:00Z", "2026-01-31T12:00Z"),
    *("2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+23:59", "2026-01-31T12:00:00+12:60"),
    *("2026-01-31T12:00:00-00:00", "2026-01-31T12:00:00+0200", "2026-01-31T12:00:00Zx"),
    *("x2026-01-31T12:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z"),
    *(
        "0",
        "1s",
        "-1s",
        "+1s",
        "1h30m",
        "1.5h",
        "1h1h",
        "300ms",
        "1us",
        "1µs",
        "1μs",
        "1ns",
        "0.1ns",
    ),
    *("1d", "1", "s", ".s", ".5s", "5.s", "1.5.5s", "-", "+", "1 s", "2562047h47m16.854775807s"),
    *("2562047h47m16.854775808s", "-2562047h47m16.854775808s", "9223372036854775808ns", "1e3s"),
    *("0.9999999999s", "0.33333333333333333333h", "99999999999999999999h", "-0", "+0", "00s"),
)
_ZONES: Final = (
    *("", "UTC", "utc", "Z", "z", "GMT", "Local", "local", "Europe/London", "europe/london"),
    *("America/St_Johns", "Asia/Kathmandu", "US/Central", "Nowhere/Town", "../UTC", "EST", "CET"),
    *("+02:00", "-08:30", "02:00", "2:00", "+2:00", "-2:5", "+14:00", "+24:00", "+23:59", "+99:99"),
    *("-00:30", "+0200", "+02", ":", "a:b", "1:2:3", "+ 2:00", "+02:-30", "Australia/Lord_Howe"),
    *("Etc/GMT+5", "UTC+1", "Europe/Dublin", "PST8PDT"),
)
# No huge exponents: Kubernetes writes out 10 to that power, which takes minutes.
_MALFORMED_QUANTITIES: Final = (
    *(
        "m",
        "Gi",
        "1 Gi",
        "1gi",
        "1K",
        "1KiB",
        "k",
        "-",
        "+",
        ".",
        "1.2.3",
        "1e",
        "1e+",
        "1e3k",
        "1ee3",
    ),
    *("e3", "E", "1E3Ki", "1e100", "0e100", "1e-100", "--1", "1m1", "0x10", "١"),
    *("1Ke3", "1e1.5", "-m", "+Ki", "1e9223372036854775808", "1.5Ei"),
)
_MALFORMED_IPS: Final = (
    *("10.0.0", "10.0.0.256", "10.0.0.01", "::ffff:1.2.3.4", "::ffff:a00:1", "fe80::1%eth0"),
    *("1.2.3.4%a", "::1/128", "[::1]", " ::1", "::1::", "12345::", "1:2:3:4:5:6:7", "::1.2.3.4"),
    *("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1.2.3.4.5", "0x7f.1", "::G", ":"),
)
_MALFORMED_CIDRS: Final = (
    *(
        "10.0.0.0",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/08",
        "10.0.0.0/",
        "/8",
        "::/129",
        "::1/0128",
    ),
    *(
        "::ffff:10.0.0.0/104",
        "::ffff:a00:1/120",
        "fe80::1%eth0/64",
        "10.0.0.0/8 ",
        "10.0/8",
        "10.0.0.0/+8",
    ),
)
_MALFORMED_URLS: Final = (
    *("../x", ":x", "https://a:b:c/", "https://[::1/", "https://[1.2.3.4]/", "https://a[::1]/"),
    *(
        "https://h/%zz",
        "https://a b/",
        "https://u^@h/",
        "/a\x7f",
        "x",
        "https://h:8080a/",
        "http://%41/",
    ),
    *(
        "https://h/#%zz",
        "1http://h",
        "https://h/a?%zz#b",
        "https://[fe80::1%en0]/",
        "https://[::1]x/",
    ),
    *(
        "https://h\\x/",
        "//[x",
        "///a",
        "//",
        "/#",
        "https://[]/",
        "https://u:p:q@h/",
        "https://u@v@h/",
    ),
    *(
        "https://é/",
        "https://%C3%A9/",
        "https://h%25/",
        "https://[::1%25]/",
        "?q",
        "#f",
        "https:///x",
    ),
    *(
        "https://ex<ample/",
        "https://h/\u0080",
        "https://h/ a",
        "https://h/[a]",
        "https://h/%5Ba%5D",
    ),
    *(
        "https://a:b@/x",
        "https://h:80:90/",
        "http:opaque",
        "http:/one/slash",
        "ht_tp://x",
        "a+b-c.d://x",
    ),
)
_MALFORMED_SEMVERS: Final = (
    *(
        "v1.2.3",
        "V1.2.3",
        "1.2",
        "1",
        "v1",
        "v1.2",
        "01.02.03",
        "v01.01",
        "1.2.3-",
        "1.2.3+",
        "1.2.3-01",
    ),
    *(
        "1.2.3-rc..1",
        "1.2.3-é",
        " 1.2.3",
        "1.2.3 ",
        "1.2.3.4",
        "-1.2.3",
        "1.2.x",
        "1.2-rc",
        "1-rc.1",
    ),
    *(
        "18446744073709551616.0.0",
        "1.2.3+a+b",
        "1.2.3-a+b-c",
        "vv1.2.3",
        "1..2",
        "v",
        "1.2.3-0",
        "00.0.0",
    ),
    *("1.2+b", "1+b", "v1.0-rc.1+b", "1.2.3-18446744073709551616", "1.2.3-18446744073709551615"),
)
_NAMED: Final = (
    *(
        "my-label",
        "my.sub.domain",
        "-a",
        "a-",
        "A",
        "a_b",
        "a..b",
        ".a",
        "a.",
        "1a",
        "a/b",
        "a/",
        "/a",
    ),
    *(
        "A/b",
        "a/b/c",
        "example.com/My_Name",
        "a/-",
        "a b",
        "ä",
        "a-b-",
        "a.-",
        "a--",
        "-",
        "--",
        "a_-",
    ),
    *(
        "a" * 63,
        "a" * 64,
        "a" * 62 + "-",
        "a" * 63 + "-",
        ".".join(["a" * 50] * 5),
        "a." * 126 + "a",
    ),
    *("a." * 127 + "a", "x/" + "a" * 64, "a" * 254 + "/b", "uri", "x", "https://h/#f", "a-.b"),
    "123e4567-e89b-12d3-a456-426614174000",
    *(
        "123E4567e89b12d3a456426614174000",
        "123e4567-e89b-12d3-a456-42661417400",
        "123e4567-e89b12d3-a456426614174000",
    ),
    *(
        "aGVsbG8=",
        "aGVsbG8",
        "aGVs",
        "=",
        "==",
        "aG==",
        "aGV*",
        "YQ=",
        "Y===",
        "a\\b=",
        "aGVs\n",
        "_-aa",
    ),
    *(
        "2020-02-29",
        "2021-02-29",
        "2020-01-32",
        "2020-1-1",
        "0000-01-01",
        "20200101",
        "2020-01-01T",
    ),
    *("2021-01-01T00:00:00Z", "2021-01-01t23:59:59.123+01:00", "2021-01-01T00:00:00,5z"),
    *(
        "2021-01-01T24:00:00Z",
        "2021-01-01T00:00:60Z",
        "2021-01-01T00:00:00",
        "2021-01-01 00:00:00Z",
    ),
    *("2021-01-01T00:00:00.Z", "2021-01-01T00:00:00+24:00", "2021-01-01T00:00:00.5+99:99", "TT"),
)
_PATTERNS: Final = (
    *(
        "a",
        "^A",
        "b*",
        "",
        ".",
        "[[:alpha:]]+",
        "(a)(b)?",
        "a|b",
        "(?i)ABC",
        "\\d",
        "\\pL",
        "\\x{20AC}",
    ),
    *(
        "[",
        "(",
        "a{2,1}",
        "a**",
        "(?=a)",
        "\\1",
        "\\b",
        "a{1001}",
        "(?P<n>a)",
        "(?<n>a)",
        "[^a]",
        "\\Qa,\\E",
    ),
    *(
        "[a&&b]",
        "\\C",
        "$",
        "(?m)^",
        "x{64}",
        "\\z",
        "\\Z",
        "(?s).",
        "[\\d-z]",
        "[z-a]",
        "a{,2}",
        "\\pN",
    ),
)
_TEMPLATES: Final = (
    *(
        "",
        "%s",
        "%d",
        "%f",
        "%e",
        "%.0f",
        "%.3f",
        "%.3e",
        "%.12f",
        "%b",
        "%o",
        "%x",
        "%X",
        "%%",
        "%",
        "%z",
    ),
    *(
        "a%sb",
        "%.s",
        "%.2d",
        "%5d",
        "%.1000f",
        "%.99999999999f",
        "%ä",
        "%.2s",
        "%+d",
        "%.20e",
        "%.0e",
    ),
    *("%s%%", "%%%s", "%-5s", "%.2x"),
)

# Texts for a function, or for one of its operands: they are asked beside `TEXTS`.
TEXTS_OF: Final[dict[str, tuple[str, ...]]] = {
    "int": _NUMBERS,
    "uint": _NUMBERS,
    "double": _NUMBERS,
    "bool": _NUMBERS,
    "timestamp": _TIMES,
    "duration": _TIMES,
    "quantity": (*QUANTITY_TEXTS, *_MALFORMED_QUANTITIES, *_NUMBERS),
    "isQuantity": (*QUANTITY_TEXTS, *_MALFORMED_QUANTITIES, *_NUMBERS),
    **dict.fromkeys(("ip", "isIP", "ip.isCanonical"), (*IP_TEXTS, *_MALFORMED_IPS)),
    "containsIP": (*IP_TEXTS, *_MALFORMED_IPS),
    **dict.fromkeys(("cidr", "isCIDR"), (*CIDR_TEXTS, *_MALFORMED_CIDRS, *_MALFORMED_IPS)),
    "containsCIDR": (*CIDR_TEXTS, *_MALFORMED_CIDRS),
    **dict.fromkeys(("url", "isURL"), (*URL_TEXTS, *_MALFORMED_URLS)),
    **dict.fromkeys(("semver", "isSemver"), (*SEMVER_TEXTS, *_MALFORMED_SEMVERS, *_NUMBERS)),
    "format.named": (*(each["format"] for each in FORMATS), "DNS1123label"),
    "validate": (*_NAMED, *URL_TEXTS, *_MALFORMED_URLS, *_TIMES),
    **dict.fromkeys(("matches", "find", "findAll"), _PATTERNS),
    "format": _TEMPLATES,
    "base64.decode": (
        "YQ==",
        "YQ",
        "YQ=",
        "YQ===",
        "aGVsbG8=",
        "a",
        "=",
        "Y\nQ==",
        "_-==",
        "YR==",
        "YQ==YQ==",
    ),
    **dict.fromkeys(
        (
            *(
                "getFullYear",
                "getMonth",
                "getDate",
                "getDayOfMonth",
                "getDayOfWeek",
                "getDayOfYear",
            ),
            *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
        ),
        _ZONES,
    ),
}


def values_of(kind: str, function: str = "") -> tuple[Any, ...]:
    """Edge values of a type, for an operand of that function."""
    if kind == "string":
        return tuple(dict.fromkeys((*TEXTS_OF.get(function, ()), *TEXTS)))
    if kind == "dyn":
        return ANYTHING
    head, _, rest = kind.partition("(")
    if head == "list":
        return _lists(rest.removesuffix(")"), function)
    if head == "optional":
        items = values_of(rest.removesuffix(")"))
        return ({"optional": []}, *({"optional": [item]} for item in items[:4]))
    if head == "map":
        key, _, item = rest.removesuffix(")").partition(",")
        keys, items = values_of(key)[:3], values_of(item.strip())
        return (
            {"map": []},
            {"map": [[keys[0], items[0]]]},
            {"map": [list(pair) for pair in zip(keys, items[-3:], strict=False)]},
        )
    return VALUES[kind]


def _lists(item: str, function: str) -> tuple[Any, ...]:
    items = values_of(item, "")
    if item == "dyn":
        nan = {"double": "NaN"}
        some: tuple[Any, ...] = (
            [1, {"uint": 1}, {"double": "1.0"}],
            [{"double": "1.0"}, 1],
            [nan, 1],
            [1, nan],
            [1, "a"],
            ["a", None],
            [None],
            [[1], [2, [3]]],
            [{"map": [["a", 1]]}, {"map": [["a", {"double": "1.0"}]]}],
            [True, False],
            [*_tagged("quantity", "1", "1000m")],
        )
        single = tuple([value] for value in ANYTHING) if function == "format" else ()
        return ([], *some, *single)
    if item.startswith("list("):
        return ([], [[]], [list(items[-1])], [list(items[0]), list(items[-1])])
    if item.startswith("optional("):
        return ([], list(items), [items[0]])
    return (
        [],
        [items[0]],
        [items[1], items[0]],
        [items[0], items[1], items[1]],
        list(items),
        list(items[::-1]),
        [items[-1], items[0]],
        [items[0], items[-1]],
    )


# One or more of every type, for operands whose type is known only while evaluating.
ANYTHING: Final[tuple[Any, ...]] = (
    *(None, False, True, 0, 1, -7, _HUGE, *UINTS[:2], *_tagged("uint", 2**64 - 1)),
    *_tagged("double", "0.0", "-0.0", "1.0", "-0.5", "1e6", "1e-7", "NaN", "Infinity", "-Infinity"),
    *("", "a", "1", "ä€𝄞", *_tagged("bytes", "", "YQ==", "/w==")),
    *(
        [],
        [1],
        ["a"],
        [1, "a"],
        [[1]],
        {"map": []},
        {"map": [["a", 1]]},
        {"map": [[1, "b"], [True, 2]]},
    ),
    *(TIMESTAMPS[0], TIMESTAMPS[1], DURATIONS[0], DURATIONS[3]),
    *({"optional": []}, {"optional": [1]}),
    *_tagged("quantity", "0", "1", "500m", "1Gi", "1024Mi"),
    *_tagged("ip", "10.0.0.1", "::1"),
    *_tagged("cidr", "10.0.0.0/8", "2001:db8::/32"),
    *_tagged("url", "https://example.com:80/p?k=v", "/p"),
    *_tagged("semver", "1.2.3", "1.2.3-rc.1"),
    *_tagged("format", "uri", "labelValue"),
)
