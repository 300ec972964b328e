"""What an agent cannot do, in words that its log and the answer on the Node can carry.

AgentError
├── CommandError      a program on the machine failed, took too long, or is not there
├── JournalError      what lies on the disk is of a newer agent
│   └── DamagedError  … or is not what was written
├── TooLargeError     a file has, or would have, more than is ever read of it
├── NotKeptError      an order could not be written to the machine's disk
└── SettingsError     the settings of the machine are not what they should be
"""

from __future__ import annotations


class AgentError(Exception):
    """One line, for people: what was to be done, and why it was not."""


class CommandError(AgentError):
    """A program on the machine failed, took too long, or is not there."""


class JournalError(AgentError):
    """A file of the journal was written by a newer agent: this one does nothing until such a one is back."""


class DamagedError(JournalError):
    """A file of the journal is not what was written; it is named, put aside, and nothing is read from it."""


class TooLargeError(AgentError):
    """A file has, or would have, more than is ever read of it."""


class NotKeptError(AgentError):
    """An order could not be written to the machine's disk, for that reason: nothing of it may be begun."""


class SettingsError(AgentError):
    """The settings of the machine are not what they should be."""
