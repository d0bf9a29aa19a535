"""The reference of the command line, from the program itself, as Markdown for `docs/commands.md`."""

import re

from tripleshot.cli import app

HEADING = re.compile(r"^(?=##+ tripleshot )", re.MULTILINE)
USAGE = re.compile(r"```console\n.*?\n```\n+", re.DOTALL)
COMMON = re.compile(r"\*\*Every command\*\*:\n\n((?:\* .*\n)+)\n?")
OPTION = re.compile(r"^\* `([^`]+)`", re.MULTILINE)
TITLE = re.compile(r"^\*\*(Arguments|Parameters)\*\*:\n\n", re.MULTILINE)


def command_reference() -> str:
    """Return what every command does, with its arguments; what all of them take stands once, on top."""
    text = f"{app.generate_docs().rstrip()}\n"
    (common, *_) = COMMON.findall(text)
    _, *sections = HEADING.split(COMMON.sub("", text))
    own = [section for section in sections if not section.startswith("## tripleshot --")]
    return f"Every command takes:\n\n{split_names(common)}\n" + "\n".join(map(plain, own)).rstrip()


def plain(section: str) -> str:
    """Return the section of a command without its usage, which its arguments repeat, and without titles."""
    section = USAGE.sub("", section).replace(" *[default: False]*", "")
    section = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+\n?", "", section)
    return split_names(TITLE.sub("", section)).rstrip() + "\n"


def split_names(text: str) -> str:
    """Write each name of an option as code of its own, and what it takes behind the last."""
    return OPTION.sub(lambda found: "* " + ", ".join(f"`{name}`" for name in found[1].split(", ")), text)
