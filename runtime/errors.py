"""What a person can get wrong when asking the runtime: one class a mistake."""


class RuntimeFault(Exception):
    """Base of all: the message says what was given, where, and what would do."""


class BadConfig(RuntimeFault):
    """A model configuration that the decode path cannot run."""


class BadCheckpoint(RuntimeFault):
    """A checkpoint folder that does not hold what its configuration asks for."""
