"""A training loop as users of accelerate write it: prepare, accumulate, gather_for_metrics, save.

It knows nothing of dtlaunch, nor that it computes on the CPU, and of dtring only the backend's name on its
command line.
"""

import argparse
import hashlib
import json
import os

import torch
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs, set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CLASSES, WIDTH, TRAINING, EVALUATION = 3, 12, 256, 37  # 37: unequal shares for any number of ranks


def data(count, seed):
    """Points around the centre of their class."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=draw)
    centres = torch.eye(CLASSES, WIDTH) * 3
    return TensorDataset(centres[labels] + torch.randn(count, WIDTH, generator=draw), labels)


def evaluate(accelerator, model, loader):
    """The answers for every example once, and how many are right."""
    model.eval()
    answers, labels = [], []
    for points, expected in loader:
        with torch.no_grad():
            found = model(points).argmax(-1)
        found, expected = accelerator.gather_for_metrics((found, expected))
        answers += found.tolist()
        labels += expected.tolist()
    return answers, sum(map(int.__eq__, answers, labels)) / len(labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", help="of torch.distributed; by default accelerate's choice")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--output_dir", default="accelerated")
    arguments = parser.parse_args()
    handlers = [InitProcessGroupKwargs(backend=arguments.backend)] if arguments.backend else []
    accelerator = Accelerator(gradient_accumulation_steps=2, kwargs_handlers=handlers)
    set_seed(3)
    model = nn.Sequential(nn.Linear(WIDTH, 32), nn.LayerNorm(32), nn.Tanh(), nn.Linear(32, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 8, 0.5)
    model, optimizer, schedule, training, evaluation = accelerator.prepare(
        model, optimizer, schedule, DataLoader(data(TRAINING, 1), batch_size=8, shuffle=True),
        DataLoader(data(EVALUATION, 2), batch_size=8))
    losses = []
    for _ in range(arguments.epochs):
        model.train()
        for points, labels in training:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(points), labels)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            losses.append(accelerator.reduce(loss.detach(), "mean").item())
    answers, accuracy = evaluate(accelerator, model, evaluation)
    # Save and load a checkpoint: every rank reads what the first rank wrote.
    accelerator.save_state(os.path.join(arguments.output_dir, "state"))
    accelerator.wait_for_everyone()
    before = [value.clone() for value in model.parameters()]
    with torch.no_grad():
        for value in model.parameters():
            value.zero_()
    accelerator.load_state(os.path.join(arguments.output_dir, "state"))
    assert all(torch.equal(*pair) for pair in zip(before, model.parameters())), "the state was lost"
    bits = hashlib.sha256(b"".join(value.detach().numpy().tobytes() for value in model.parameters()))
    state = accelerator.state
    print(json.dumps({"rank": state.process_index, "local_rank": state.local_process_index,
                      "world": state.num_processes, "type": state.distributed_type.value,
                      "backend": torch.distributed.get_backend(), "losses": losses, "answers": answers,
                      "accuracy": accuracy, "bits": bits.hexdigest()[:16]}), flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
