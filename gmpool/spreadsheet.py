"""Cells that a spreadsheet would run, made harmless."""

import re

# What makes a cell a formula where it stands first, in both widths, and what is skipped before it.
_STARTS = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[+-](\d[\d.,]*|[.,]\d+)(e[+-]?\d+)?%?|[+-](inf|infinity|nan)", re.IGNORECASE)


def safe_cell(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would take it for a formula.

    Numbers such as -3.2 stay what they are, and so do marks such as "-" or "--": they say nothing
    that could be run.
    """
    if not text.startswith(_STARTS) or _NUMBER.fullmatch(text):
        return text
    return f"'{text}" if any(map(str.isalnum, text)) else text
