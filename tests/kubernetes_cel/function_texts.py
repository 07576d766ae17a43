"""Texts for functions that read texts: well-formed, odd and malformed ones."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> list[str]:
    return text.split()


QUANTITY_TEXTS: Final = (
    *_words("""
        0 1 -1 500m 1Gi 1.5Gi 1Pi 1Ei 8Ei 9E 1n 0.1n -0.1n 1e3 1E3 1e-3 1E 100k 2Ki
        9223372036854775807 9223372036854775808 -9223372036854775808 0.000000001 1.0000000001 1e30
        1u 1000m 1500m 12345678901234567890123 1023Ki 1024Ki 0.5Mi 0Ki 00.10 .5 5. +1
    """),
)
IP_TEXTS: Final = (
    *_words("""
        0.0.0.0 127.0.0.1 10.0.0.1 169.254.0.1 224.0.0.1 224.0.1.1 255.255.255.255 :: ::1 fe80::1
        ff02::1 ff05::2 2001:db8::abcd 2001:DB8::ABCD 2001:db8:0:0:0:0:0:abcd
    """),
)
CIDR_TEXTS: Final = (
    *_words("""
        0.0.0.0/0 10.0.0.0/8 10.0.0.1/8 10.0.0.1/32 192.168.1.0/24 ::/0 2001:db8::/32
        2001:db8::1/128 fe80::/10
    """),
)
URL_TEXTS: Final = (
    *_words("""
        / /path //host/p https://example.com HTTP://EXAMPLE.com:80/ https://[::1]:80/
        https://[fe80::1%25en0]/ mailto:a@b https://h? https://h/é?é=ß urn:isbn:1?q=2
        file:///etc/passwd https://h:/x https://h/%C3%A9%2F * a:b x://
    """),
    "/a%20b/c d",
    "https://user:pass@example.com:8080/path?k1=a&k2=b&k2=c+d&e&f=%zz&;=1#frag",
)
SEMVER_TEXTS: Final = (
    *_words("""
        0.0.0 1.2.3 1.10.0 1.2.3-rc.1 1.2.3-rc.1+build 1.2.3+build 1.2.3-alpha 1.2.3-1 1.2.3-10
        1.2.3-a.b.c 18446744073709551615.0.0
    """),
)
FORMAT_NAMES: Final = (
    *_words("""
        dns1123Label dns1123Subdomain dns1035Label qualifiedName dns1123LabelPrefix
        dns1123SubdomainPrefix dns1035LabelPrefix labelValue uri uuid byte date datetime
    """),
)

_NUMBERS: Final = (
    *_words("""
        0 -0 1 +1 -1 007 0x10 1_000 1.5 1. .5 1e3 1e309 -1e309 1e-400 9223372036854775807
        9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615
        18446744073709551616 ١ NaN nan Inf inf +Inf -inf Infinity -Infinity infinity 0x1p-2 t T true
        TRUE True tRUE f False yes 1u 1e e1 --1 +
    """),
    *(" 1", "1 "),
)
_TIMES: Final = (
    *_words("""
        1970-01-01T00:00:00Z 2026-01-31T12:00:00+02:00 2026-01-31T12:00:00.5-08:30
        2026-01-31t12:00:00Z 2026-01-31T12:00:00z 2026-01-31t12:00:00z 2026-01-31
        2026-02-29T00:00:00Z 2026-01-31T24:00:00Z 2026-01-31T23:59:60Z 0001-01-01T00:00:00Z
        0000-12-31T23:59:59Z 0001-01-01T00:00:00+01:00 9999-12-31T23:59:59Z
        9999-12-31T23:59:59-01:00 10000-01-01T00:00:00Z 2026-01-31T12:00:00 2026-01-31T12:00:00.Z
        2026-01-31T12:00:00,5Z 2026-01-31T12:00:00.1234567891Z 2026-1-31T12:00:00Z
        2026-01-31T1:00:00Z 2026-01-31T12:00Z 2026-01-31T12:00:00+24:00 2026-01-31T12:00:00+23:59
        2026-01-31T12:00:00+12:60 2026-01-31T12:00:00-00:00 2026-01-31T12:00:00+0200
        2026-01-31T12:00:00Zx x2026-01-31T12:00:00Z 2026-13-01T00:00:00Z 2026-00-01T00:00:00Z 0 1s
        -1s +1s 1h30m 1.5h 1h1h 300ms 1us 1µs 1μs 1ns 0.1ns 1d 1 s .s .5s 5.s 1.5.5s - +
        2562047h47m16.854775807s 2562047h47m16.854775808s -2562047h47m16.854775808s
        9223372036854775808ns 1e3s 0.9999999999s 0.33333333333333333333h 99999999999999999999h -0 +0
        00s
    """),
    *("2026-01-31 12:00:00Z", "1 s"),
)
_ZONES: Final = (
    *_words("""
        UTC utc Z z GMT Local local Europe/London europe/london America/St_Johns Asia/Kathmandu
        US/Central Nowhere/Town ../UTC EST CET +02:00 -08:30 02:00 2:00 +2:00 -2:5 +14:00 +24:00
        +23:59 +99:99 -00:30 +0200 +02 : a:b 1:2:3 +02:-30 Australia/Lord_Howe Etc/GMT+5 UTC+1
        Europe/Dublin PST8PDT
    """),
    *("", "+ 2:00"),
)
# No huge exponents: Kubernetes writes out 10 to that power, which takes minutes.
_MALFORMED_QUANTITIES: Final = (
    *_words("""
        m Gi 1gi 1K 1KiB k - + . 1.2.3 1e 1e+ 1e3k 1ee3 e3 E 1E3Ki 1e100 0e100 1e-100 --1 1m1 0x10 ١
        1Ke3 1e1.5 -m +Ki 1e9223372036854775808 1.5Ei
    """),
    "1 Gi",
)
_MALFORMED_IPS: Final = (
    *_words("""
        10.0.0 10.0.0.256 10.0.0.01 ::ffff:1.2.3.4 ::ffff:a00:1 fe80::1%eth0 1.2.3.4%a ::1/128 [::1]
        ::1:: 12345:: 1:2:3:4:5:6:7 ::1.2.3.4 1:2:3:4:5:6:7:8 1:2:3:4:5:6:7:: ::2:3:4:5:6:7:8
        1.2.3.4.5 0x7f.1 ::G :
    """),
    " ::1",
)
_MALFORMED_CIDRS: Final = (
    *_words("""
        10.0.0.0 10.0.0.0/33 10.0.0.0/-1 10.0.0.0/08 10.0.0.0/ /8 ::/129 ::1/0128
        ::ffff:10.0.0.0/104 ::ffff:a00:1/120 fe80::1%eth0/64 10.0/8 10.0.0.0/+8
    """),
    "10.0.0.0/8 ",
)
_MALFORMED_URLS: Final = (
    *_words("""
        ../x :x https://a:b:c/ https://[::1/ https://[1.2.3.4]/ https://a[::1]/ https://h/%zz
        https://u^@h/ x https://h:8080a/ http://%41/ https://h/#%zz 1http://h https://h/a?%zz#b
        https://[fe80::1%en0]/ https://[::1]x/ //[x ///a // /# https://[]/ https://u:p:q@h/
        https://u@v@h/ https://é/ https://%C3%A9/ https://h%25/ https://[::1%25]/ ?q #f https:///x
        https://ex<ample/ https://h/[a] https://h/%5Ba%5D https://a:b@/x https://h:80:90/
        http:opaque http:/one/slash ht_tp://x a+b-c.d://x
    """),
    *("https://a b/", "/a\x7f", "https://h\\x/", "https://h/\x80", "https://h/ a"),
)
_MALFORMED_SEMVERS: Final = (
    *_words("""
        v1.2.3 V1.2.3 1.2 1 v1 v1.2 01.02.03 v01.01 1.2.3- 1.2.3+ 1.2.3-01 1.2.3-rc..1 1.2.3-é
        1.2.3.4 -1.2.3 1.2.x 1.2-rc 1-rc.1 18446744073709551616.0.0 1.2.3+a+b 1.2.3-a+b-c vv1.2.3
        1..2 v 1.2.3-0 00.0.0 1.2+b 1+b v1.0-rc.1+b 1.2.3-18446744073709551616
        1.2.3-18446744073709551615
    """),
    *(" 1.2.3", "1.2.3 "),
)
_NAMED: Final = (
    *_words("""
        my-label my.sub.domain -a a- A a_b a..b .a a. 1a a/b a/ /a A/b a/b/c example.com/My_Name a/-
        ä a-b- a.- a-- - -- a_- uri x https://h/#f a-.b 123e4567-e89b-12d3-a456-426614174000
        123E4567e89b12d3a456426614174000 123e4567-e89b-12d3-a456-42661417400
        123e4567-e89b12d3-a456426614174000 aGVsbG8= aGVsbG8 aGVs = == aG== aGV* YQ= Y=== _-aa
        2020-02-29 2021-02-29 2020-01-32 2020-1-1 0000-01-01 20200101 2020-01-01T
        2021-01-01T00:00:00Z 2021-01-01t23:59:59.123+01:00 2021-01-01T00:00:00,5z
        2021-01-01T24:00:00Z 2021-01-01T00:00:60Z 2021-01-01T00:00:00 2021-01-01T00:00:00.Z
        2021-01-01T00:00:00+24:00 2021-01-01T00:00:00.5+99:99 TT
    """),
    *("a b", "a" * 63, "a" * 64, "a" * 62 + "-", "a" * 63 + "-", "x/" + "a" * 64),
    *(".".join(["a" * 50] * 5), "a." * 126 + "a", "a." * 127 + "a", "a" * 254 + "/b"),
    *("a\\b=", "aGVs\n", "2021-01-01 00:00:00Z"),
)
_PATTERNS: Final = (
    *_words("""
        a ^A b* . [[:alpha:]]+ (a)(b)? a|b (?i)ABC [ ( a{2,1} a** (?=a) a{1001} (?P<n>a) (?<n>a)
        [^a] [a&&b] $ (?m)^ x{64} (?s). [z-a] a{,2}
    """),
    *("", "\\d", "\\w+", "[^\\W]", "\\s", "(?i)\\w+", "\\B", "\\pL", "\\x{20AC}", "\\1"),
    *("\\b", "\\Qa,\\E", "\\C", "\\z", "\\Z", "[\\d-z]", "\\pN"),
)
_TEMPLATES: Final = (
    *_words("""
        %s %d %f %e %.0f %.3f %.3e %.12f %b %o %x %X %% % %z a%sb %.s %.2d %5d %.1000f
        %.99999999999f %ä %.2s %+d %.20e %.0e %s%% %%%s %-5s %.2x
    """),
    "",
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
    "format.named": (*FORMAT_NAMES, "DNS1123label"),
    "validate": (*_NAMED, *URL_TEXTS, *_MALFORMED_URLS, *_TIMES),
    **dict.fromkeys(("matches", "find", "findAll"), _PATTERNS),
    "format": _TEMPLATES,
    "base64.decode": (
        *_words("YQ== YQ YQ= YQ=== aGVsbG8= a = _-== YR== YQ==YQ=="),
        "Y\nQ==",
    ),
    **dict.fromkeys(
        _words("""
            getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear
            getHours getMinutes getSeconds getMilliseconds
        """),
        _ZONES,
    ),
}
