"""`python -m holdfastdb.bench`: the same as `holdfast bench`."""

from holdfastdb.bench.cli import app

app(prog_name="holdfast bench")
