#!/usr/bin/env python3
"""The checks of tools/ find every offence planted for them, pass a clean tree, and pass this one.

usage: test_checks.py [ROOT]   (or MUSTER_SOURCE_DIR; default: the repository this file is in)
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("MUSTER_SOURCE_DIR", Path(__file__).resolve().parents[2]))

LAYERS = """
# a comment
base:
core/model: base
core/sched: base core/model
port: base core/model
edge/fs: base port
app/cli: base core/* edge/*
app/verbs: *
allow core/model/json.hpp boost/json.hpp shared by all codecs
"""
CLEAN = {
    "tools/layers.txt": LAYERS,
    "README.md": "See `src/base/a.hpp` and [the guide](docs/guide.md#how-to-start), then `./dev`.\n",
    "dev": "#!/bin/sh\n",
    "docs/guide.md": "# How to start\nRun `tools/layers.txt`; jobs live in `src/<room>/*.cpp`.\n",
    "src/base/a.hpp": "#pragma once\n#include <string>\n",
    "src/core/model/json.hpp": "#include <boost/json.hpp>\n#include \"base/a.hpp\"\n",
    "src/core/sched/b.cpp": '#include "core/model/json.hpp"\n// std::mutex, getenv("X")\nint f() { return 1\'000; }\n',
    "src/edge/fs/c.cpp": "#include <mutex>\n#include <unistd.h>\nstd::mutex m;\n",
    "src/app/cli/context.cpp": '#include "edge/fs/c.cpp"\nconst char* x = std::getenv("HOME");\n',
    "src/app/verbs/run.cpp": '#include "app/cli/context.cpp"\n',
    "src/app/verbs/run.md": "run a command\n",
}


class Tree(unittest.TestCase):
    tool = ""

    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.root = Path(temp.name).resolve()
        for name, text in CLEAN.items():
            self.plant(name, text)

    def plant(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self, root=None):
        done = subprocess.run([sys.executable, ROOT / "tools" / self.tool, root or self.root],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def assert_clean(self, root=None):
        code, out = self.check(root)
        self.assertEqual(code, 0, out)
        self.assertRegex(out, r"(?m)^\d+ checked, 0 offences$")

    def assert_offence(self, name, text, *needles, count=1):
        """Planting this file makes exactly `count` offences, and they say what they should."""
        self.plant(name, text)
        code, out = self.check()
        self.assertEqual(code, 1, out)
        self.assertRegex(out, rf"(?m)^\d+ checked, {count} offences$")
        for needle in needles:
            self.assertIn(needle, out)


class Layers(Tree):
    tool = "check_layers"

    def test_a_clean_tree_passes(self):
        self.assert_clean()

    def test_this_repository_passes(self):
        self.assert_clean(ROOT)

    def test_a_lower_room_may_not_use_a_higher_one(self):
        self.assert_offence("src/base/up.cpp", '\n#include "core/model/json.hpp"\n',
                            "src/base/up.cpp:2:", "base may not use core/model")

    def test_a_room_may_not_use_a_neighbour_it_does_not_name(self):
        self.assert_offence("src/core/model/x.cpp", '#include "core/sched/b.cpp"\n',
                            "core/model may not use core/sched")

    def test_an_include_that_is_in_no_room_is_an_offence(self):
        self.assert_offence("src/base/x.cpp", '#include "a.hpp"\n', "lies in no room")

    def test_a_file_that_is_in_no_room_is_an_offence(self):
        self.assert_offence("src/attic/x.cpp", "", "src/attic/x.cpp: lies in no room")

    def test_heavy_headers_are_for_sources_only(self):
        heavy = ["boost/asio.hpp", "boost/beast/http.hpp", "boost/json.hpp", "sqlite3.h",
                 "libfyaml.h", "openssl/ssl.h", "fuse3/fuse.h"]
        includes = "".join(f"#include <{name}>\n" for name in heavy)
        self.plant("src/edge/fs/fine.cpp", includes)
        self.assert_offence("src/edge/fs/h.hpp", includes, "libfyaml.h is heavy", count=len(heavy))

    def test_regex_is_banned_everywhere(self):
        self.assert_offence("src/app/cli/r.cpp", "#include <regex>\n", "<regex>")

    def test_core_is_pure(self):
        impure = ["thread", "mutex", "fstream", "unistd.h", "sys/stat.h"]
        text = "".join(f"#include <{name}>\n" for name in impure)
        text += "auto a = std::chrono::steady_clock::now();\nint b = clock_gettime(0, nullptr);\n"
        self.assert_offence("src/core/sched/p.cpp", text, "<sys/stat.h> does not belong",
                            "p.cpp:6: a clock", "p.cpp:7: a clock", count=7)

    def test_the_environment_is_read_in_one_place(self):
        self.assert_offence("src/edge/fs/e.cpp", 'auto x = ::getenv("A");\n', "getenv outside")

    def test_mutexes_stay_where_threads_are(self):
        self.assert_offence("src/app/verbs/m.cpp", "std::shared_mutex m;\n", "a mutex outside")

    def test_an_exception_without_a_reason_is_an_offence(self):
        self.assert_offence("tools/layers.txt", LAYERS + "allow base/x.hpp sqlite3.h\n",
                            "an exception needs a reason")

    def test_a_table_that_names_a_room_that_is_not_there_is_an_offence(self):
        self.assert_offence("tools/layers.txt", LAYERS + "app/x: base bsae\n", "bsae, which is no room")


class Sizes(Tree):
    tool = "check_sizes"

    @staticmethod
    def function(lines, header="int long_one(int x)"):
        return header + " {\n" + "  x = 1;\n" * (lines - 2) + "}\n"

    def test_a_clean_tree_passes_and_the_medians_are_told(self):
        self.assert_clean()
        self.assertIn("at the median", self.check()[1])

    def test_this_repository_passes(self):
        self.assert_clean(ROOT)

    def test_a_file_of_600_lines_is_the_largest(self):
        self.plant("src/base/fits.cpp", "\n" * 600)
        self.assert_offence("src/base/big.cpp", "\n" * 601, "src/base/big.cpp: 601 lines")

    def test_a_function_of_60_lines_is_the_longest(self):
        self.plant("src/base/fits.cpp", self.function(60))
        self.assert_offence("src/base/long.cpp", "\n" + self.function(61),
                            "src/base/long.cpp:2: long_one has 61 lines")

    def test_members_constructors_and_tests_count_as_functions(self):
        text = "namespace a {\nclass B : public C {\n public:\n"
        text += self.function(61, "  explicit B(int x) : a_(x), b_{x}, c_(D{x})")
        text += self.function(61, "  void m(int x, E e = {}) const noexcept override") + "};\n}\n"
        text += self.function(61, "TEST(Long, One)")
        self.assert_offence("tests/unit/x.cpp", text, "x.cpp:4: B has 61", "x.cpp:65: m has 61",
                            "TEST(Long, One) has 61", count=3)

    def test_braces_in_literals_and_comments_open_nothing(self):
        noise = 'auto s = "{"; char c = \'{\'; auto r = R"(}}{)"; /* { */ // {\n'
        self.plant("src/base/noise.cpp", "int f() {\n  " + noise + "}\n" + "int x;\n" * 80)
        self.assert_clean()

    def test_tables_are_no_functions(self):
        self.plant("src/base/table.cpp", "const auto k = f(1) + Row{\n" + "  {1, 2},\n" * 80 + "};\n")
        self.assert_clean()

    def test_a_reason_directly_above_excuses_a_long_function(self):
        reason = "// What it does.\n// size: one row per code, split it would say less\n"
        self.plant("src/base/long.cpp", reason + self.function(70))
        self.assert_clean()
        self.assert_offence("src/base/far.cpp", reason + "\n" + self.function(70), "far.cpp:4")


