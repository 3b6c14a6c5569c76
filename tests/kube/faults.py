"""Which request or event goes wrong, and how: decided by a seed, counted by kind.

The n-th request of a sort ("POST jobs") meets the same fault whenever the seed is the same, in whatever
order the sorts come. The order itself is the scheduler's, so a replay is alike, not the same.
"""

import collections
import random
import time

# kind -> what happens
OF_REQUESTS = {
    "429": "refused, with Retry-After",
    "500": "refused",
    "503": "refused",
    "reset before": "the connection dies before the request is carried out",
    "reset after": "it is carried out, and the answer is lost",
    "cut": "the answer's body ends in its middle",
    "slow": "the answer takes a second or two",
}
OF_WATCHES = {
    "410": "the version to begin with has expired",
    "429": "refused, with Retry-After",
    "503": "refused",
    "reset before": "the connection dies",
    "slow": "it begins a second or two late",
}
OF_EVENTS = {
    "dropped": "it never comes",
    "duplicated": "an older state of the object comes again after it",
    "reordered": "it comes after its successor",
    "ERROR 410": "the stream says that its version has expired",
    "cut event": "the stream ends in the middle of it",
    "stalled": "it comes a second late",
}
OF_STREAMS = {"reset before": "the connection dies", "503": "refused"}  # exec and the like


class Faults:
    """`total` faults, then none. `last`: when the last one was (monotonic)."""

    def __init__(self, seed, total, of_requests=0.2, of_events=0.06):
        self.seed = seed
        self.total = total
        self.rates = {"request": of_requests, "event": of_events}
        self.counts = collections.Counter()
        self.last = time.monotonic()
        self._turns = collections.Counter()

    @property
    def left(self):
        return self.total - sum(self.counts.values())

    def pick(self, sort, kinds, rate="request"):
        """(kind, rng), or (None, rng); the rng is for its details."""
        self._turns[sort] += 1
        rng = random.Random(f"{self.seed}/{sort}/{self._turns[sort]}")
        if self.left <= 0 or rng.random() >= self.rates[rate]:
            return None, rng
        kind = rng.choice(sorted(kinds))
        self.counts[kind] += 1
        self.last = time.monotonic()
        return kind, rng

    def __str__(self):
        return ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
