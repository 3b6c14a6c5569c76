"""The scenarios of scenarios.json and those about bytes, as tests of whatever cluster the class is for.

A class that plays them has `backend` (its name there), `evict(ident)` and `lose_node(ident)`.
"""

import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
UNTIL_TOLD = "while :; do sleep 0.1; done"
DOES = {"wait": UNTIL_TOLD, "save": f"trap 'exit 0' TERM; {UNTIL_TOLD}", "ignore": f"trap '' TERM; {UNTIL_TOLD}",
        "eat": "exec tail /dev/zero", "child eats": "tail /dev/zero; exit 0"}


def load():
    with open(os.path.join(HERE, "scenarios.json"), encoding="utf-8") as file:
        return json.load(file)


def script(does):
    """The shell's words for what a rank does, in each attempt; the last one counts for all that follow."""
    lines = ["echo up"]
    for number, deed in enumerate(does, 1):
        is_last = number == len(does)
        lines.append(f"if {'true' if is_last else f'[ $MUSTER_ATTEMPT = {number} ]'}; then {words_of(deed)}; fi")
    return "\n".join(lines)


def words_of(deed):
    if deed in DOES:
        return DOES[deed]
    what, number = deed.split()
    return {"exit": f"exit {number}", "signal": f"kill -{number} $$", "later": f"sleep 3; exit {number}"}[what]


class Scenarios:
    """Mixed into a World."""

    def play(self, scene):
        flags = []
        for key, flag in (("nodes", "--nodes"), ("memory", "--memory"), ("time_limit", "--time"), ("retries", "--retries")):
            if key in scene:
                flags += [flag, str(scene[key])]
        text = script(scene["does"])
        if "failing_rank" in scene:
            text = f"if [ $RANK != {scene['failing_rank']} ]; then {UNTIL_TOLD}; fi\n{text}"
        ident = self.submit(*flags, "--", "sh", "-c", text)
        if "then" in scene:
            self.wait_state(ident, "running", seconds=120)
            self.hears(ident)
            {"abort": lambda: self.ok("abort", ident), "kill server": self.kill_server,
             "evict": lambda: self.evict(ident), "lose node": lambda: self.lose_node(ident)}[scene["then"]]()
        job = self.wait_state(ident, "succeeded", "failed", "cancelled", seconds=300)
        self.compare(scene["ends"], job, self.ok("why", ident).decode())

    def hears(self, ident):
        from support.world import eventually
        eventually(f"{ident} has said something", lambda: self.ok("logs", ident), 60)

    def compare(self, ends, job, why):
        seen = {"state": job["state"], "causes": [attempt["cause"] for attempt in job["attempts"]]}
        for key in ("exit_code", "signal"):
            if key in ends:
                seen[key] = job[key]
        if "first_failed_rank" in ends:
            seen["first_failed_rank"] = job["attempts"][-1]["first_failed_rank"]
        if "says" in ends:
            self.assertIn(ends["says"], why)
        self.assertEqual(seen, {key: value for key, value in ends.items() if key != "says"}, why)

    def test_arguments_and_environment_arrive_byte_for_byte(self):
        odd = ["", " ", "a\nb", "$(HOME)", "'\"", "ü", b"\xff\xfe"]
        ident = self.submit("-e", "ODD=a b\nc$d", "--", "sh", "-c", 'printf "%s|" "$@" "$ODD"', "sh", *odd)
        self.assertEqual(self.end(ident)["state"], "succeeded")
        wanted = b"|".join(word if isinstance(word, bytes) else word.encode() for word in [*odd, "a b\nc$d"]) + b"|"
        self.assertEqual(self.ok("logs", ident), wanted)

    def test_output_is_kept_apart_and_exact(self):
        ident = self.submit("--", "sh", "-c", "printf 'out\\r\\n\\0end'; printf err >&2")
        self.assertEqual(self.end(ident)["state"], "succeeded")
        self.assertEqual(self.ok("logs", "--stdout", ident), b"out\r\n\0end")
        self.assertEqual(self.ok("logs", "--stderr", ident), b"err")

    def test_it_runs_the_code_that_stood_there(self):
        path = os.path.join(self.dir, "code")
        self.write(path, "before\n")
        ident = self.submit("--", "sh", "-c", "sleep 1; cat code; echo mine > code; cat code")
        self.write(path, "after\n")
        self.assertEqual(self.end(ident)["state"], "succeeded")
        self.assertEqual(self.ok("logs", ident), b"before\nmine\n")
        again = self.ok("resubmit", "-o", "name", ident).decode().strip()
        self.assertEqual(self.end(again)["state"], "succeeded")
        self.assertEqual(self.ok("logs", again), b"before\nmine\n")

    def test_one_key_is_one_job(self):
        first, second = (self.submit("--key", "k", "--", "true") for _ in range(2))
        self.assertEqual(first, second)
        self.assertEqual(self.end(first)["state"], "succeeded")

    def end(self, ident):
        return self.wait_state(ident, "succeeded", "failed", "cancelled", seconds=180)


def add_to(case):
    """Gives a test case one test for each scenario, with those left out that its backend does not know."""
    for scene in load():
        if case.backend not in scene.get("not_on", {}):
            setattr(case, f"test_{scene['name']}", lambda self, scene=scene: self.play(scene))
    return case
