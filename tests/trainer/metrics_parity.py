"""The metrics of random predictions against the formulas in numpy.

metrics_parity.py SQUAD_HERE
"""
import json
import subprocess
import sys

import numpy as np


def cross_entropy(logits, labels, smoothing):
    """Against the mixture of the label and of all labels alike."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    losses = np.log(np.exp(shifted).sum(axis=1, keepdims=True)) - shifted
    wanted = np.eye(logits.shape[1])[labels] * (1 - smoothing) + smoothing / logits.shape[1]
    return float(np.mean((wanted * losses).sum(axis=1)))


def f1(truth, answers):
    hits, answered, present = (truth & answers).sum(), answers.sum(), truth.sum()
    return 2 * hits / (answered + present) if answered + present else 0.0


def portion(part, whole):
    return part / whole if whole else 0.0


def of_classes(truth, answers, counted):
    """From a column of booleans for each class; `counted`: the columns that a macro mean has."""
    values = [[f1(t, a), portion((t & a).sum(), a.sum()), portion((t & a).sum(), t.sum())]
              for t, a in zip(truth.T, answers.T)]
    table, names = np.array(values), ("f1", "precision", "recall")
    weights = truth.sum(axis=0)
    macro = table[counted].mean(axis=0) if counted.any() else np.zeros(3)
    weighted = weights @ table / weights.sum() if weights.sum() else np.zeros(3)
    figures = {f"{name}_macro": float(x) for name, x in zip(names, macro)}
    figures.update({f"{name}_weighted": float(x) for name, x in zip(names, weighted)})
    figures.update({f"{name}_class_{c}": float(x) for c, row in enumerate(values) for name, x in zip(names, row)})
    return figures


def matthews(labels, answers):
    """Correlation of the one-hot forms of both sides (Gorodkin 2004), for any number of classes."""
    classes = np.union1d(labels, answers)
    x, y = (np.equal.outer(side, classes).astype(float) for side in (labels, answers))
    covariance = [((p - p.mean(0)) * (q - q.mean(0))).sum() for p, q in ((x, y), (x, x), (y, y))]
    return covariance[0] / np.sqrt(covariance[1] * covariance[2]) if covariance[1] * covariance[2] > 0 else 0.0


def mean_ranks(values):
    """Half of the values below, and of those not above, and one half."""
    return np.array([((values < v).sum() + (values <= v).sum() + 1) / 2 for v in values])


def combined(figures):
    return {**figures, "combined_score": float(np.mean(list(figures.values())))}


def one_label(task, logits, labels, smoothing):
    answers = logits.argmax(axis=1)
    figures = {"accuracy": float(np.mean(answers == labels))}
    if task == "cola":
        figures = {"matthews_correlation": float(matthews(labels, answers))}
    if task in ("mrpc", "qqp"):
        figures = combined({**figures, "f1": float(f1(labels == 1, answers == 1))})
    if not task:
        columns = np.arange(logits.shape[1])
        truth, said = (np.equal.outer(side, columns) for side in (labels, answers))
        figures.update(of_classes(truth, said, (truth | said).any(axis=0)))
    return {"loss": cross_entropy(logits.astype(float), labels, smoothing), **figures}


def several_labels(logits, targets):
    x = logits.astype(float)
    loss = np.mean(np.logaddexp(0, x) - x * targets)
    truth, answers = targets > 0, logits > 0
    return {"loss": float(loss), "f1": float(f1(truth, answers)),
            **of_classes(truth, answers, np.full(logits.shape[1], True))}


def numbers(task, logits, targets):
    x, t = logits[:, 0].astype(float), targets[:, 0].astype(float)
    squares = float(np.mean((x - t) ** 2))
    figures = {"mse": squares}
    if task == "stsb":
        figures = combined({"pearson": float(np.corrcoef(x, t)[0, 1]),
                            "spearmanr": float(np.corrcoef(mean_ranks(x), mean_ranks(t))[0, 1])})
    return {"loss": squares, **figures}


def cases(generator):
    """Yields (request, expected); half of the numbers are rounded so that there are ties."""
    for number in range(300):
        count, classes = int(generator.integers(2, 200)), int(generator.integers(2, 6))
        logits, smoothing = generator.normal(0, 3, (count, classes)).astype(np.float32), 0.0
        task = str(generator.choice(["", "mrpc", "qqp", "cola", "sst2", "mnli", "stsb", "several"]))
        if task == "stsb" or number % 10 == 0:
            logits, task = logits[:, :1], "stsb" if task == "stsb" else ""
            targets = (generator.normal(0, 2, (count, 1)) + logits).astype(np.float32)
            if number % 2:
                logits, targets = np.round(logits), np.round(targets)
            if np.ptp(logits) == 0 or np.ptp(targets) == 0:
                continue  # no correlation
            problem, labels, expected = 2, [], numbers(task, logits, targets)
        elif task == "several":
            targets = generator.integers(0, 2, (count, classes)).astype(np.float32)
            problem, task, labels = 1, "", []
            expected = several_labels(logits, targets)
        else:
            labels = generator.integers(0, classes, count)
            smoothing = float(generator.choice([0, 0.1, 0.5, 1]))
            problem, targets = 0, np.zeros(0)
            expected = one_label(task, logits, labels, smoothing)
            labels = labels.tolist()
        yield {"task": task, "problem": problem, "labels": labels, "targets": targets.ravel().tolist(),
               "logits": logits.ravel().tolist(), "smoothing": smoothing,
               "classes": logits.shape[1]}, expected


def main():
    given = list(cases(np.random.default_rng(1)))
    text = "".join(json.dumps(request) + "\n" for request, _ in given)
    answers = subprocess.run([sys.argv[1], "lines"], input=text.encode(), stdout=subprocess.PIPE,
                             check=True).stdout.splitlines()
    wrong, seen = 0, {}
    for (request, expected), line in zip(given, answers):
        mine = json.loads(line)
        seen.update(dict.fromkeys(expected))
        if list(mine) != list(expected) or any(abs(mine[k] - expected[k]) > 1e-9 * max(1, abs(expected[k]))
                                               for k in expected):
            wrong += 1
            print(f"{request['task']} {request['problem']}: ours {mine}, expected {expected}")
    print(f"{len(given)} cases compared in {', '.join(seen)}; {wrong} differ")
    if wrong or len(answers) != len(given) or len(seen) < 8:
        sys.exit("the metrics differ")


main()
