"""Weight files as torch.save writes them, and transformers' schedules and optimizers.
Usage: state_parity.py STATE_HERE
Besides the torch of this Python, that of /usr/bin/python3 writes files, where there is one."""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import zipfile

import torch
import transformers
from safetensors.torch import load_file, save_file

WRITER = r"""
import sys, torch
from collections import OrderedDict
folder, prefix = sys.argv[1:]
torch.manual_seed(3)
model = torch.nn.ModuleDict({"a": torch.nn.Linear(5, 7), "norm": torch.nn.LayerNorm(7)})
model.register_buffer("position_ids", torch.arange(9))
model["tied"] = torch.nn.Linear(5, 7)
model["tied"].weight = model["a"].weight
state = model.state_dict()
wide = torch.randn(6, 8, 3)
views = OrderedDict(transposed=wide.transpose(0, 2), sliced=wide[1:5, ::3], narrow=wide[:, 2, :],
                    scalar=torch.tensor(2.5), empty=torch.zeros(0, 4), expanded=wide[0, 0, 0].expand(1, 1),
                    half=wide.half(), bfloat=wide.bfloat16(), double=wide.double(),
                    flags=wide > 0, small=torch.tensor([7], dtype=torch.uint8),
                    special=torch.tensor([float("inf"), -0.0, 6e-8, 65504.0]).half())
views["nothing"] = None
views["epoch"] = 3
torch.save(state, f"{folder}/{prefix}.state.bin")
torch.save(state, f"{folder}/{prefix}.state_old.bin", _use_new_zipfile_serialization=False)
torch.save(views, f"{folder}/{prefix}.views.bin")
torch.save(dict(model.named_parameters()), f"{folder}/{prefix}.parameters.bin")
torch.save(dict(model.named_parameters()), f"{folder}/{prefix}.parameters4.bin", pickle_protocol=4)
torch.save(views, f"{folder}/{prefix}.views_old.bin", _use_new_zipfile_serialization=False)
"""


def read_here(program, path, folder):
    out = os.path.join(folder, "out.safetensors")
    done = subprocess.run([program, "tensors", path, out], capture_output=True, text=True)
    return done, load_file(out) if done.returncode == 0 else None


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def compare(program, path, folder):
    done, found = read_here(program, path, folder)
    expect(done.returncode == 0, f"{path}: {done.stderr}")
    expected = {name: value.detach().float() for name, value in torch.load(path, weights_only=False).items()
                if torch.is_tensor(value) and value.is_floating_point()}
    expect(found.keys() == expected.keys(), f"{path}: {found.keys()} instead of {expected.keys()}")
    for name, value in expected.items():
        same = found[name].shape == value.shape and torch.equal(found[name], value)
        expect(same, f"{path}: {name} differs")
    print(f"  {os.path.basename(path)}: {len(found)} tensors equal")


def write_with(python, folder, prefix):
    done = subprocess.run([python, "-c", WRITER, folder, prefix], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"  {python} writes no files: {done.stderr.strip().splitlines()[-1]}")
    return done.returncode == 0


class Attack:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


def try_attacks(program, folder):
    marker = os.path.join(folder, "attacked")
    state = {"x": torch.ones(3), "y": Attack(marker)}
    paths = []
    for protocol in (2, 4):
        for new in (True, False):
            path = os.path.join(folder, f"attack{protocol}{new}.bin")
            torch.save(state, path, pickle_protocol=protocol, _use_new_zipfile_serialization=new)
            paths.append(path)
    path = os.path.join(folder, "attack0.bin")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", pickle.dumps(Attack(marker), 0))
    for path in paths + [path]:
        done, _ = read_here(program, path, folder)
        expect(done.returncode == 65 and "refuses to run 'posix.system'" in done.stderr,
               f"{path}: status {done.returncode}, {done.stderr}")
        expect(not os.path.exists(marker), f"{path} ran its code")
    print(f"  {len(paths) + 1} files that want to run os.system are refused")


