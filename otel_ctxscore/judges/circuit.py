"""A circuit breaker: tells an outage from a bad call, and finds out by itself when it is over.

Pure: the time is an argument, in seconds of any steady clock.
"""

from __future__ import annotations

_CALLS = 5
"""Calls in a row without an answer, of at least so many runs, that make an outage. One run that no model can
answer is not one."""
_RUNS = 3
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 60.0


class Circuit:
    """Closed, it lets every call pass. Open, it lets one call at a time pass, as a probe, at growing intervals."""

    def __init__(self) -> None:
        self._failed_calls = 0
        self._failed_runs: set[int] = set()
        self._pause = _FIRST_PAUSE
        self._probing = False
        self.opened_at: float | None = None
        self.next_probe = 0.0

    @property
    def is_open(self) -> bool:
        return self.opened_at is not None

    def admits(self, now: float) -> bool:
        """Whether a call may start. A True on an open circuit is the probe: it must report back."""
        if not self.is_open:
            return True
        if self._probing or now < self.next_probe:
            return False
        self._probing = True
        return True

    def answered(self) -> bool:
        """The provider answered, if only with an error of this one request. True where that ends an outage."""
        ended = self.is_open
        self._failed_calls, self._probing, self.opened_at = 0, False, None
        self._failed_runs.clear()
        self._pause = _FIRST_PAUSE
        return ended

    def failed(self, run: int, now: float) -> bool:
        """A call of this run got no answer. True where that begins an outage."""
        if self.is_open:
            if self._probing:
                self._probing = False
                self._pause = min(_LONGEST_PAUSE, self._pause * 2)
                self.next_probe = now + self._pause
            return False
        self._failed_calls += 1
        if len(self._failed_runs) < _RUNS:
            self._failed_runs.add(run)
        if self._failed_calls < _CALLS or len(self._failed_runs) < _RUNS:
            return False
        self.opened_at, self.next_probe = now, now + self._pause
        return True

    def abandoned(self) -> None:
        """The probe was given up before it could tell anything."""
        self._probing = False
