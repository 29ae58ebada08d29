"""`python -m holdfast.bench`: the same as `holdfast bench`."""

from holdfast.bench.cli import app

app(prog_name="holdfast bench")