def try_pieces(program, folder):
    """Models in several files, by transformers itself and by hand."""
    config = transformers.BertConfig(hidden_size=36, num_hidden_layers=2, num_attention_heads=3,
                                     intermediate_size=53, vocab_size=99)
    model = transformers.BertForSequenceClassification(config)
    saved = os.path.join(folder, "pieces")
    model.save_pretrained(saved, max_shard_size="40KB")
    index = os.path.join(saved, "model.safetensors.index.json")
    done, found = read_here(program, index, folder)
    expect(done.returncode == 0, done.stderr)
    state = model.state_dict()
    for name, value in found.items():
        expect(torch.equal(value, state[name]), f"{name} differs")
    expect(found.keys() == {n for n, v in state.items() if v.is_floating_point()}, "other names")
    print(f"  a model in {len(os.listdir(saved)) - 2} pieces is whole again")
    for kind in (torch.float16, torch.bfloat16):
        path = os.path.join(folder, "small.safetensors")
        save_file({"x": torch.randn(500).to(kind)}, path)
        done, found = read_here(program, path, folder)
        expect(torch.equal(found["x"], load_file(path)["x"].float()), f"{kind} differs")


# Schedule -> the --lr_scheduler_kwargs to test.
SCHEDULES = {
    "linear": [{}], "cosine": [{}, {"num_cycles": 1.25}], "constant": [{}], "constant_with_warmup": [{}],
    "cosine_with_restarts": [{}, {"num_cycles": 3}],
    "polynomial": [{}, {"power": 2.5, "lr_end": 1e-5}],
    "inverse_sqrt": [{}, {"timescale": 25}],
    "cosine_with_min_lr": [{"min_lr_rate": 0.1}, {"min_lr": 1e-4, "num_cycles": 2}],
    "cosine_warmup_with_min_lr": [{"min_lr_rate": 0.1}, {"min_lr": 1e-4, "warmup_lr_rate": 0.3}],
    "warmup_stable_decay": [{"num_decay_steps": 9}] + [
        {"num_decay_steps": 11, "num_stable_steps": 12, "min_lr_ratio": 0.05, "warmup_type": warmup,
         "decay_type": decay} for warmup, decay in (("linear", "1-sqrt"), ("cosine", "linear"), ("1-sqrt", "cosine"))],
}
RATE = 1e-3


