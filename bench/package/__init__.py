"""The Python package as it is installed: its size, and what importing it takes."""