class Docs(Tree):
    tool = "check_docs"

    def test_a_clean_tree_passes(self):
        self.assert_clean()

    def test_this_repository_passes(self):
        self.assert_clean(ROOT)

    def test_pages_that_are_not_written_yet_are_no_offence(self):
        (self.root / "README.md").unlink()
        self.assert_clean()

    def test_a_path_in_backticks_must_exist(self):
        self.assert_offence("ARCHITECTURE.md", "x\nsee `src/base/gone.hpp`, `src/base/a.hpp:3`\n",
                            "ARCHITECTURE.md:2: `src/base/gone.hpp` does not exist")

    def test_the_dev_script_must_exist_when_it_is_named(self):
        (self.root / "dev").unlink()
        self.assert_offence("CONTRIBUTING.md", "", "`dev` does not exist")

    def test_a_relative_link_must_lead_somewhere(self):
        text = "[a](guide.md) [b](gone.md) [c](https://example.org/x) [d](#here)\n\n# Here\n"
        self.assert_offence("docs/page.md", text, "docs/page.md:1: the link to gone.md leads nowhere")

    def test_a_link_to_a_heading_needs_the_heading(self):
        self.assert_offence("docs/page.md", "[a](guide.md#how-to-end)\n", "names a heading")

    def test_a_link_out_of_the_repository_leads_nowhere(self):
        self.assert_offence("docs/page.md", "[a](../../)\n", "leads nowhere")

    def test_every_verb_has_its_help_page(self):
        self.assert_offence("src/app/verbs/stop.cpp", "", "stop.cpp: the verb has no help page")

    def test_a_help_page_needs_its_verb(self):
        self.assert_offence("src/app/verbs/gone.md", "", "a help page without its verb")

    def test_paths_of_one_machine_are_found_in_documents(self):
        for place in ("root", "home/ada", "Users/ada"):
            with self.subTest(place):
                self.assert_offence("docs/page.md", f"cd /{place}/muster\n", "docs/page.md:1: /")

    def test_paths_of_the_workspace_are_found_in_sources(self):
        self.assert_offence("src/base/p.cpp", f'auto x = "/{"work"}/main";\n', "src/base/p.cpp:1:")

    def test_build_trees_are_not_looked_at(self):
        self.plant("build-x/p.txt", f"/{'work'}/main\n")
        self.assert_clean()