def compare_schedules(program):
    for name, shapes in SCHEDULES.items():
        for shape in shapes:
            for warmup, total in ((0, 1), (0, 40), (7, 40), (40, 40), (50, 40)):
                optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=RATE)
                scheduler = transformers.get_scheduler(name, optimizer, num_warmup_steps=warmup,
                                                       num_training_steps=total,
                                                       scheduler_specific_kwargs=dict(shape))
                factors = scheduler.lr_lambdas[0]
                done = subprocess.run(
                    [program, "schedule", str(total), "--lr_scheduler_type", name, "--lr_scheduler_kwargs",
                     json.dumps(shape), "--warmup_steps", str(warmup), "--learning_rate", str(RATE)],
                    capture_output=True, text=True)
                expect(done.returncode == 0, f"{name} {shape}: {done.stderr}")
                for step, text in enumerate(done.stdout.split()[:total]):  # for steps that a run makes
                    expect(abs(float(text) - factors(step)) < 2e-15,
                           f"{name} {shape}, warmup {warmup} of {total}, step {step}: {text}, {factors(step)}")
    print(f"  {len(SCHEDULES)} schedules equal")


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of "Symbolic Discovery of Optimization Algorithms", Chen et al. 2023. state["unsure"]: where the two
    terms have cancelled but for rounding, so that the sign of their sum was anyone's."""

    def __init__(self, params, lr, betas, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                kept, new = beta1 * m, (1 - beta1) * p.grad
                update = torch.sign(kept + new)
                self.state[p]["unsure"] = (self.state[p].get("unsure", False)
                                           | ((kept + new).abs() < 1e-6 * new.abs()))
                p -= group["lr"] * (update + group["weight_decay"] * p)
                m.mul_(beta2).add_(p.grad, alpha=1 - beta2)


# Options -> the same in Python.
OPTIMIZERS = [
    (["--optim", "adamw_torch"], lambda groups: torch.optim.AdamW(groups, lr=RATE)),
    (["--optim", "sgd"], lambda groups: torch.optim.SGD(groups, lr=RATE)),
    (["--optim", "sgd", "--optim_args", "momentum=0.9"], lambda groups: torch.optim.SGD(groups, lr=RATE, momentum=0.9)),
    (["--optim", "sgd", "--optim_args", "momentum=0.8,dampening=0.3"],
     lambda groups: torch.optim.SGD(groups, lr=RATE, momentum=0.8, dampening=0.3)),
    (["--optim", "sgd", "--optim_args", "momentum=0.9,nesterov=true"],
     lambda groups: torch.optim.SGD(groups, lr=RATE, momentum=0.9, nesterov=True)),
    (["--optim", "adafactor"], lambda groups: transformers.optimization.Adafactor(
        groups, lr=RATE, scale_parameter=False, relative_step=False)),
    (["--optim", "lion_32bit", "--adam_beta2", "0.99"], lambda groups: Lion(groups, lr=RATE, betas=(0.9, 0.99))),
]
STEPS, DECAY = 12, 0.1


def compare_optimizers(program, folder):
    """Tensors of many shapes, one with rows that have no gradient, one larger than a thread's piece."""
    torch.manual_seed(11)
    shapes = {"a.weight": (37, 53), "a.bias": (37,), "b": (1, 29), "c": (3, 1), "large": (700, 300), "word": (400, 24)}
    start = {name: torch.randn(shape) * 0.1 for name, shape in shapes.items()}
    gradients = []
    for step in range(STEPS):
        now = {name: torch.randn(shape) * 0.3 ** (step % 3) for name, shape in shapes.items()}
        now["word"][torch.rand(400) < 0.8] = 0
        gradients.append(now)
    path, out = os.path.join(folder, "steps.safetensors"), os.path.join(folder, "after.safetensors")
    save_file({f"p.{n}": t for n, t in start.items()} |
              {f"g{i}.{n}": t for i, now in enumerate(gradients) for n, t in now.items()}, path)
    for options, make in OPTIMIZERS:
        tensors = {name: torch.nn.Parameter(t.clone()) for name, t in start.items()}
        matrices = [t for t in tensors.values() if t.dim() == 2]
        optimizer = make([dict(params=matrices, weight_decay=DECAY),
                          dict(params=[t for t in tensors.values() if t.dim() == 1], weight_decay=0.0)])
        scheduler = transformers.get_scheduler("linear", optimizer, 0, STEPS)
        for now in gradients:
            for name, t in tensors.items():
                t.grad = now[name].clone()
            torch.nn.utils.clip_grad_norm_(tensors.values(), 1.0)
            optimizer.step()
            scheduler.step()
        done = subprocess.run([program, "optimize", path, out, str(STEPS), *options, "--learning_rate", str(RATE),
                               "--weight_decay", str(DECAY)], capture_output=True, text=True)
        expect(done.returncode == 0, f"{options}: {done.stderr}")
        after = load_file(out)
        for name, t in tensors.items():
            moved = (t.detach() - start[name]).abs().max().item()
            far = (after[name] - t.detach()).abs()
            unsure = optimizer.state[t].get("unsure", torch.zeros_like(far, dtype=torch.bool))
            expect(unsure.sum() <= 5, f"{options}: {name}: {unsure.sum()} values of unsure sign")
            worst = far[~unsure].max().item()
            expect(worst < 2e-7 + 2e-5 * moved, f"{options}: {name} differs by {worst}, having moved by {moved}")
    print(f"  {len(OPTIMIZERS)} optimizers equal")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for python in (sys.executable, "/usr/bin/python3"):
            prefix = "new" if python == sys.executable else "system"
            if write_with(python, folder, prefix):
                for kind in ("state", "state_old", "views", "views_old", "parameters",
                             "parameters4"):
                    compare(program, os.path.join(folder, f"{prefix}.{kind}.bin"), folder)
            else:
                expect(python != sys.executable, "no torch")
        try_attacks(program, folder)
        try_pieces(program, folder)
        compare_optimizers(program, folder)
    compare_schedules(program)


main()
