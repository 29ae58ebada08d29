"""Trains a small click model whose embeddings live in a durable table. Needs PyTorch. Usage: embedding.py [POOL]

As in DLRM: a bottom network for numbers, an embedding for each category, their dot products, and a top network. The
categories' rows are 16-bit numbers in one pool; another run goes on with what this one has learnt.
"""

import sys

import holdfastdb as hf

try:
    import torch

    import holdfastdb.torch as hft
except ImportError:
    print("PyTorch is not installed, so there is nothing to train: pip install torch")
    sys.exit(0)

FEATURES, CATEGORIES, COLUMNS = 4, 3, 8


class ClickModel(torch.nn.Module):
    def __init__(self, table: hf.Table) -> None:
        super().__init__()
        start = hf.initial.Normal(std=0.3, seed=1)
        self.rows = hft.Embedding(table, COLUMNS, stored=torch.bfloat16, dtype=torch.float32, init=start)
        self.bottom = torch.nn.Sequential(torch.nn.Linear(FEATURES, COLUMNS), torch.nn.ReLU())
        pairs = CATEGORIES * (CATEGORIES + 1) // 2
        self.top = torch.nn.Sequential(torch.nn.Linear(COLUMNS + pairs, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        dense = self.bottom(numbers)
        vectors = torch.cat([dense[:, None], self.rows(categories)], dim=1)
        products = vectors @ vectors.transpose(1, 2)
        first, second = torch.triu_indices(CATEGORIES + 1, CATEGORIES + 1, offset=1)
        return self.top(torch.cat([dense, products[:, first, second]], dim=1)).squeeze(1)


def clicks(size: int, random: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Numbers, categories and clicks: users of one kind like the first number to be high, the others low."""
    numbers = torch.randn(size, FEATURES, generator=random)
    categories = torch.randint(0, 200, (size, CATEGORIES), generator=random)
    likes_high = categories[:, 0] % 2 == 0
    clicked = (numbers[:, 0] > 0) == likes_high
    return numbers, categories + torch.arange(CATEGORIES) * 1_000_000, clicked.float()


def main() -> None:
    pool = sys.argv[1] if len(sys.argv) > 1 else "/dev/shm/embedding.hold"
    torch.set_num_threads(1)  # for a model so small
    torch.manual_seed(1)
    random = torch.Generator().manual_seed(2)
    loss_of = torch.nn.BCEWithLogitsLoss()
    with hf.Table.create(pool, value=2 * COLUMNS, capacity=1_000, overwrite=True) as table:
        model = ClickModel(table)
        optimizer = torch.optim.Adam([*model.bottom.parameters(), *model.top.parameters()], lr=0.01)
        rows_optimizer = hft.SGD(model.rows.parameters(), lr=15)
        losses = []
        for _ in range(200):
            numbers, categories, clicked = clicks(256, random)
            loss = loss_of(model(numbers, categories), clicked)
            optimizer.zero_grad()
            rows_optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rows_optimizer.step()  # the rows learn here: durable when it returns
            losses.append(float(loss.detach()))
        before, after = sum(losses[:20]) / 20, sum(losses[-20:]) / 20
        numbers, categories, clicked = clicks(2_000, random)
        expected = model.eval()(numbers, categories)
        right = float(((expected > 0) == clicked.bool()).float().mean())
        print(table)
        print(f"loss {before:.2f} to {after:.2f}; {right:.0%} of new clicks foretold")

    with hf.Table.open(pool, mode="r") as table:
        model.rows = hft.Embedding(table, COLUMNS, stored=torch.bfloat16, dtype=torch.float32)
        same = torch.equal(model.eval()(numbers, categories), expected)
    print("opened again: the same answers" if same else "opened again: other answers")
    if not same or after > 0.8 * before:
        sys.exit("the model lost something")


if __name__ == "__main__":
    main()
