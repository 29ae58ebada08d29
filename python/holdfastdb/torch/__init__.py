"""Tables in PyTorch programs: custom operators that `torch.compile` keeps in its graphs, and an embedding
with its optimizers.

>>> import torch, holdfastdb as hf, holdfastdb.torch as hft
>>> with hf.Table.create("words.hold", value=4 * 2, device="cpu") as words:
...     embedding = hft.Embedding(words, 2, init=hf.initial.Uniform(-1, 1, seed=3))
...     optimizer = hft.SGD(embedding.parameters(), lr=0.5)
...     before = embedding(torch.tensor([5, 5, 9]))
...     before.sum().backward()
...     optimizer.step()
...     after = embedding(torch.tensor([5, 9]))
...     torch.equal(after, before[1:].detach() - torch.tensor([[1.0], [0.5]]))
True
"""

from ..errors import MissingExtra

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "holdfastdb.torch needs PyTorch, which is not installed: pip install torch (which build: https://pytorch.org)"
    ) from error

from . import ops
from .embedding import Embedding
from .ops import handle
from .optimizers import SGD, Adagrad
from .rows import Rows

__all__ = ["SGD", "Adagrad", "Embedding", "Rows", "handle", "ops"]
