"""Removal of control characters from text that comes from data."""

from __future__ import annotations

import unicodedata

_KEPT = {"\n", "\t", "\u200c", "\u200d"}
"""Line breaks and tabs, and the joiners without which some scripts cannot be written."""


def sanitize_text(text: str, instead: str = "?") -> str:
    r"""Return text with control characters replaced by visible ones.

    These are control characters, halves of characters, separators of lines and paragraphs, and
    invisible ones that format, such as those by which "gpj.exe" reads "exe.jpg". Spaces of all
    kinds, line breaks and tabs stay.

    Parameters
    ----------
    text : str
        From a table or a file.
    instead : str, default="?"
        The sign.

    Examples
    --------
    >>> sanitize_text("a\x1b[31m b\u202ec\u00a0d")
    'a?[31m b?c\xa0d'
    """
    if text.isprintable():
        return text
    return "".join(instead if _acts(c) else c for c in text)


def _acts(character: str) -> bool:
    """Whether a character does something, or is none."""
    if character in _KEPT:
        return False
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return True
    # These are no characters, and never will be.
    return ord(character) & 0xFFFE == 0xFFFE or "\ufdd0" <= character <= "\ufdef"
