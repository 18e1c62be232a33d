"""dtring.progress is seen in the process's descriptors, and transformers' Trainer calls it."""

import importlib.util
import math
import os
import struct
import sys
import unittest
from unittest import mock

import dtring

NAME = "/memfd:dtring-progress-1 (deleted)"


def shown():
    """(step, total_steps, tokens, loss) of this process's page; see dtring(3)."""
    for name in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{name}"
        try:
            if os.readlink(path) != NAME:
                continue
        except OSError:  # the folder's own descriptor
            continue
        with open(path, "rb") as page:
            data = page.read(48)
        magic, _, version, step, total, tokens, loss = struct.unpack("<IIQQQQd", data)
        assert magic == 0x72705444 and version % 2 == 0
        return step, total, tokens, loss
    return None


class Progress(unittest.TestCase):
    def test_is_shown(self):
        dtring.progress(3, total_steps=10, tokens=4096, loss=0.25)
        self.assertEqual(shown(), (3, 10, 4096, 0.25))
        dtring.progress(4)
        self.assertEqual(shown()[:3], (4, 0, 0))
        self.assertTrue(math.isnan(shown()[3]))

    def test_refuses_numbers_that_are_none(self):
        with self.assertRaisesRegex(ValueError, "total_steps=-1: not between"):
            dtring.progress(3, total_steps=-1)
        with self.assertRaisesRegex(ValueError, "tokens=.*: not between"):
            dtring.progress(3, tokens=2**70)

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "this Python has no transformers")
    def test_trainer_tells_under_dtlaunch(self):
        from dtring import _huggingface

        with mock.patch.dict(os.environ, {"DTLAUNCH_JOB": "x"}), mock.patch.object(_huggingface, "_names", set()):
            self.assertNotIn("transformers.trainer", sys.modules)
            _huggingface.tell("dtring")
            import transformers.trainer
        kinds = [kind for kind in transformers.trainer.DEFAULT_CALLBACKS if "Dtlaunch" in kind.__name__]
        self.assertEqual(len(kinds), 1)
        told = kinds[0]()
        state = transformers.TrainerState(global_step=5, max_steps=20)
        told.on_log(None, state, None, logs={"loss": 1.5})
        told.on_log(None, state, None, logs={"eval_loss": 9.0})
        told.on_step_end(None, state, None)
        self.assertEqual(shown(), (5, 20, 0, 1.5))
        # In a TrainJob, either transformers tells its server, or dtlaunch, which needs the total for that.
        args = mock.Mock(report_to=["kubeflow"])
        with mock.patch.dict(os.environ, {"KUBEFLOW_TRAINER_SERVER_TOKEN": __file__}):
            told.on_step_end(args, state, None)
            self.assertEqual(shown(), (5, 0, 0, 1.5))
            told.on_step_end(mock.Mock(report_to=[]), state, None)
            self.assertEqual(shown()[1], 20)
        with mock.patch.dict(os.environ, {"KUBEFLOW_TRAINER_SERVER_TOKEN": "/no/such/token"}):
            told.on_step_end(args, state, None)
            self.assertEqual(shown()[1], 20)


if __name__ == "__main__":
    unittest.main()
