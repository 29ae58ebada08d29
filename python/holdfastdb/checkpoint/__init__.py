"""Checkpoints: nested states of arrays, saved into a pool and restored from it."""

from .checkpoint import Checkpoint, SaveTicket

__all__ = ["Checkpoint", "SaveTicket"]
