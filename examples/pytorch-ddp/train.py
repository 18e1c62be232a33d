"""Train a small classifier with DistributedDataParallel: which language is a word from?

Nothing here is particular to dtlaunch: ranks meet through env://, as under torchrun.
"""

import argparse
import csv
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

ALPHABET = " abcdefghijklmnopqrstuvwxyząćęłńóśźżäöüß"  # 0 pads
LANGUAGES = ["finnish", "german", "italian", "polish"]
LENGTH = 16  # letters of a word that count


def read_words(path):
    """Letters (words, LENGTH) and languages (words)."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    words = [row["word"].ljust(LENGTH)[:LENGTH] for row in rows]
    letters = torch.tensor([[ALPHABET.index(letter) for letter in word] for word in words])
    return TensorDataset(letters, torch.tensor([LANGUAGES.index(row["language"]) for row in rows]))


class WordModel(nn.Module):
    """Looks at every three neighbouring letters, and takes the strongest sign of each kind."""

    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(len(ALPHABET), 32, padding_idx=0)
        self.triples = nn.Conv1d(32, 128, kernel_size=3, padding=1)
        self.languages = nn.Linear(128, len(LANGUAGES))

    def forward(self, words):
        signs = torch.relu(self.triples(self.letters(words).transpose(1, 2)))
        return self.languages(signs.amax(dim=2))


def train_epoch(model, optimizer, loader, epoch):
    """Return the mean loss over all ranks."""
    loader.sampler.set_epoch(epoch)
    total = torch.zeros(())
    for words, languages in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(words), languages)
        loss.backward()  # sums the gradients of all ranks
        optimizer.step()
        total += loss.detach()
    dist.all_reduce(total)
    return total.item() / len(loader) / dist.get_world_size()


def count_right(model, words, languages):
    """Each rank looks at its share of the words; return the sum over all ranks."""
    share = slice(dist.get_rank(), None, dist.get_world_size())
    with torch.no_grad():
        right = (model(words[share]).argmax(dim=1) == languages[share]).sum()
    dist.all_reduce(right)
    return right.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="gloo", help="gloo or dtring")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--output", default="model.pt")
    arguments = parser.parse_args()
    if arguments.backend == "dtring":
        import dtring  # noqa: F401  registers the backend
    dist.init_process_group(arguments.backend)
    print(f"rank {dist.get_rank()} of {dist.get_world_size()} on {os.uname().nodename}, "
          f"backend {dist.get_backend()}", flush=True)
    dist.barrier()

    torch.manual_seed(0)
    model = DistributedDataParallel(WordModel())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    train = read_words("train.csv")
    sampler = DistributedSampler(train, seed=1)
    loader = DataLoader(train, batch_size=16 // dist.get_world_size(), sampler=sampler)
    for epoch in range(1, arguments.epochs + 1):
        loss = train_epoch(model, optimizer, loader, epoch)
        if dist.get_rank() == 0 and epoch % 10 == 0:
            print(f"epoch {epoch}: loss {loss:.3f}", flush=True)

    words, languages = read_words("validation.csv").tensors
    right = count_right(model.module, words, languages)
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), arguments.output)
        print(f"right: {right} of {len(words)} words it has not seen", flush=True)
    dist.destroy_process_group()
    time.sleep(0.3)  # torch 2.13: a thread of gloo's may outlive Python, and abort the process


if __name__ == "__main__":
    main()
