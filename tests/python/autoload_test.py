"""when_imported of _dtring_autoload hears of a module however a program comes to import it."""

import importlib
import importlib.util
import os
import pkgutil
import runpy
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import _dtring_autoload


class WhenImported(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        self.heard = []
        self.number = 0

    def module(self, text="value = 1\n"):
        """The name of a new module that is waited for."""
        self.number += 1
        name = f"{self._testMethodName}_{self.number}"
        self.write(name, text)
        _dtring_autoload.when_imported(name, lambda module: self.heard.append(module.__name__))
        self.addCleanup(sys.modules.pop, name, None)
        return name

    def write(self, name, text):
        with open(os.path.join(self.folder, f"{name}.py"), "w", encoding="utf-8") as out:
            out.write(text)
        importlib.invalidate_caches()

    def test_a_query_is_no_import(self):
        name = self.module()
        for _ in range(2):
            self.assertIsNotNone(importlib.util.find_spec(name))
        self.assertEqual(self.heard, [])
        module = importlib.import_module(name)
        self.assertEqual(self.heard, [name])
        self.assertEqual(type(module.__loader__).__name__, "SourceFileLoader")
        self.assertIs(module.__spec__.loader, module.__loader__)
        __import__(name)
        self.assertEqual(self.heard, [name])

    def test_every_way_to_run_a_module_counts(self):
        def by_spec(name):
            spec = importlib.util.find_spec(name)
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)

        def lazily(name):
            spec = importlib.util.find_spec(name)
            spec.loader = importlib.util.LazyLoader(spec.loader)
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            self.assertEqual(module.value, 1)

        def from_an_older_interface(name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pkgutil.find_loader(name).load_module(name)

        def by_another_script(name):
            self.write("script", f"import {name}\n")
            runpy.run_module("script", run_name="__main__")

        def in_a_thread(name):
            thread = threading.Thread(target=importlib.import_module, args=(name,))
            thread.start()
            thread.join()

        ways = [by_spec, lazily, by_another_script, in_a_thread]
        if hasattr(pkgutil, "find_loader"):  # up to Python 3.13
            ways.append(from_an_older_interface)
        for way in ways:
            self.heard.clear()
            name = self.module()
            way(name)
            self.assertEqual(self.heard, [name], way.__name__)

    def test_an_import_that_fails_is_tried_again(self):
        name = self.module("raise ImportError('not yet')\n")
        for _ in range(2):
            with self.assertRaises(ImportError):
                importlib.import_module(name)
        self.assertEqual(self.heard, [])
        self.write(name, "value = 22222\n")
        importlib.import_module(name)
        self.assertEqual(self.heard, [name])

    def test_a_reload_is_told_again(self):
        name = self.module()
        importlib.reload(importlib.import_module(name))
        self.assertEqual(self.heard, [name, name])

    def test_several_may_wait_and_later_ones_too(self):
        name = self.module()
        _dtring_autoload.when_imported(name, lambda _: self.heard.append("second"))
        importlib.import_module(name)
        _dtring_autoload.when_imported(name, lambda _: self.heard.append("late"))
        self.assertEqual(self.heard, [name, "second", "late"])

    def test_who_asks_while_the_module_is_run_hears_at_its_end(self):
        name = "asks_while_it_is_run"
        self.write(name, "import _dtring_autoload, sys\n"
                         f"_dtring_autoload.when_imported({name!r}, lambda module: ends.append(module.last))\n"
                         "ends = []\nlast = 7\n")
        self.addCleanup(sys.modules.pop, name, None)
        _dtring_autoload.watch(name)
        self.assertEqual(importlib.import_module(name).ends, [7])

    def test_a_module_of_another_finder_is_found(self):
        inner = self.module()
        other = f"{inner}_elsewhere"
        path = os.path.join(self.folder, f"{inner}.py")

        class Elsewhere:  # as an editable installation does
            @staticmethod
            def find_spec(name, path_, target=None):
                return importlib.util.spec_from_file_location(name, path) if name == other else None

        sys.meta_path.append(Elsewhere)
        self.addCleanup(sys.meta_path.remove, Elsewhere)
        self.addCleanup(sys.modules.pop, other, None)
        _dtring_autoload.when_imported(other, lambda _: self.heard.append(other))
        importlib.import_module(other)
        self.assertEqual(self.heard, [other])

    def test_a_program_that_looks_for_torch_first_gets_dtring(self):
        text = ("import _dtring_autoload, importlib.util, sys\n"
                "importlib.util.find_spec('torch')\n"
                "assert 'torch' not in sys.modules\n"
                "import torch\nassert 'dtring' in sys.modules\n"
                "assert hasattr(torch.distributed.Backend, 'DTRING')\n")
        subprocess.run([sys.executable, "-c", text], check=True,
                       env={**os.environ, "DTRING_AUTOLOAD": "1"})


if __name__ == "__main__":
    unittest.main()
