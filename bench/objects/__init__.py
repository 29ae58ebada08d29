"""What several objects in one pool cost: studies in child processes, so that two builds can be compared."""
