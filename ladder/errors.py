"""What a person can get wrong: one class a mistake, each with what was given, where, and what would do.

Only the command line catches these; every one of them exits with 1.
"""

from __future__ import annotations


class LadderError(Exception):
    """Base of all: the message is one line a person can act on."""


class NotACheckout(LadderError):
    """A command was started outside any checkout of the project."""


class BadName(LadderError):
    """A name that could leave its folder, or that two files could share."""


class UnsafeFolder(LadderError):
    """A folder of records or cards that is a link to somewhere else."""


class UnknownRung(LadderError):
    """No card answers to the name that was given."""


class BadYaml(LadderError):
    """A file the strict reader does not accept as YAML data."""


class BadCard(LadderError):
    """A card that says something the schema does not allow."""


class BadGate(BadCard):
    """A gate that is missing, not primary anywhere, or that cannot fail."""


class BadChange(BadCard):
    """A change that names an unknown site, an unknown kernel, or more than one thing."""


class BadParent(BadCard):
    """A parent that is unknown, lacks the profile, or leads back to the card itself."""


class UnknownProfile(LadderError):
    """The profile asked for, or the one this hardware needs, is not in the card."""


class BrokenDevice(LadderError):
    """A device that is there but does not answer; the CPU is never taken in its place."""


class NotBuiltYet(LadderError):
    """A command or instrument of the design that this version does not have."""
