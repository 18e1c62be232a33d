"""Whether runs of one job with several backends agree. usage: agree.py SCORE LEAST RUN=BACKEND...

RUN.out has what the ranks wrote, an object of JSON each. Within a run all ranks have the same bits. Between
runs everything else is the same on each rank, as near as sums in another order are, and the SCORE is at
LEAST so much: who has learnt nothing agrees without having trained. Where a folder RUN has a model and
predictions, these are compared, too.
"""

import json
import os
import re
import sys

NEAR = 1e-4


def rows_of(run, backend):
    """What each rank says, without what only this run has."""
    with open(run + ".out", encoding="utf-8") as file:
        text = file.read()
    # torchrun's ranks write into one file, where one rank's line may end after the start of the next.
    begins = [found.start() for found in re.finditer(r'{"rank"', text)]
    rows = sorted((json.JSONDecoder().raw_decode(text, begin)[0] for begin in begins), key=lambda row: row["rank"])
    assert rows and [row["rank"] for row in rows] == list(range(rows[0]["world"])), (run, rows)
    assert {row["backend"] for row in rows} == {backend}, (run, rows)
    assert len({row["bits"] for row in rows}) == 1, ("ranks have different parameters", run, rows)
    return [{name: value for name, value in row.items() if name not in ("backend", "bits")} for row in rows]


def far(one, other):
    """How far two values of JSON are from each other; infinitely where their shapes differ."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return max(map(far, one, other), default=0.0)
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return max(far(one[name], other[name]) for name in one)
    return 0.0 if one == other else float("inf")


def compare_folders(one, other):
    with open(os.path.join(one, "predictions.json"), encoding="utf-8") as file:
        predictions = file.read()
    with open(os.path.join(other, "predictions.json"), encoding="utf-8") as file:
        assert predictions == file.read(), (one, other, "predictions differ")
    from safetensors.torch import load_file
    ours, theirs = (load_file(os.path.join(folder, "model.safetensors")) for folder in (one, other))
    assert ours.keys() == theirs.keys()
    # Adam scales pure rounding noise up to the size of gradients. These parameters shift all logits
    # equally, which a softmax ignores.
    unseen = ("key.bias",)
    if "qa_outputs.bias" in theirs:
        unseen += ("qa_outputs.bias", "layer.1.output.LayerNorm.bias")
    return max((ours[name] - value).abs().max().item() for name, value in theirs.items()
               if not name.endswith(unseen))



def main():
    score, least = sys.argv[1], float(sys.argv[2])
    runs = [word.split("=") for word in sys.argv[3:]]
    found = {run: rows_of(run, backend) for run, backend in runs}
    first = runs[0][0]
    assert found[first][0][score] >= least, (score, found[first])
    print(f"{first}: {found[first][0]}")
    for run, _ in runs[1:]:
        worst = {"rows": far(found[run], found[first])}
        if os.path.isdir(run):
            worst["parameters"] = compare_folders(first, run)
        assert max(worst.values()) <= NEAR, (first, run, worst, found)
        print(f"{run} beside it: " + ", ".join(f"{name} {value:.2g}" for name, value in worst.items()))


main()
