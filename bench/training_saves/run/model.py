"""A transformer that is trained with AdamW on drawn tokens: what a step costs is measured, not what it learns."""

import time
from typing import Any

import torch
from torch import Tensor, nn

import holdfastdb
from bench.frame.running import WrongAnswer


class Block(nn.Module):
    """Attention to what came before, and two linear layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = max(1, width // 64)
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.all, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.all(self.before(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))


class Transformer(nn.Module):
    def __init__(self, layers: int, width: int, words: int, length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.last = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.last(x) @ self.words.weight.t()


class Training:
    """A model, its optimizer and a batch; `seconds` runs steps."""

    def __init__(self, layers: int, width: int, words: int, batch: int, length: int, device: str) -> None:
        torch.manual_seed(1)
        self.device = "cpu" if device == "cpu" else device
        self.model = Transformer(layers, width, words, length).to(self.device)
        on_gpu = self.device != "cpu"
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=on_gpu)
        self._type = torch.bfloat16 if on_gpu else torch.float32
        self._tokens = torch.randint(0, words, (batch, length + 1), device=self.device)
        self.step = 0

    def one_step(self) -> None:
        """Enqueued on a GPU: it may return before it is done."""
        with torch.autocast(self.device.split(":")[0], self._type, enabled=self._type is not torch.float32):
            guesses = self.model(self._tokens[:, :-1])
            loss = nn.functional.cross_entropy(guesses.flatten(0, 1).float(), self._tokens[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1

    def wait(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()

    def seconds(self, steps: int, saver: Any = None, every: int = 1) -> float:
        """Of some steps, with a save before the first and before each further `every`-th."""
        self.wait()
        begun = time.perf_counter()
        for i in range(steps):
            if saver is not None and i % every == 0:
                saver.save()
            self.one_step()
        self.wait()
        return time.perf_counter() - begun

    def state(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def tensors(self) -> list[Tensor]:
        """Of the state, in its order."""
        found: list[Tensor] = []

        def look(node: Any) -> None:
            if isinstance(node, Tensor):
                found.append(node)
            elif isinstance(node, dict | list | tuple):
                for part in node.values() if isinstance(node, dict) else node:
                    look(part)

        look(self.state())
        return found

    def check(self, checkpoint: holdfastdb.Checkpoint) -> None:
        """Saves and compares what is restored, to the last bit."""
        checkpoint.save(self.state(), self.step).wait()
        restored, step = checkpoint.restore()
        flat = iter(self.tensors())
        same = step == self.step

        def look(node: Any) -> None:
            nonlocal same
            if isinstance(node, Tensor):
                same &= torch.equal(node.cpu(), next(flat).cpu())
            elif isinstance(node, dict | list | tuple):
                for part in node.values() if isinstance(node, dict) else node:
                    look(part)

        look(restored)
        if not same or next(flat, None) is not None:
            raise WrongAnswer("what was restored is not what was saved")
