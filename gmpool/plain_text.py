"""Text from files and from users, made harmless where it is shown."""

import re

# Control characters (C0, DEL, C1) but for tab and newline, marks that turn the direction of text,
# separators that count as line ends, and halves of characters, which no terminal can be sent.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Control characters as escapes that can be read, such as \\x1b, so that a file's content
    cannot move a cursor, colour a terminal or pretend to be another line."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """The same for a cell or a name, which has no line ends and tabs of its own."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def shortened(text: str, most: int = 200) -> str:
    """At most so many characters, for a value that a message repeats."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
