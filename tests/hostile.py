"""500 texts that people do not type: markup, scripts, template and SQL syntax, odd letters, formulas, great length."""

from itertools import islice, product

_MARKUP = (
    "<script>window.fired=1</script>",
    "</textarea><script>window.fired=1</script>",
    "</title><script>window.fired=1</script>",
    "</select><img src=x onerror=window.fired=1>",
    "<svg/onload=window.fired=1>",
    "<svg><script>window.fired=1</script></svg>",
    "<iframe srcdoc='<script>parent.fired=1</script>'>",
    "<math><mi//xlink:href='data:x,<script>window.fired=1</script>'>",
    "<details open ontoggle=window.fired=1>",
    "<body onload=window.fired=1>",
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//example.org/x.css>",
    "<meta http-equiv=refresh content='0;url=//example.org'>",
    "<base href=//example.org/>",
    "<form action=//example.org><button>x</button></form>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?xml version='1.0'?>",
    "&lt;script&gt;",
    "&#60;script&#62;",
    "&amp;amp;",
    "&",
    "&nosuch;",
    "javascript:window.fired=1",
    "data:text/html,<script>window.fired=1</script>",
)
_QUOTES = (
    "'",
    '"',
    "`",
    "\\",
    '" onfocus=window.fired=1 autofocus x="',
    "' onmouseover='window.fired=1",
    "'\"><",
    '\\"><script>',
)
_SYNTAX = (
    "{{ 7 * 7 }}",
    "{% for x in y %}",
    "{# comment #}",
    "${7*7}",
    "#{7*7}",
    "<%= 7 %>",
    "%s%s%n",
    "{0}",
    "{}",
    "%(x)s",
    "'; DROP TABLE trials; --",
    "1 OR 1=1",
    "$(reboot)",
    "`reboot`",
    "| cat /etc/passwd",
    "../../etc/passwd",
    "..\\..\\",
    "null",
    "None",
    "undefined",
    "NaN",
    "true",
    "-1",
    "0x10",
    "1e999",
    "[]",
    '{"a": 1}',
    "__proto__",
    "constructor",
)
_LETTERS = (
    "\u202eevil\u202c",
    "\u2066x\u2069",
    "\u200b\u200d\ufeff",
    "a\u0301\u0301\u0301\u0301",
    "\u017fcript",
    "\u0131",
    "\u0130",
    "ß",
    "\ufb03",
    "\uff1cscript\uff1ewindow.fired=1\uff1c/script\uff1e",
    "\U0001d4b3",
    "👩‍👩‍👧‍👦",
    "العربية",
    "עברית",
    "中文",
    "日本語",
    "ไทย",
    "\U000e0001tag",
    "\u2028x\u2029",
    "\u00ad",
    "\u00a0x",
    "Z̸̡a̵l̴g̷o̶" * 4,
    "\ufffd",
    "\uffff",
)
_FORMULAS = (
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    '=HYPERLINK("//example.org")',
    "=cmd|' /C calc'!A0",
    "\uff1d1+1",
    "'=1+1",
    ";=1",
    ",=1",
)
_LONG = ("x" * 200, "<" * 200, "é" * 200, "word " * 40, "x" * 10_000, "<script>" * 2_000, "\u202e" * 300)
_CONTROL = ("a\tb", "a\nb", "a\r\nb", "\x07bell", "\x1b[31m", "\x7f", "a\x0bb")


def texts() -> list[str]:
    """All 500, no two alike."""
    simple = [*_MARKUP, *_QUOTES, *_SYNTAX, *_LETTERS, *_FORMULAS, *_LONG, *_CONTROL]
    joined = (f"{one}{between}{other}" for one, other, between in product(_MARKUP, (*_QUOTES, *_LETTERS), ("", " ")))
    return list(islice(dict.fromkeys([*simple, *joined]), 500))


FEW = (
    "<script>window.fired=1</script>",
    '"><img src=x onerror=window.fired=1>',
    "'-alert(1)-'{{7*7}}",
    "\u202e</textarea><svg/onload=window.fired=1>",
    '=HYPERLINK("javascript:window.fired=1")',
)
"""For the browser."""
