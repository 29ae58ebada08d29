"""Which object of a pool a Store opens, when it makes one, and that what fails leaves nothing behind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfastdb as hf
from holdfastdb.store import opening


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.hold"


def pool_of(path: Path, **kinds: str) -> Path:
    """A pool with objects by their names."""
    with hf.Pool.create(path) as pool:
        for name, kind in kinds.items():
            if kind == "store":
                with hf.Store(pool, name=name) as store:
                    store[b"of"] = name.encode()
            elif kind == "table":
                pool.create_table(name, device="cpu").close()
            else:
                hf.Checkpoint(pool, name=name).close()
    return path


def names_in(path: Path) -> list[str]:
    return [found.name for found in hf.inspect(path).objects]


def test_the_only_store_whatever_its_name(path: Path) -> None:
    pool_of(path, sessions="store")
    with hf.Store(path) as store:
        assert store[b"of"] == b"sessions" and store.path == f"{path}:sessions"
    with hf.Store(path, mode="r") as store:
        assert store[b"of"] == b"sessions"
    with hf.Pool.open(path) as pool, hf.Store(pool) as store:
        assert store[b"of"] == b"sessions"
    assert names_in(path) == ["sessions"]


REFUSED: list[tuple[dict[str, str], type[hf.Error], str]] = [
    ({"t": "table"}, hf.PoolMismatch, r"a.hold has the table t and no store: give "),
    ({"c": "checkpoint"}, hf.PoolMismatch, r"has the checkpoint c and no store: give "),
    (
        {"t": "table", "c": "checkpoint"},
        hf.PoolMismatch,
        r"has the table t and the checkpoint c and no store: give",
    ),
    (
        {"t": "table", "s": "store"},
        hf.InvalidArgument,
        r"a.hold has the table t and the store s: give the name of the one to open, such as name='s'$",
    ),
    ({"store": "store", "other": "store"}, hf.InvalidArgument, r"has the store store and the store other: give the"),
    (
        {f"s{i}": "store" for i in range(12)},
        hf.InvalidArgument,
        r"has the store s0, .*the store s7 and 4 more: give the",
    ),
]


@pytest.mark.parametrize(("kinds", "error", "says"), REFUSED)
def test_nothing_is_added_silently(path: Path, kinds: dict[str, str], error: type[hf.Error], says: str) -> None:
    size = pool_of(path, **kinds).stat().st_size
    if "store" not in kinds.values():
        with pytest.raises(error, match=r'give name="store" to add one, or another path$'):
            hf.Store(path)
        with pytest.raises(error, match=r"give the path of another pool$"):
            hf.Store(path, mode="r+")
    for mode in (None, "r+", "r"):
        with pytest.raises(error, match=says):
            hf.Store(path, mode=mode)
    for opened in ("r+", "r"):
        with hf.Pool.open(path, opened) as pool, pytest.raises(error, match=says):
            hf.Store(pool)
    assert names_in(path) == list(kinds)
    if "s" not in kinds:
        return
    assert size == path.stat().st_size
    with hf.Store(path, name="s") as store:
        assert store[b"of"] == b"s"
    with hf.Store(path, name="new") as store:  # named, it is added
        assert len(store) == 0
    assert names_in(path) == [*kinds, "new"]


def test_a_pool_without_objects_gets_one(path: Path) -> None:
    pool_of(path)
    for mode in ("r", "r+"):
        with pytest.raises(hf.ObjectNotFound, match=r"a.hold is a pool without objects: leave mode out to create a"):
            hf.Store(path, mode=mode)
    with hf.Store(path) as store:
        store[b"a"] = b"1"
    assert names_in(path) == ["store"]


@pytest.mark.parametrize("name", [None, "s"])
def test_a_given_mode_creates_nothing(path: Path, name: str | None) -> None:
    for mode, advice in (("r+", ", or leave mode out to create it"), ("r", "correct the path")):
        with pytest.raises(hf.PoolNotFound, match=f"does not exist.*{advice}"):
            hf.Store(path, name=name, mode=mode)
        assert not list(path.parent.iterdir())
        with pytest.raises(hf.PoolNotFound, match="correct the path"):
            hf.Table.open(path, "cpu", mode)
        assert not list(path.parent.iterdir())
    pool_of(path, t="table")
    for mode in ("r+", "r"):
        with pytest.raises(hf.ObjectNotFound, match='no object "s"; it has the object t'):
            hf.Store(path, name="s", mode=mode)
        with hf.Pool.open(path, mode) as pool, pytest.raises(hf.ObjectNotFound, match='no object "s"'):
            hf.Store(pool, name="s", mode=mode)
    assert names_in(path) == ["t"]
    with hf.Store(path, name="s") as store:
        store[b"a"] = b"1"
    with hf.Store(path, name="s", mode="r+") as store:
        store[b"a"] = b"2"
    with hf.Pool.open(path, "r") as pool:
        with hf.Store(pool, name="s", mode="r") as store:
            assert store[b"a"] == b"2"
        with pytest.raises(hf.InvalidArgument, match=r"mode is 'r\+', and the pool's 'r': leave it out"):
            hf.Store(pool, name="s", mode="r+")


FAILING: list[tuple[dict[str, Any], type[hf.Error]]] = [
    ({"limit": 1}, hf.InvalidArgument),
    ({"limit": 1 << 60}, hf.InvalidArgument),
    ({"evict": True}, hf.InvalidArgument),
    ({"max_value": 0}, hf.InvalidArgument),
    ({"name": "a/b"}, hf.InvalidArgument),
    ({"mode": "w"}, hf.InvalidArgument),
    ({"index": "gpu"}, hf.DeviceError),
    ({"gpu": True}, hf.DeviceError),
]


@pytest.mark.parametrize(("options", "error"), FAILING, ids=[str(one[0]) for one in FAILING])
def test_what_fails_leaves_nothing_behind(path: Path, options: dict[str, Any], error: type[hf.Error]) -> None:
    if error is hf.DeviceError and hf.cuda_devices()[0]:
        pytest.skip("this machine has a GPU")
    with pytest.raises(error):
        hf.Store(path, **options)
    assert not list(path.parent.iterdir())
    pool_of(path)
    with pytest.raises(error) as failed:  # a pool that was there stays, without the store
        hf.Store(path, **options)
    assert names_in(path) == []
    hf.Store(path).close()  # the pool is closed, though the error holds the call
    with pytest.raises(error):
        hf.Store(path, **options)
    assert names_in(path) == ["store"] and failed.value is not None


def test_a_lost_race(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process creates the pool between two calls."""
    create = opening.NativeStore.create_in_new_pool

    class Slower:
        open, create = opening.NativeStore.open, opening.NativeStore.create

        @staticmethod
        def create_in_new_pool(*given: Any) -> Any:
            pool_of(path, s="store")
            return create(*given)

    monkeypatch.setattr(opening, "NativeStore", Slower)
    with hf.Store(path) as store:
        assert store[b"of"] == b"s"


def test_an_error_says_what_a_store_is(path: Path, tmp_path: Path) -> None:
    calls: list[tuple[Callable[[hf.Store], Any], str]] = [
        (lambda s: hf.load(s, tmp_path / "o.csv"), "load takes a table, and .*a.hold:store is a store: .*set_many"),  # type: ignore[arg-type]
    ]
    with hf.Store(path) as store:
        for call, says in calls:
            with pytest.raises(TypeError, match=says):
                call(store)
    for call_on_path in (hf.Table.open, lambda p: hf.Table.open(p, create=True)):
        with pytest.raises(
            hf.PoolMismatch, match=r"a.hold is a store, not a table: open it as a store, or name a table"
        ):
            call_on_path(path)
