"""What becomes of nodes that fall silent and of their pods: taints at their pace, and the way back."""

from datetime import timedelta
from itertools import pairwise

from tests.kube.on_bench import a_bench, a_pod, pods_of, running

from .controllers.pods import holds, terminating
from .server import kinds
from .server.objects import Obj


def test_lost_nodes_get_their_noexecute_taint_one_per_ten_seconds() -> None:
    bench = a_bench(nodes=3)
    for number in range(3):
        bench.kubelet.lose(f"n{number}")
    seen: list[float] = []

    def more() -> bool:
        found = bench.store.scan(kinds.NODE)
        taints = [taint for one in found for taint in one["spec"].get("taints") or ()]
        count: int = sum(taint["effect"] == "NoExecute" for taint in taints)
        return count > len(seen)

    for _ in range(3):
        assert bench.advance_until(more, 60)
        seen.append(bench.t)
    assert [round(later - before) for before, later in pairwise(seen)] == [10, 10]


def test_a_node_that_comes_back_is_free_of_taints_and_ends_what_it_was_told_to_end() -> None:
    bench = a_bench(nodes=1)
    bench.store.create(kinds.POD, a_pod("a"), "ns")
    assert running(bench, 1)
    bench.kubelet.lose("n0")
    assert bench.advance_until(lambda: bool(bench.store.get(kinds.NODE, "n0")["spec"].get("taints")), 60)
    assert not holds(bench.store.get(kinds.POD, "a", "ns"), "Ready")
    bench.store.delete(kinds.POD, "a", "ns")
    bench.advance(timedelta(seconds=60))
    assert terminating(bench.store.get(kinds.POD, "a", "ns"))
    bench.kubelet.find_again("n0")
    assert bench.advance_until(lambda: not pods_of(bench), 5)
    assert bench.advance_until(lambda: not bench.store.get(kinds.NODE, "n0")["spec"].get("taints"), 10)
    bench.advance(timedelta(seconds=60))
    assert holds(bench.store.get(kinds.NODE, "n0"), "Ready")


def test_a_pod_that_stayed_through_its_nodes_silence_is_ready_again() -> None:
    bench = a_bench(nodes=1)
    bench.store.create(kinds.POD, a_pod("a"), "ns")
    assert running(bench, 1)
    bench.kubelet.lose("n0")
    assert bench.advance_until(lambda: not holds(bench.store.get(kinds.POD, "a", "ns"), "Ready"), 60)
    bench.kubelet.find_again("n0")
    assert bench.advance_until(lambda: holds(bench.store.get(kinds.POD, "a", "ns"), "Ready"), 5)


def test_a_node_that_is_given_up_just_as_it_comes_back_says_again_that_it_is_ready() -> None:
    """It said so before it renewed its lease; a controller that looked between the two had the last word for ever."""
    bench = a_bench(nodes=1)
    bench.kubelet.lose("n0")
    assert bench.advance_until(lambda: not holds(bench.store.get(kinds.NODE, "n0"), "Ready"), 60)
    silent = bench.store.get(kinds.NODE, "n0")["status"]["conditions"]
    bench.kubelet.find_again("n0")

    def give_up(node: Obj) -> None:
        node["status"]["conditions"] = silent

    bench.store.edit(kinds.NODE, "n0", "", give_up, subresource="status")
    assert bench.advance_until(lambda: holds(bench.store.get(kinds.NODE, "n0"), "Ready"), 20)
