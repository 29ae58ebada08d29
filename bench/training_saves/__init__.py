"""Saves of a training: what they cost its steps, how soon they are durable, and how fast they drain to a disk."""
