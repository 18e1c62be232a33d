"""The metrics of random predictions against scikit-learn and formulas in numpy.

metrics_parity.py SQUAD_HERE [CASES]
"""
import json
import subprocess
import sys
import warnings

import numpy as np

try:
    import sklearn
    from sklearn import metrics
except ImportError:
    print("skipped: DTL_TEST_PYTHON has no scikit-learn")
    sys.exit(77)


def cross_entropy(logits, labels, smoothing, weights):
    """Against the mixture of the label and of all labels alike."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    losses = np.log(np.exp(shifted).sum(axis=1, keepdims=True)) - shifted
    wanted = np.eye(logits.shape[1])[labels] * (1 - smoothing) + smoothing / logits.shape[1]
    return float((wanted * losses * weights).sum() / weights[labels].sum())


def softmax(logits):
    """The sum in the order of size: what labels are called breaks no ties."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / np.sort(powers, axis=1).sum(axis=1, keepdims=True)


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


def one_label_areas(logits, labels):
    classes = logits.shape[1]
    scores = softmax(logits.astype(float))
    if classes == 2:
        return {"roc_auc": metrics.roc_auc_score(labels, scores[:, 1])}
    return {f"roc_auc_{mean}": metrics.roc_auc_score(labels, scores, labels=range(classes), average=mean,
                                                     multi_class="ovr") for mean in ("macro", "weighted")}


def on_demand(chosen, labels, answers, classes):
    """A figure that only --metric_name asks for."""
    name, _, mean = chosen.partition("_")
    figure = {"f1": metrics.f1_score, "precision": metrics.precision_score, "recall": metrics.recall_score}[name]
    if mean == "micro":
        return figure(labels, answers, labels=range(classes), average="micro", zero_division=0)
    return figure(labels, answers, average="binary", zero_division=0)


def one_label(task, logits, labels, smoothing, weights, chosen):
    answers = logits.argmax(axis=1)
    classes = logits.shape[1]
    figures = {"accuracy": float(np.mean(answers == labels))}
    if task == "cola":
        figures = {"matthews_correlation": float(matthews(labels, answers))}
    if task in ("mrpc", "qqp"):
        figures = combined({**figures, "f1": float(f1(labels == 1, answers == 1))})
    if not task:
        columns = np.arange(logits.shape[1])
        truth, said = (np.equal.outer(side, columns) for side in (labels, answers))
        figures["balanced_accuracy"] = metrics.balanced_accuracy_score(labels, answers)
        figures["matthews_correlation"] = metrics.matthews_corrcoef(labels, answers)
        figures.update(one_label_areas(logits, labels))
        figures.update(of_classes(truth, said, (truth | said).any(axis=0)))
    if chosen:
        figures = {chosen: on_demand(chosen, labels, answers, classes), **figures}
    return {"loss": cross_entropy(logits.astype(float), labels, smoothing, weights), **figures}


def several_labels(logits, targets, weights, cut, chosen):
    x = logits.astype(float)
    loss = np.mean(weights * targets * np.logaddexp(0, -x) + (1 - targets) * np.logaddexp(0, x))
    truth, answers = targets > 0, logits > np.float32(cut)
    figures = {"f1": metrics.f1_score(truth, answers, average="micro", zero_division=0),
               "subset_accuracy": metrics.accuracy_score(truth, answers),
               "hamming_loss": metrics.hamming_loss(truth, answers)}
    for mean in ("macro", "micro"):
        figures[f"roc_auc_{mean}"] = metrics.roc_auc_score(truth, x, average=mean)
    for mean in ("macro", "micro"):
        figures[f"average_precision_{mean}"] = metrics.average_precision_score(truth, x, average=mean)
    figures.update(of_classes(truth, answers, np.full(logits.shape[1], True)))
    if chosen == "roc_auc_weighted":
        figures = {chosen: metrics.roc_auc_score(truth, x, average="weighted"), **figures}
    return {"loss": float(loss), **figures}


def numbers(task, logits, targets, chosen):
    x, t = logits[:, 0].astype(float), targets[:, 0].astype(float)
    squares = float(np.mean((x - t) ** 2))
    figures = {"mse": squares}
    if task == "stsb":
        figures = combined({"pearson": float(np.corrcoef(x, t)[0, 1]),
                            "spearmanr": float(np.corrcoef(mean_ranks(x), mean_ranks(t))[0, 1])})
    if chosen:
        demanded = {"mae": metrics.mean_absolute_error, "r2": metrics.r2_score,
                    "rmse": metrics.root_mean_squared_error}[chosen](t, x)
        figures = {chosen: demanded, **figures}
    return {"loss": squares, **figures}


