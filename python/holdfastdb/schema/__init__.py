"""The types of keys and of the columns of values: as files have them, and as tables keep them."""
