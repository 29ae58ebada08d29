"""Operations and what became of them, one byte each. The numbers are those of include/holdfast/status.hpp."""

from enum import IntEnum


class Status(IntEnum):
    """What became of one operation of a batch."""

    INSERTED = 0
    """The key was absent and is now there."""
    EXISTS = 1
    """The key was there; its value was kept."""
    UPDATED = 2
    """The key was there; its value was replaced or combined."""
    ERASED = 3
    """The key was there and is gone."""
    FOUND = 4
    """A read found the key."""
    NOT_FOUND = 5
    """The key is absent; nothing changed."""
    NO_SPACE = 6
    """The medium is full; this operation did nothing."""
    NOT_RUN = 7
    """Masked out, or the batch was interrupted before it."""


class Op(IntEnum):
    """The kinds of operation, as `Table.apply` takes them. In brackets: the statuses that each can give."""

    INSERT = 0
    """Adds a key; keeps an existing key's value (INSERTED, EXISTS)."""
    INSERT_OR_ASSIGN = 1
    """Adds a key or replaces its value (INSERTED, UPDATED)."""
    ASSIGN = 2
    """Replaces the value of a key that is there (UPDATED, NOT_FOUND)."""
    FIND = 3
    """Reads a value (FOUND, NOT_FOUND)."""
    CONTAINS = 4
    """Asks for a key without reading its value (FOUND, NOT_FOUND)."""
    ERASE = 5
    """Removes a key (ERASED, NOT_FOUND)."""
    FIND_OR_INSERT = 6
    """Reads a value, or adds the one given (FOUND, INSERTED)."""
    INSERT_AND_FIND = 7
    """Adds the value given, and reads what is there (INSERTED, EXISTS)."""
    ACCUMULATE = 8
    """Combines the value given into the one there, or adds it (UPDATED, INSERTED)."""

    @property
    def changes(self) -> bool:
        """Whether the operation can change the table."""
        return self not in (Op.FIND, Op.CONTAINS)

    @property
    def takes_value(self) -> bool:
        """Whether the operation needs a value for its key."""
        return self.changes and self is not Op.ERASE

    @property
    def reads_value(self) -> bool:
        """Whether the operation gives a value back."""
        return self in (Op.FIND, Op.FIND_OR_INSERT, Op.INSERT_AND_FIND)
