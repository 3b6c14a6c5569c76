"""C++ source as the checks see it: comments, literals and directives blanked, lines kept."""
from pathlib import Path

SKIPPED = {".git", ".cache", "node_modules", "__pycache__", "assets"}


def blanked(text):
    return "".join(c if c == "\n" else " " for c in text)


def end_of_raw_string(text, at):
    """`at` is the quote of R"tag(...)tag"; the index after its end."""
    open_paren = text.find("(", at)
    if open_paren < 0:
        return len(text)
    closer = ")" + text[at + 1:open_paren] + '"'
    end = text.find(closer, open_paren)
    return len(text) if end < 0 else end + len(closer)


def end_of_literal(text, at):
    """`at` is a quote; the index after the closing one, on the same line at most."""
    quote, i = text[at], at + 1
    while i < len(text) and text[i] != quote and text[i] != "\n":
        i += 2 if text[i] == "\\" else 1
    return min(i + 1, len(text))


def is_digit_separator(text, at):
    """The ' of 1'000 or 0xff'ff, which opens no character literal: its word starts with a digit."""
    start = at
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "'"):
        start -= 1
    return start < at and text[start].isdigit() and text[at + 1:at + 2].isalnum()


def piece_end(text, at):
    """Where the comment or literal that starts at `at` ends; `at` itself when none does."""
    if text.startswith("//", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        end = text.find("*/", at + 2)
        return len(text) if end < 0 else end + 2
    if text[at] == '"':
        is_raw = at > 0 and text[at - 1] == "R"
        return end_of_raw_string(text, at) if is_raw else end_of_literal(text, at)
    if text[at] == "'" and not is_digit_separator(text, at):
        return end_of_literal(text, at)
    return at


def without_comments_and_literals(text):
    """The same length and lines; what a compiler would not read as code is blank."""
    parts, at = [], 0
    while at < len(text):
        end = piece_end(text, at)
        if end > at:
            parts.append(blanked(text[at:end]))
            at = end
        else:
            parts.append(text[at])
            at += 1
    return "".join(parts)


def without_directives(code):
    """Preprocessor lines blanked, with the lines they continue on."""
    lines, inside = [], False
    for line in code.split("\n"):
        is_directive = inside or line.lstrip().startswith("#")
        inside = is_directive and line.rstrip().endswith("\\")
        lines.append(blanked(line) if is_directive else line)
    return "\n".join(lines)


def sources(root, folders, suffixes=(".cpp", ".hpp")):
    """Files below root/folder, in order."""
    for folder in folders:
        for path in sorted((Path(root) / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file() and not SKIPPED & set(path.parts):
                yield path


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def report(checked, offences):
    """Prints them and the sum; the exit code."""
    for offence in offences:
        print(offence)
    print(f"{checked} checked, {len(offences)} offences")
    return 1 if offences else 0
