"""Kubernetes' own CEL libraries, by what the API server answers.

`cel-spec` has no data for semver, URLs and named formats, and little for the strictness of
addresses; the rows here are what the libraries of kube-apiserver 1.36 answer.
"""

from __future__ import annotations

from typing import Any

import pytest

from kpolicy.policy.cel import CompiledExpression, Environment, compile_expression

from .evaluator import evaluate_all

ERROR = object()
_FORMATS = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
)
_WITH_NAN = "lists.range(64).map(i, i % 3 == 0 ? 0.0 / 0.0 : double(-i * 37 % 64))"

ROWS: dict[str, Any] = {
    "ip('127.0.0.1').family() == 4 && ip('::1').family() == 6": True,
    "isIP('127.0.0.01')": False,
    "isIP('::ffff:1.2.3.4')": False,
    "isIP('fe80::1%eth0')": False,
    "isIP('10.0.0.0/8')": False,
    "ip.isCanonical('2001:DB8::ABCD')": False,
    "ip.isCanonical('2001:db8::0:0:0:abcd')": False,
    "ip.isCanonical('2001:db8::abcd')": True,
    "ip.isCanonical(['nothing'][0])": ERROR,
    "string(ip('2001:db8:0:0::1'))": "2001:db8::1",
    "[ip('10.0.0.1')].exists(a, cidr('10.0.0.0/8').containsIP(a))": True,
    "isCIDR('192.168.0.0/33')": False,
    "isCIDR('192.168.1.5/24')": True,
    "isCIDR('::1/0128')": False,
    "cidr('192.168.0.1/24').ip() == ip('192.168.0.1')": True,
    "cidr('192.168.0.1/24') == cidr('192.168.0.1/24').masked()": False,
    "cidr('10.0.0.0/8').containsIP(['not an address'][0])": ERROR,
    "cidr('10.0.0.0/8').containsCIDR(['10.0.0.0'][0])": ERROR,
    "type(cidr('10.0.0.0/8').ip()) == net.IP": True,
    "isSemver('1.2.3-beta.1+build.1')": True,
    "isSemver('v1.0.0')": False,
    "isSemver('v1.0.0', true)": True,
    "isSemver(' 1.0.0', true)": False,
    "isSemver('01.01.01')": False,
    "isSemver('01.01.01', true)": True,
    "semver('v01.01', true) == semver('1.1.0')": True,
    "semver(['1.0'][0], false)": ERROR,
    "semver('1.0.0').isLessThan(semver('1.2.3'))": True,
    "semver('1.2.3').isGreaterThan(semver('1.2.3-rc.1'))": True,
    "semver('1.0.0').compareTo(semver('1.2.3'))": -1,
    "semver('1.2.3').major() * 100 + semver('1.2.3').minor() * 10 + semver('1.2.3').patch()": 123,
    "type(semver('1.2.3')) == kubernetes.Semver": True,
    "semver('v1.28.3-gke.1286000', true).isGreaterThan(semver('1.28.2'))": True,
    "url('/path').getScheme()": "",
    "url('https://example.com:80/').getHost()": "example.com:80",
    "url('https://[::1]:80/').getHostname()": "::1",
    "url('https://[::1]/').getHost()": "[::1]",
    "url('https://example.com:80/').getPort()": "80",
    "url('https://example.com/path with spaces/').getEscapedPath()": "/path%20with%20spaces/",
    "url('https://example.com/path?k1=a&k2=b&k2=c').getQuery()": {
        "map": [["k1", ["a"]], ["k2", ["b", "c"]]]
    },
    "url('https://example.com/path?key with spaces=value with spaces').getQuery()": {
        "map": [["key with spaces", ["value with spaces"]]]
    },
    "url('https://example.com/path?').getQuery()": {"map": []},
    "isURL('https://user:pass@example.com:80/path?query=val#fragment')": True,
    "isURL('../relative-path')": False,
    "isURL('https://a:b:c/')": False,
    "url(['https://a:b:c/'][0])": ERROR,
    "ip(['10.0.0.256'][0])": ERROR,
    "ip(['::ffff:10.0.0.1'][0])": ERROR,
    "cidr(['::ffff:a00:1/120'][0])": ERROR,
    "url('/a') == url('/a')": True,
    "format.dns1123Label().validate('my-label-name').hasValue()": False,
    "format.dns1123Label().validate('a.b').value()": ["must not contain dots"],
    "format.named('unknown').hasValue()": False,
    "format.named('dns1123Label').value() == format.dns1123Label()": True,
    "format.dns1123Label() == format.dns1035Label()": False,
    "format.qualifiedName().validate('/x').value()": ["prefix part must be non-empty"],
    "format.labelValue().validate('my-cool-label-Value').hasValue()": False,
    "format.date().validate('2020-01-32').value()": ["invalid date"],
    "format.byte().validate('aGVsbG8').value()": ["invalid base64"],
    "format.uri().validate('x').value()": ['parse "x": invalid URI for request'],
    "format.dns1035Label().validate('1a').orValue(['']).join('').startsWith('a DNS-1035 ')": True,
    # NaN has no place in an order: in a list of this length, sorting it would not even end well.
    f"{_WITH_NAN}.sort()": ERROR,
    f"{_WITH_NAN}.sortBy(x, x)": ERROR,
    "[0.0 / 0.0].sort().size()": 1,
    "'%s of %d'.format(['a', 1])": "a of 1",
    **{f"format.named('{name}').value() == format.{name}()": True for name in _FORMATS},
}
# Invalid constant texts are found while compiling, with a hint how to write them.
REFUSED = {
    "ip('10.0.0.256')": "an IP address such as",
    "ip('::ffff:10.0.0.1')": "IPv4 inside IPv6",
    "ip('fe80::1%eth0')": "a zone is not allowed",
    "cidr('10.0.0.0')": "a range of addresses such as",
    "cidr('10.0.0.0/33')": "at most 32 bits",
    "cidr('::ffff:a00:1/120')": "IPv4 inside IPv6",
    "semver('v1.2')": "`semver(text, true)` also takes v1.2",
    "url('example.com/x')": "an absolute path",
}


def _compiled(expression: str) -> CompiledExpression:
    return compile_expression(expression, environment=Environment(roots=(), warnings=False))


def test_what_the_libraries_answer() -> None:
    compiled = [_compiled(text) for text in ROWS]
    assert [(e, c.diagnostics) for e, c in zip(ROWS, compiled, strict=True) if c.ir is None] == []
    answers = evaluate_all(
        [(expression.ir, {}) for expression in compiled if expression.ir is not None]
    )
    wrong = [
        (text, answer)
        for (text, wanted), answer in zip(ROWS.items(), answers, strict=True)
        if ("error" not in answer if wanted is ERROR else answer.get("value", answer) != wanted)
    ]
    assert wrong == []
    assert len(answers) == len(ROWS) > 70


@pytest.mark.parametrize("expression", REFUSED)
def test_what_cannot_be_read_is_reported_while_compiling(expression: str) -> None:
    compiled = _compiled(expression)
    assert compiled.ir is None
    (diagnostic,) = compiled.diagnostics
    assert diagnostic.code == "KP207"
    assert REFUSED[expression] in diagnostic.message
