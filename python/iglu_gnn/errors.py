"""What goes wrong, by kind. The text says where, what was found and how to mend it, as on the command line."""

from __future__ import annotations

__all__ = [
    "BugError",
    "DataError",
    "DivergedError",
    "IgluError",
    "InterruptedRun",
    "LockedError",
    "MemoryLimitError",
    "MissingError",
    "OutputError",
    "UsageError",
]


class IgluError(Exception):
    """Whatever iglu raises.

    >>> from iglu_gnn import Config, IgluError
    >>> try:
    ...     Config(learning_rat=0.1)
    ... except IgluError as e:
    ...     print(type(e).__name__, "|", e)
    UsageError | Config: `learning_rat`: there is no such key
      fix: `iglu train --help` lists the keys
    """


class UsageError(IgluError, ValueError):
    """An argument, key or value that cannot be used."""


class DataError(IgluError, ValueError):
    """Data that is damaged or contradicts itself."""


class MissingError(IgluError, FileNotFoundError):
    """A file that is not there or cannot be read."""


class OutputError(IgluError, OSError):
    """A file that cannot be written."""


class LockedError(IgluError, OSError):
    """A file that another process is writing."""


class DivergedError(IgluError, ArithmeticError):
    """Training produced numbers that are not finite."""


class MemoryLimitError(IgluError, MemoryError):
    """More memory is needed than may be used."""


class InterruptedRun(IgluError, RuntimeError):
    """Training was stopped before there was a model."""


class BugError(IgluError, RuntimeError):
    """A broken promise inside iglu: please report it."""
