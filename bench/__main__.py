"""`python -m bench`: all studies, and what is made of their results."""

from bench.frame.main import app

app()(prog_name="python -m bench")