class CountTests(unittest.TestCase):
    """Logs as ctest writes them, one entry a test."""

    @staticmethod
    def entry(output, verdict="Test Passed."):
        return f"1/2 Testing: x\n1/2 Test: x\nOutput:\n-----\n{output}\n<end of output>\n{verdict}\n"

    def count(self, *entries):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write("Start testing\n" + "".join(entries))
            log.flush()
            done = subprocess.run([sys.executable, ROOT / "tools" / "count_tests", log.name],
                                  capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def test_cases_of_googletest_and_unittest_are_added_up(self):
        ran = "[==========] 5 tests from 2 test suites ran. (3 ms total)\n"
        self.assertEqual(self.count(self.entry(ran + "[  PASSED  ] 5 tests."),
                                    self.entry("Ran 34 tests in 5.2s\n\nOK")), "39 0 0")

    def test_failures_and_skips_are_told_apart(self):
        brief = ("[  FAILED  ] X.Fails (2 ms)\n[==========] 4 tests from 1 test suite ran. (1 ms total)"
                 "\n[  PASSED  ] 1 test.\n[  SKIPPED ] 1 test.")
        python = "Ran 10 tests in 1s\n\nFAILED (failures=1, errors=2, skipped=3)"
        self.assertEqual(self.count(self.entry(brief, "Test Failed."),
                                    self.entry(python, "Test Failed.")), "5 5 4")

    def test_a_program_that_says_nothing_counts_as_one(self):
        self.assertEqual(self.count(self.entry("hello"), self.entry("boom", "Test Failed.")), "1 1 0")

    def test_a_program_that_died_has_failed(self):
        self.assertEqual(self.count(self.entry("[ RUN ] X\nSegmentation fault", "***Exception")),
                         "0 1 0")

    def test_no_log_counts_nothing(self):
        done = subprocess.run([sys.executable, ROOT / "tools" / "count_tests", "nowhere.log"],
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "0 0 0\n")


if __name__ == "__main__":
    if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir():
        ROOT = Path(sys.argv.pop(1)).resolve()
    unittest.main()
