"""`holdfast demo`: real pairs, real kills, and a verification in other processes."""

from .run import SHARED_MEMORY, Options, Outcome, lines_path, run

__all__ = ["SHARED_MEMORY", "Options", "Outcome", "lines_path", "run"]
