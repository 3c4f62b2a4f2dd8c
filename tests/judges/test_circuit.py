from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.judges.circuit import Circuit


def opened(at: float = 0.0) -> Circuit:
    circuit = Circuit()
    assert [circuit.failed(run, at) for run in (1, 2, 3, 1, 2)] == [False, False, False, False, True]
    return circuit


def test_one_run_that_nobody_can_answer_is_no_outage() -> None:
    circuit = Circuit()
    assert not any(circuit.failed(7, now) for now in range(100))
    assert circuit.admits(100)


def test_an_answer_in_between_begins_the_count_anew() -> None:
    circuit = Circuit()
    for run in range(4):
        circuit.failed(run, 0)
    assert circuit.answered() is False
    assert not any(circuit.failed(run, 0) for run in range(4))


def test_an_open_circuit_lets_one_probe_pass_at_growing_intervals() -> None:
    circuit = opened()
    now, waits = 0.0, []
    for _ in range(6):
        assert not circuit.admits(now)
        wait = circuit.next_probe - now
        now = circuit.next_probe
        assert circuit.admits(now)
        assert not circuit.admits(now)
        assert circuit.failed(9, now) is False
        waits.append(wait)
    assert waits == [5, 10, 20, 40, 60, 60]


def test_a_probe_that_is_answered_ends_the_outage() -> None:
    circuit = opened()
    assert circuit.admits(5)
    assert circuit.answered() is True
    assert circuit.admits(5)
    assert not circuit.is_open


def test_a_probe_that_is_given_up_leaves_room_for_the_next() -> None:
    circuit = opened()
    assert circuit.admits(5)
    circuit.abandoned()
    assert circuit.admits(5)


@given(st.lists(st.tuples(st.sampled_from(["admits", "failed", "answered", "abandoned"]), st.integers(0, 5))))
def test_it_always_comes_back(steps: list[tuple[str, int]]) -> None:
    circuit, now = Circuit(), 0.0
    for step, run in steps:
        now += 1
        if step == "admits":
            circuit.admits(now)
        elif step == "failed":
            circuit.failed(run, now)
        elif step == "answered":
            circuit.answered()
        else:
            circuit.abandoned()
    circuit.abandoned()
    assert circuit.admits(now + 61)