def case(generator, number):
    """A request and what it gives; half of the numbers are rounded so that there are ties."""
    count, classes = int(generator.integers(2, 200)), int(generator.integers(2, 6))
    if number % 7 == 0:
        count = int(generator.integers(2, 6))  # labels that nobody has, or only one
    logits, smoothing, cut, chosen = generator.normal(0, 3, (count, classes)).astype(np.float32), 0.0, 0.0, ""
    if number % 2:
        logits = np.round(logits)
    weights = generator.uniform(0.2, 5, classes) if number % 3 == 0 else np.ones(classes)
    task = str(generator.choice(["", "", "mrpc", "qqp", "cola", "sst2", "mnli", "stsb", "several", "several"]))
    labels, targets = [], np.zeros(0)
    if task == "stsb" or number % 10 == 0:
        logits, task = logits[:, :1], "stsb" if task == "stsb" else ""
        targets = (generator.normal(0, 2, (count, 1)) + logits).astype(np.float32)
        if number % 2:
            targets = np.round(targets)
        if np.ptp(logits) == 0 or np.ptp(targets) == 0:
            return None  # no correlation
        chosen = str(generator.choice(["", "mae", "r2", "rmse"]))
        problem, expected = 2, numbers(task, logits, targets, chosen)
    elif task == "several":
        targets = generator.integers(0, 2, (count, classes)).astype(np.float32)
        if number % 5 == 0:
            targets *= generator.integers(0, 2, (1, classes))  # labels that nobody has
        cut, chosen = float(generator.choice([0, 0.5, -1])), str(generator.choice(["", "roc_auc_weighted"]))
        problem, task = 1, ""
        expected = several_labels(logits, targets, weights, cut, chosen)
    else:
        labels = generator.integers(0, int(generator.integers(1, classes + 1)), count)
        smoothing = float(generator.choice([0, 0.1, 0.5, 1]))
        names = ["", "f1_micro", "precision_micro", "recall_micro"]
        chosen = str(generator.choice(names + (["f1", "precision", "recall"] if classes == 2 else [])))
        if chosen == "f1" and task in ("mrpc", "qqp"):
            chosen = ""  # it has that
        problem, expected = 0, one_label(task, logits, labels, smoothing, weights, chosen)
        labels = labels.tolist()
    request = {"task": task, "problem": problem, "labels": labels, "targets": targets.ravel().tolist(),
               "logits": logits.ravel().tolist(), "smoothing": smoothing, "classes": logits.shape[1],
               "cut": cut, "metric_name": chosen}
    if number % 3 == 0 and problem != 2:
        request["label_weights"] = weights.tolist()
    return request, expected


def same(mine, expected):
    """Python writes a number that is none as null."""
    if mine is None or np.isnan(expected):
        return mine is None and np.isnan(expected)
    return abs(mine - expected) <= 1e-9 * max(1, abs(expected))


def main():
    warnings.filterwarnings("ignore")  # of labels that nobody has
    # What scikit-learn checks takes longer than what it computes.
    sklearn.set_config(assume_finite=True, skip_parameter_validation=True)
    generator = np.random.default_rng(1)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 800  # scikit-learn takes 6 ms for each
    given = [made for made in (case(generator, number) for number in range(count)) if made]
    text = "".join(json.dumps(request) + "\n" for request, _ in given)
    answers = subprocess.run([sys.argv[1], "lines"], input=text.encode(), stdout=subprocess.PIPE,
                             check=True).stdout.splitlines()
    wrong, seen, undefined = 0, {}, 0
    for (request, expected), line in zip(given, answers):
        mine = json.loads(line)
        seen.update(dict.fromkeys(expected))
        undefined += None in mine.values()
        if list(mine) != list(expected) or not all(same(mine[k], expected[k]) for k in expected):
            wrong += 1
            if wrong < 10:
                print(f"{request['task']} {request['problem']}: ours {mine}, expected {expected}")
    print(f"{len(given)} cases compared in {', '.join(seen)}; {undefined} with undefined ones; {wrong} differ")
    if wrong or len(answers) != len(given) or len(seen) < 30 or not undefined:
        sys.exit("the metrics differ")


main()
