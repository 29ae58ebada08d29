"""k-mers: how often each substring of k bases occurs in FASTA and FASTQ files.

>>> from holdfastdb import kmers
>>> _ = open("two.fa", "w").write(">a\\nACGTACG\\n>b\\nACGTN\\n")
>>> {text: count for text, count in kmers.count("two.fa", k=4).items()}["ACGT"]
2
"""

from .codec import canonical, decode, encode, reverse_complement
from .counting import Counts, count
from .files import CountFile, find, histogram
from .outputs import write

__all__ = [
    "CountFile",
    "Counts",
    "canonical",
    "count",
    "decode",
    "encode",
    "find",
    "histogram",
    "reverse_complement",
    "write",
]
