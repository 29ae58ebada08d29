"""The workloads: single operations, and the YCSB core workloads A, B, C, D, F and LOAD."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """Shares of operations, and how items are chosen where the workload itself says so."""

    name: str
    shares: dict[str, float]
    text: str
    distribution: str | None = None
    loads: bool = False  #: fills an empty table
    spends: bool = False  #: leaves another set of items behind


MICRO = {
    w.name: w
    for w in (
        Workload("insert", {"insert": 1.0}, "insert of new keys into an empty table made for them", loads=True),
        Workload("find", {"read": 1.0}, "find of keys that are there"),
        Workload("absent", {"absent": 1.0}, "find of keys that are not there"),
        Workload("update", {"update": 1.0}, "assign to keys that are there"),
        Workload("erase", {"erase": 1.0}, "erase of each key once", distribution="each", spends=True),
    )
}

# As in YCSB's workloads/workload{a,b,c,d,f}: D draws the latest items, the others as the caller says.
YCSB = {
    w.name: w
    for w in (
        Workload("LOAD", {"insert": 1.0}, "load", loads=True),
        Workload("A", {"read": 0.5, "update": 0.5}, "update heavy: 50% reads, 50% updates"),
        Workload("B", {"read": 0.95, "update": 0.05}, "read mostly: 95% reads, 5% updates"),
        Workload("C", {"read": 1.0}, "read only"),
        Workload("F", {"read": 0.5, "rmw": 0.5}, "read-modify-write: 50% reads, 50% read-modify-writes"),
        Workload("D", {"read": 0.95, "insert": 0.05}, "read latest: 95% reads, 5% inserts", "latest", spends=True),
    )
}

KIND_NAMES = {
    "read": "READ",
    "absent": "READ-ABSENT",
    "update": "UPDATE",
    "insert": "INSERT",
    "rmw": "READ-MODIFY-WRITE",
    "erase": "DELETE",
}
