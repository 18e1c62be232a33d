#!/usr/bin/env python3
"""Tests of summary.py: a passing retry excuses one test, but never a crash."""
import pathlib
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape, quoteattr

SUMMARY = pathlib.Path(__file__).with_name("summary.py")


def case(name, status, output="", seconds=1.0, message=""):
    inner = {"fail": "<failure message=''/>", "skip": f"<skipped message={quoteattr(message)}/>"}.get(status, "")
    said = "fail" if status == "fail" else "notrun" if status == "skip" else "run"
    return (f'<testcase name={quoteattr(name)} classname="x" time="{seconds}" status="{said}">'
            f"{inner}<system-out>{escape(output)}</system-out></testcase>")


class SummaryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "times.tsv").write_text("release\t61\t100\ttesting the release build\n")

    def run_summary(self, first, again=None, *words):
        for name, cases in (("release", first), ("release.again", again)):
            if cases is not None:
                text = f"<testsuite>{''.join(cases)}</testsuite>"
                (self.folder / f"{name}.junit.xml").write_text(text)
        done = subprocess.run([sys.executable, SUMMARY, "--seconds", "62", "--times", self.folder / "times.tsv",
                               "--unsteady", self.folder / "unsteady", *words, self.folder / "release.junit.xml"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_all_passed(self):
        status, said = self.run_summary([case("a", "run"), case("b", "run", "said\nwatch_test: CPU 1.26 s\n", 7.25)])
        self.assertEqual(status, 0)
        self.assertIn("  release        1 min  1 s  testing the release build (CPU 100 s)", said)
        self.assertIn("the 2 slowest tests:\n     7.2 s  b (release), CPU 1.3 s\n     1.0 s  a (release)\n", said)
        self.assertEqual(said.splitlines()[-1],
                         "scripts/test: passed: 2 tests of the release build, 0 skipped, 0 failed, 1 min  2 s")

    def test_what_fails_twice_has_failed(self):
        status, said = self.run_summary([case("a", "fail", "noise\nFAILED: a: no rank")], [case("a", "fail", "again")])
        self.assertEqual(status, 1)
        self.assertIn("failed: a (release)\n  | noise\n  | FAILED: a: no rank\n", said)

    def test_what_was_not_run_again_has_failed(self):
        status, said = self.run_summary([case("a", "fail")])
        self.assertEqual(status, 1)
        self.assertIn("failed: a (release)\n", said)

    def test_one_unsteady_test_is_named_with_its_words_and_both_outputs_are_kept(self):
        status, said = self.run_summary([case("a b", "fail", "first"), case("c", "run")], [case("a b", "run", "second")])
        self.assertEqual(status, 0)
        files = [self.folder / "unsteady" / f"release.a_b.{number}.txt" for number in (1, 2)]
        self.assertEqual([file.read_text() for file in files], ["first", "second"])
        self.assertEqual(said.splitlines()[-2], "  | first")
        self.assertEqual(said.splitlines()[-3], "unsteady: a b (release) failed, and passed when it was run again alone; "
                         f"both outputs: {files[0]} {files[1]}")
        self.assertIn("passed: 2 tests of the release build, 0 skipped, 1 unsteady, 0 failed", said.splitlines()[-1])

    def test_two_unsteady_tests_fail_the_run(self):
        status, said = self.run_summary([case("a", "fail"), case("b", "fail")], [case("a", "run"), case("b", "run")])
        self.assertEqual(status, 1)
        self.assertIn("failed: 2 tests are unsteady", said)
        self.assertEqual(said.count("unsteady: "), 2)

    def test_a_crash_is_not_excused(self):
        crashes = ["==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1",
                   "==12==ERROR: LeakSanitizer: detected memory leaks",
                   "x.cc:3:4: runtime error: signed integer overflow", "WARNING: ThreadSanitizer: data race (pid=1)",
                   "watch_test: ended by signal 11 (Segmentation fault)",
                   "FAILED: restart: exit status 139, not 0"]
        for crash in crashes:
            for outputs in ((crash, "fine"), ("wrong", f"noise\n{crash}")):
                with self.subTest(outputs):
                    status, said = self.run_summary([case("a", "fail", outputs[0])], [case("a", "run", outputs[1])])
                    self.assertEqual(status, 1)
                    self.assertIn(f"failed: a (release): passed when it was run again, but a crash is not excused: {crash}",
                                  said)

    def test_an_expected_crash_is_no_crash_of_the_test(self):
        status, _ = self.run_summary([case("a", "fail", "FAILED: rank_crashes: exit status 0, not 139")], [case("a", "run")])
        self.assertEqual(status, 0)

    def test_ctest_that_failed_without_a_name_has_failed(self):
        status, said = self.run_summary([case("a", "run")], None, "--failing", "release")
        self.assertEqual(status, 1)
        self.assertIn("failed: ctest of release reported failures, and its results name none\n", said)
        status, said = self.run_summary([case("a", "fail")], [case("a", "run")], "--failing", "release")
        self.assertEqual(status, 0)
        self.assertIn("unsteady: a (release)", said)

    def test_what_cannot_start_has_failed(self):
        status, said = self.run_summary([case("a", "skip", message="Unable to find executable")])
        self.assertEqual(status, 1)
        self.assertIn("failed: a (release)\n  | Unable to find executable\n", said)

    def test_skips_have_reasons(self):
        status, said = self.run_summary(
            [case("a", "run"), case("b", "skip", "skipped: b: needs root\n", message="SKIP_RETURN_CODE=77")], None,
            "--left-out", "what --all has")
        self.assertEqual(status, 0)
        self.assertIn("left out: what --all has\nskipped: b: skipped: b: needs root\n", said)

    def test_a_share_of_a_program_counts_its_tests_and_names_those_it_left_out(self):
        output = ("[==========] Running 3 tests from 2 test suites.\n[       OK ] A.b (0 ms)\n[ RUN      ] A.c\n"
                  "/x/a_test.cc:7: Skipped\nthis CPU has no bf16\n\n[  SKIPPED ] A.c (0 ms)\n[       OK ] B.d (0 ms)\n"
                  "[==========] 3 tests from 2 test suites ran. (5 ms total)\n[  PASSED  ] 2 tests.\n"
                  "[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.c\nwatch_test: CPU 0.10 s\n")
        status, said = self.run_summary([case("a.share_1", "run", output), case("e", "run")])
        self.assertEqual(status, 0)
        self.assertIn("\nskipped: A.c: this CPU has no bf16\n", said)
        self.assertIn("passed: 3 tests of the release build, 1 skipped, 0 failed", said.splitlines()[-1])

    def test_a_share_of_one_test_that_was_left_out_has_not_run(self):
        output = ("[ RUN      ] A.c\n/x/a_test.cc:7: Skipped\nthis CPU has no bf16\n\n[  SKIPPED ] A.c (0 ms)\n"
                  "[==========] 1 test from 1 test suite ran. (0 ms total)\n")
        _, said = self.run_summary([case("a.share_1", "run", output), case("e", "run")])
        self.assertIn("passed: 1 tests of the release build, 1 skipped, 0 failed", said.splitlines()[-1])

    def test_nothing_ran(self):
        status, said = self.run_summary([])
        self.assertEqual(status, 1)
        self.assertIn("nothing ran", said)


if __name__ == "__main__":
    unittest.main()
