"""What a person wrote or asked for and the ladder cannot do: one class a mistake.

Every message says what was given, where, and what would do. Only the command line catches them.
"""


class LadderError(Exception):
    """A mistake that a person can mend; its text is one line fit for a terminal."""

    exit_code = 1


class NotACheckout(LadderError):
    """The folder lies in no checkout of a ladder."""


class ShadowedPackage(LadderError):
    """`gates`, `kernels`, `ladder` or `runtime` would be imported from outside the checkout."""


class BadName(LadderError):
    """A name that becomes a path does not match the allow-list."""


class LinkedFolder(LadderError):
    """A folder that holds cards or records is a symbolic link, or not a folder at all."""


class BadYaml(LadderError):
    """The file is not the plain YAML that a card may be written in."""


class BadCard(LadderError):
    """The card is YAML, but not a card."""


class UnknownRung(LadderError):
    """No card has this name."""


class UnknownProfile(LadderError):
    """The card, or one it stands on, has no such profile."""


class BrokenDevice(LadderError):
    """A device is in the machine and does not answer; the CPU would be a silent substitute."""


class BadSites(LadderError):
    """`runtime/sites.json` does not describe the places in a step."""


class ChildFailed(LadderError):
    """A command that ran in a process of its own ended badly."""
