"""What each function means, by its name in the table of overloads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kpolicy.policy.reference.texts import Text

_CONVERSIONS: Final = {
    "size": Text("The length of a text, or how many items there are.", "node.taints.size()"),
    "int": Text("As a whole number; a fraction is cut off.", "int('42')"),
    "uint": Text("As a whole number that is not negative.", "uint(7)"),
    "double": Text("As a number with a fraction.", "double(node.podCount) / 2.0"),
    "string": Text("As a text.", "'pods: ' + string(node.podCount)"),
    "bytes": Text("A text as the bytes of its UTF-8.", "bytes('abc').size()"),
    "bool": Text("A text such as `true` as a truth.", "bool('true')"),
    "timestamp": Text(
        "A time, from RFC 3339 or from seconds since 1970.",
        "timestamp('2026-11-01T10:00:00Z') > timestamp(0)",
    ),
    "duration": Text("A duration, such as `90s` or `1h30m`.", "duration('1h30m').getMinutes()"),
    "dyn": Text("The value, with a type that is not checked.", "dyn(1) == 1.0"),
    "type": Text("The type of the value.", "type(1) == int"),
}

_STRINGS: Final = {
    "contains": Text("Whether the text has the part.", "node.name.contains('sd')"),
    "startsWith": Text("Whether the text begins with the part.", "node.name.startsWith('ssd-')"),
    "endsWith": Text("Whether the text ends with the part.", "node.name.endsWith('-1')"),
    "matches": Text(
        "Whether the pattern (RE2) is found in the text, or the selector fits the labels.",
        "node.name.matches('^ssd-[0-9]+$') && selector('disk=ssd').matches(node.labels)",
    ),
    "charAt": Text("The character at an index, from 0.", "'abc'.charAt(1)"),
    "indexOf": Text(
        "Where the part or the item is first found, from 0; -1 if nowhere.", "'abcb'.indexOf('b')"
    ),
    "lastIndexOf": Text(
        "Where the part or the item is last found; -1 if nowhere.", "'abcb'.lastIndexOf('b')"
    ),
    "join": Text("The texts as one, with a text between them.", "['a', 'b'].join(', ')"),
    "lowerAscii": Text("With the letters A to Z in lower case.", "'SSD'.lowerAscii()"),
    "upperAscii": Text("With the letters a to z in upper case.", "'ssd'.upperAscii()"),
    "replace": Text(
        "With a part replaced everywhere, or so many times.", "'a-b-c'.replace('-', '/')"
    ),
    "split": Text(
        "The parts of the text between separators, so many at most.",
        "'a.b.c'.split('.')",
    ),
    "substring": Text("The text from an index, up to another.", "'abcdef'.substring(1, 3)"),
    "trim": Text("Without white space at both ends.", "'  a '.trim()"),
    "reverse": Text("The text or the list from its end to its start.", "[1, 2, 3].reverse()"),
    "strings.quote": Text("The text in quotes, with escapes.", "strings.quote('a \"b\"')"),
    "format": Text(
        "The text with the values of the list at `%s`, `%d` and the like.",
        "'%s has %d pods'.format([node.name, node.podCount])",
    ),
    "base64.encode": Text("Bytes in base64.", "base64.encode(b'abc')"),
    "base64.decode": Text("The bytes of base64.", "string(base64.decode('YWJj'))"),
    "find": Text("What the pattern matches first; empty if nothing.", "'rack-12'.find('[0-9]+')"),
    "findAll": Text("All that the pattern matches, so many at most.", "'a1b22'.findAll('[0-9]+')"),
}

_TIMES: Final = {
    name: Text(meaning, f"timestamp('2026-11-01T10:20:30Z').{name}()")
    for name, meaning in {
        "getFullYear": "The year of a time, in UTC or in a zone.",
        "getMonth": "The month of a time, from 0 for January.",
        "getDate": "The day of the month of a time, from 1.",
        "getDayOfMonth": "The day of the month of a time, from 0.",
        "getDayOfWeek": "The day of the week of a time, from 0 for Sunday.",
        "getDayOfYear": "The day of the year of a time, from 0.",
        "getHours": "The hour of a time, or a duration in hours.",
        "getMinutes": "The minute of a time, or a duration in minutes.",
        "getSeconds": "The second of a time, or a duration in seconds.",
        "getMilliseconds": "The milliseconds of a time, or a duration in milliseconds.",
    }.items()
}

_WINDOWS: Final = {
    "within": Text(
        "Whether a time is in a window that begins as a cron expression says and lasts so long, in "
        "UTC or in a zone.",
        "timestamp('2026-11-02T10:20:30Z').within('0 9 * * 1-5', duration('8h'), 'Europe/Berlin')",
    ),
}

_OPTIONALS: Final = {
    "optional.of": Text("An optional with the value in it.", "optional.of(1).hasValue()"),
    "optional.none": Text("An empty optional.", "optional.none().hasValue()"),
    "optional.ofNonZeroValue": Text(
        "As `optional.of`, but empty for 0, `''`, false and empty lists and maps.",
        "optional.ofNonZeroValue('').hasValue()",
    ),
    "hasValue": Text("Whether something is in the optional.", "node.labels[?'gpu'].hasValue()"),
    "value": Text(
        "What is in the optional; an error if it is empty.", "node.labels[?'disk'].value()"
    ),
    "optional.unwrap": Text(
        "What is in the optionals of the list, without those that are empty.",
        "optional.unwrap([optional.of(1), optional.of(2)])",
    ),
    "unwrapOpt": Text(
        "What is in the optionals of the list, without those that are empty.",
        "[node.labels[?'disk'], node.labels[?'gpu']].unwrapOpt()",
    ),
}

_LISTS: Final = {
    "isSorted": Text("Whether the items rise or stay equal.", "[1, 2, 2].isSorted()"),
    "sum": Text("The sum of the items.", "[1, 2, 3].sum()"),
    "min": Text("The least item; an error if there is none.", "[3, 1, 2].min()"),
    "max": Text("The greatest item; an error if there is none.", "[3, 1, 2].max()"),
    "includes": Text("Whether the list has the item.", "['a', 'b'].includes('b')"),
    "distinct": Text("The list without repetitions.", "[1, 2, 1].distinct()"),
    "flatten": Text(
        "The items of the lists in the list, to a depth of 1 or as deep as said.",
        "[[1], [2, 3]].flatten()",
    ),
    "lists.range": Text("The numbers from 0 up to one less than this.", "lists.range(3)"),
    "slice": Text("The items from an index up to another.", "[1, 2, 3, 4].slice(1, 3)"),
    "sort": Text("The items in order.", "['b', 'a'].sort()"),
    "first": Text("The first item; empty if there is none.", "node.taints.first().hasValue()"),
    "last": Text("The last item; empty if there is none.", "[1, 2].last().value()"),
    "sets.contains": Text(
        "Whether the first list has every item of the second.", "sets.contains([1, 2, 3], [3, 1])"
    ),
    "sets.equivalent": Text(
        "Whether each list has every item of the other.", "sets.equivalent([1, 2], [2, 1, 1])"
    ),
    "sets.intersects": Text(
        "Whether the lists have an item in common.", "sets.intersects([1, 2], [2, 3])"
    ),
}

_MATH: Final = {
    "math.@greatest": Text("The greatest of the numbers.", "math.greatest([1, 5, 3])"),
    "math.@least": Text("The least of the numbers.", "math.least([1, 5, 3])"),
    "math.ceil": Text("The next whole number above.", "math.ceil(1.2)"),
    "math.floor": Text("The next whole number below.", "math.floor(1.8)"),
    "math.round": Text("The nearest whole number, away from 0 at halves.", "math.round(2.5)"),
    "math.trunc": Text("Without the fraction.", "math.trunc(-1.7)"),
    "math.abs": Text("The number without its sign.", "math.abs(-3)"),
    "math.sign": Text("-1, 0 or 1, as the number is below, at or above 0.", "math.sign(-3)"),
    "math.isNaN": Text("Whether it is not a number.", "math.isNaN(0.0 / 0.0)"),
    "math.isInf": Text("Whether it is infinite.", "math.isInf(1.0 / 0.0)"),
    "math.isFinite": Text("Whether it is a number and finite.", "math.isFinite(1.5)"),
    "math.bitOr": Text("Bits that are in either number.", "math.bitOr(1, 4)"),
    "math.bitAnd": Text("Bits that are in both numbers.", "math.bitAnd(5, 4)"),
    "math.bitXor": Text("Bits that are in one of the two numbers.", "math.bitXor(5, 4)"),
    "math.bitNot": Text("All bits turned over.", "math.bitNot(0)"),
    "math.bitShiftLeft": Text("Bits moved to the left.", "math.bitShiftLeft(1, 4)"),
    "math.bitShiftRight": Text("Bits moved to the right.", "math.bitShiftRight(16, 4)"),
    "math.sqrt": Text("The square root.", "math.sqrt(9.0)"),
}

_QUANTITIES: Final = {
    "quantity": Text(
        "A quantity of Kubernetes, such as `2Gi`.",
        "quantity(node.status.capacity['memory']).isGreaterThan(quantity('8Gi'))",
    ),
    "isQuantity": Text("Whether a text is a quantity.", "isQuantity('500m')"),
    "sign": Text("-1, 0 or 1, as the quantity is below, at or above 0.", "sign(quantity('-1'))"),
    "isInteger": Text("Whether the quantity is a whole number.", "quantity('500m').isInteger()"),
    "asInteger": Text("The quantity as a whole number.", "quantity('2k').asInteger()"),
    "asApproximateFloat": Text(
        "The quantity as a number with a fraction.", "quantity('500m').asApproximateFloat()"
    ),
    "add": Text("The sum of two quantities.", "string(quantity('1Gi').add(quantity('1Gi')))"),
    "sub": Text("The difference of two quantities.", "string(quantity('2').sub(quantity('500m')))"),
    "isGreaterThan": Text(
        "Whether a quantity or a version is greater.",
        "quantity('1Gi').isGreaterThan(quantity('1G'))",
    ),
    "isLessThan": Text(
        "Whether a quantity or a version is less.", "semver('1.2.3').isLessThan(semver('1.10.0'))"
    ),
    "compareTo": Text(
        "-1, 0 or 1, as a quantity or a version is less, equal or greater.",
        "quantity('1').compareTo(quantity('1000m'))",
    ),
    "cpu": Text("An amount of cpu in thousandths, as `request('cpu')` has it.", "cpu('1500m')"),
    "units": Text("An amount in whole units, as `request('memory')` has it.", "units('2Gi')"),
}

_SCORES: Final = {
    "ratio": Text(
        "The first number divided by the second, with its fraction; 0 if the second is 0.",
        "ratio(node.requested('cpu'), node.allocatable('cpu'))",
    ),
    "clamp": Text("The number, kept between a least and a greatest value.", "clamp(150, 0, 100)"),
    "linear": Text(
        "The point at the first number of the line from one range to another: x, x0, x1, y0, y1; "
        "it is held at both ends.",
        "linear(25, 0, 50, 0, 100)",
    ),
    "step": Text(
        "The point at the first number of straight lines through the points `[x, y]` of the list; "
        "it is held at both ends.",
        "step(7, [[0, 10], [5, 50], [10, 100]])",
    ),
    "selector": Text(
        "A selector of labels, from a text as for `kubectl -l` or from a map.",
        "selector('app in (web, db)').matches(pod.labels)",
    ),
}

_NETWORK: Final = {
    "ip": Text("An address, from a text or of a range.", "ip('10.0.0.7').family()"),
    "isIP": Text("Whether a text is an address.", "isIP('10.0.0.256')"),
    "ip.isCanonical": Text(
        "Whether an address is written in its usual form.", "ip.isCanonical('::1')"
    ),
    "family": Text("4 or 6.", "ip('::1').family()"),
    "isUnspecified": Text("Whether it is `0.0.0.0` or `::`.", "ip('0.0.0.0').isUnspecified()"),
    "isLoopback": Text("Whether it is an address of this host.", "ip('127.0.0.1').isLoopback()"),
    "isLinkLocalMulticast": Text(
        "Whether it is a multicast address of the link.", "ip('224.0.0.1').isLinkLocalMulticast()"
    ),
    "isLinkLocalUnicast": Text(
        "Whether it is a unicast address of the link.", "ip('169.254.1.1').isLinkLocalUnicast()"
    ),
    "isGlobalUnicast": Text(
        "Whether it is a unicast address beyond the link.", "ip('10.0.0.7').isGlobalUnicast()"
    ),
    "cidr": Text("A range of addresses.", "cidr('10.0.0.0/8').containsIP('10.1.2.3')"),
    "isCIDR": Text("Whether a text is a range of addresses.", "isCIDR('10.0.0.0/8')"),
    "containsIP": Text(
        "Whether the range has the address.", "cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))"
    ),
    "containsCIDR": Text(
        "Whether the range has the whole other range.",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
    ),
    "masked": Text(
        "The range with only the bits of its prefix.", "string(cidr('10.1.2.3/8').masked())"
    ),
    "prefixLength": Text("How many bits the prefix has.", "cidr('10.0.0.0/8').prefixLength()"),
}

_VERSIONS: Final = {
    "semver": Text(
        "A semantic version; with true, texts such as `v1.2` are read too.",
        "semver(node.status.nodeInfo.kernelVersion).major()",
    ),
    "isSemver": Text("Whether a text is a semantic version.", "isSemver('v1.2')"),
    "major": Text("The first number of the version.", "semver('1.2.3').major()"),
    "minor": Text("The second number of the version.", "semver('1.2.3').minor()"),
    "patch": Text("The third number of the version.", "semver('1.2.3').patch()"),
}

_URL: Final = "url('https://example.com:8080/a%20b?x=1')"
_URLS: Final = {
    "url": Text("An address of the web.", f"{_URL}.getHost()"),
    "isURL": Text("Whether a text is an address of the web.", "isURL('not a url')"),
    "getScheme": Text("The scheme, such as `https`.", f"{_URL}.getScheme()"),
    "getHost": Text("The host with its port.", f"{_URL}.getHost()"),
    "getHostname": Text("The host without its port.", f"{_URL}.getHostname()"),
    "getPort": Text("The port as a text; empty if there is none.", f"{_URL}.getPort()"),
    "getEscapedPath": Text("The path with its escapes.", f"{_URL}.getEscapedPath()"),
    "getQuery": Text("The values of the query by key.", f"{_URL}.getQuery()['x']"),
}


def _format(name: str, meaning: str, good: str) -> Text:
    return Text(f"The format of {meaning}.", f"!format.{name}().validate('{good}').hasValue()")


_FORMATS: Final = {
    "format.named": Text(
        "The format of this name; empty if there is none.",
        "format.named('uuid').hasValue()",
    ),
    "validate": Text(
        "What is wrong with the text, as a list; empty if nothing is.",
        "format.dns1123Label().validate('not a label').hasValue()",
    ),
    "format.dns1123Label": _format("dns1123Label", "a label of DNS (RFC 1123)", "web-1"),
    "format.dns1123Subdomain": _format(
        "dns1123Subdomain", "a subdomain of DNS (RFC 1123)", "web.example.com"
    ),
    "format.dns1035Label": _format("dns1035Label", "a label of DNS (RFC 1035)", "web-1"),
    "format.qualifiedName": _format(
        "qualifiedName", "a name with a prefix, as keys of labels are", "example.com/rack"
    ),
    "format.dns1123LabelPrefix": _format(
        "dns1123LabelPrefix", "the start of a label of DNS (RFC 1123)", "web-"
    ),
    "format.dns1123SubdomainPrefix": _format(
        "dns1123SubdomainPrefix", "the start of a subdomain of DNS (RFC 1123)", "web.example-"
    ),
    "format.dns1035LabelPrefix": _format(
        "dns1035LabelPrefix", "the start of a label of DNS (RFC 1035)", "web-"
    ),
    "format.labelValue": _format("labelValue", "a value of a label", "v1.2"),
    "format.uri": _format("uri", "a URI", "https://example.com"),
    "format.uuid": _format("uuid", "a UUID", "123e4567-e89b-12d3-a456-426614174000"),
    "format.byte": _format("byte", "base64", "YWJj"),
    "format.date": _format("date", "a date", "2026-11-01"),
    "format.datetime": _format("datetime", "a time of RFC 3339", "2026-11-01T10:00:00Z"),
}

# By library, in the order of the reference.
LIBRARIES: Final[Mapping[str, Mapping[str, Text]]] = MappingProxyType(
    {
        "Amounts and scores": _SCORES,
        "Quantities": _QUANTITIES,
        "Types": _CONVERSIONS,
        "Texts": _STRINGS,
        "Lists and sets": _LISTS,
        "Optionals": _OPTIONALS,
        "Numbers": _MATH,
        "Times": {**_WINDOWS, **_TIMES},
        "Addresses": _NETWORK,
        "Versions": _VERSIONS,
        "URLs": _URLS,
        "Formats": _FORMATS,
    }
)
FUNCTIONS: Final[Mapping[str, Text]] = MappingProxyType(
    {name: text for library in LIBRARIES.values() for name, text in library.items()}
)
