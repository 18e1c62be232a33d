#!/usr/bin/env python3
"""report.html as people see it, in Debian's headless Chromium: at three widths, light and dark, after a
normal, a resumed, a repeated and a SQuAD run, and one that ends with an earlier step's model, nothing
is cut, hidden, fetched or complained about, and what the page shows is what the JSON files say. First
it is shown that each of these faults would be found. Usage: report_in_browser.py WRITE_OUTPUTS DTTRAIN [FOLDER for pictures of the pages]"""
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from browser import Browser, find_browser  # noqa: E402

PROBE = (Path(__file__).parent / "report_probe.js").read_text()
WIDTHS, SCHEMES = (400, 800, 1600), ("light", "dark")
UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
WORDS = [a + b for a in ("ka", "lo", "mi", "ru", "te", "zu") for b in ("n", "r", "s", "t", "la", "vo")]
# The chart's title, and for each of its curves the key in log_history.
CHARTS = {"Loss": ["loss", "eval_loss"], "Learning rate": ["learning_rate"],
          "Gradient norm": ["grad_norm"], "Throughput": ["tokens_per_second"]}
EVALUATION_TIME = re.compile(r"eval_(runtime|.*_per_second)")


# ---- runs

def run(program, *arguments):
    command = [program, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def write_texts(path, count, seed):
    source = random.Random(seed)
    rows = [(label := source.randrange(2), " ".join([WORDS[label], *source.choices(WORDS, k=8)]))
            for _ in range(count)]
    path.write_text("label\tsentence\n" + "".join(f"{label}\t{text}\n" for label, text in rows))


def write_questions(path, count, seed):
    source, paragraphs = random.Random(seed), []
    for number in range(count):
        words = source.choices(WORDS, k=source.randint(4, 40))
        at = source.randrange(1, len(words))
        answer = {"text": words[at], "answer_start": len(" ".join(words[:at])) + 1}
        paragraphs.append({"context": " ".join(words), "qas": [{
            "id": f"q{number}", "question": words[at - 1],
            "answers": [answer] if number % 5 else [], "is_impossible": number % 5 == 0}]})
    path.write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}))


def make_runs(dttrain, folder):
    """The output folders, by what kind of run they are of."""
    write_texts(folder / "train.tsv", 200, 1)
    write_texts(folder / "dev.tsv", 50, 2)
    write_questions(folder / "train.json", 60, 3)
    write_questions(folder / "dev.json", 30, 4)
    model = folder / "a-model-whose-name-is-longer-than-the-screen-of-a-telephone-is-wide"
    run(dttrain, "init", "--train_file", folder / "train.tsv", "--output_dir", model,
        "--hidden_size", 32, "--intermediate_size", 64)
    common = ["--model_name_or_path", model, "--do_train", "--do_eval", "--learning_rate", "1e-3",
              "--eval_strategy", "steps", "--eval_steps", 10]
    texts = common + ["--train_file", folder / "train.tsv", "--validation_file", folder / "dev.tsv",
                      "--max_steps", 40, "--logging_steps", 4, "--save_steps", 20]
    outputs = {kind: folder / kind for kind in ("normal", "resumed", "best", "repeated", "squad")}
    run(dttrain, *texts, "--output_dir", outputs["normal"])
    run(dttrain, *texts, "--output_dir", outputs["resumed"],
        "--resume_from_checkpoint", outputs["normal"] / "checkpoint-20")
    told = run(dttrain, *texts, "--output_dir", outputs["best"], "--load_best_model_at_end",
               "--metric_for_best_model", "loss", "--greater_is_better",
               "--report_examples", 0)
    if "checkpoint-20 (loss" not in told:
        sys.exit(f"the earlier of two models was not to be the best: {told}")
    for _ in range(2):
        run(dttrain, *texts, "--output_dir", outputs["repeated"])
    run(dttrain, *common, "--train_file", folder / "train.json", "--validation_file",
        folder / "dev.json", "--version_2_with_negative", "--max_seq_length", 48, "--doc_stride", 8,
        "--max_steps", 70, "--logging_steps", 1, "--output_dir", outputs["squad"])
    return outputs


# ---- compares a page with the files

def shown(text):
    """The number that a text begins with, and by how much it may be off by its rounding."""
    match = re.match(r"(-?\d+(?:\.(\d+))?)(?:e(-?\d+))?(?:\s?([kMGTP])(?![a-z]))?", text)
    scale = 10.0 ** int(match[3] or 0) * UNITS.get(match[4], 1)
    return float(match[1]) * scale, 0.501 * scale * 10.0 ** -len(match[2] or "")


def agrees(text, value):
    number, tolerance = shown(text)
    return abs(number - value) <= tolerance + 1e-12 * abs(value)


def check_rows(what, rows, values, file):
    faults = []
    if sorted(name for name, _ in rows) != sorted(values):
        odd = sorted(set(values) ^ set(dict(rows)))
        faults.append(f"figures: {what} and {file} do not both have {odd}")
    for name, text in rows:
        value = values.get(name)
        wanted = value if isinstance(value, str) else json.dumps(value)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if name in values and text != wanted and not (number and agrees(text, value)):
            faults.append(f"figures: {name} is '{text}', {file} says {wanted}")
    return faults


def scale(ticks):
    """From pixels to what an axis shows; and a pixel in its units."""
    (first, begin), (last, end) = ticks[0], ticks[-1]
    low, high = shown(first)[0], shown(last)[0]
    unit = (high - low) / (end - begin)
    return lambda pixel: low + (pixel - begin) * unit, abs(unit)


def check_curve(title, chart, curve, points):
    place = f"{title}, {curve['key']}"
    steps = [x for x, _ in curve["points"]]
    if any(a >= b for a, b in zip(steps, steps[1:])):
        return [f"steps: those of {place} do not grow"]
    if len(points) != len(steps):
        return [f"figures: {place} has {len(steps)} points, the log {len(points)}"]
    x_of, x_pixel = scale(chart["x"])
    y_of, y_pixel = scale(chart["y"])
    faults = []
    for (x, y), (step, value) in zip(curve["points"], points):
        if abs(x_of(x) - step) > x_pixel or abs(y_of(y) - value) > 1.5 * y_pixel:
            faults.append(f"figures: {place} shows {y_of(y):g} at {x_of(x):g}, "
                          f"the log has {value} at {step}")
    for dot, (step, value) in zip(curve["dots"], points):
        at, text = dot.split(": ")
        if at != str(step) or not agrees(text, value):
            faults.append(f"figures: a dot of {place} says {dot}, the log has {value} at {step}")
    if not agrees(re.search(r"last: (\S+)", curve["key"])[1].rstrip(")"), points[-1][1]):
        faults.append(f"figures: {place} does not end with {points[-1][1]}")
    return faults


def check_charts(charts, history):
    metrics = sorted({key for row in history for key in row if re.fullmatch(
        r"eval_(?!loss|precision_|recall_|roc_auc|average_precision|balanced_accuracy|subset_accuracy|"
        r"hamming_loss|.*(_class_|(runtime|per_second|total|_thresh|_weighted)$)).*", key)})
    faults = []
    by_title = {chart["title"]: chart for chart in charts}
    for title, keys in {**CHARTS, "Evaluation": metrics}.items():
        chart = by_title.get(title, {"curves": []})
        # Of rows with equal steps, the last may be of the best model, from an earlier step.
        curves = [sorted({row["step"]: row[key] for row in reversed(history) if key in row}.items())
                  for key in keys]
        curves = [points for points in curves if points]
        if len(curves) != len(chart["curves"]):
            faults.append(f"figures: {title} has {len(chart['curves'])} curves, not {len(curves)}")
        for curve, points in zip(chart["curves"], curves):
            faults += check_curve(title, chart, curve, points)
    return faults


def check_figures(page, folder):
    """Compares with the files of a run's folder, and these with the steps it was told to make."""
    def read(name):
        return json.loads((folder / name).read_text())
    state, results = read("trainer_state.json"), read("all_results.json")
    results.pop("epoch")  # it is in the summary
    rows = page["results"]
    if folder.name == "repeated":  # the page stays the training's; a second evaluation has another time
        rows = [(key, text) for key, text in rows if not EVALUATION_TIME.match(key)]
        results = {key: value for key, value in results.items() if not EVALUATION_TIME.match(key)}
    faults = check_rows("the results", rows, results, "all_results.json")
    faults += check_rows("the settings", page["settings"], read("training_args.json"),
                         "training_args.json")
    faults += check_charts(page["charts"], state["log_history"])
    faults += check_evaluation(page, folder, results)
    steps, passes = re.match(r"(\d+) steps, ([\d.]+) passes", page["summary"]).groups()
    if int(steps) != state["global_step"] or not agrees(passes, state["epoch"]):
        faults.append(f"figures: '{page['summary']}', trainer_state.json has step "
                      f"{state['global_step']}, epoch {state['epoch']}")
    logged = [row["step"] for row in state["log_history"]]
    if logged != sorted(logged):
        faults.append(f"steps: those of trainer_state.json do not grow: {logged}")
    told = dict(page["settings"])["max_steps"]
    if steps != told or str(logged[-1]) != told or results["train_loss"] == 0:
        faults.append(f"figures: '{page['summary']}', log up to step {logged[-1]}, train_loss "
                      f"{results['train_loss']}; there were {told} steps")
    return faults


def check_evaluation(page, folder, results):
    """The headline is the figure in the file, and the tables count each example once."""
    squad = folder.name == "squad"
    figure = results["eval_f1" if squad else "eval_accuracy"]
    faults = [] if agrees(page["headline"], figure) else [
        f"figures: the headline is {page['headline']}, all_results.json has {figure}"]
    if "command dttrain --model" not in re.sub(r"\s*command\s*", " command ", page["about"]):
        faults.append(f"figures: no command in '{page['about']}'")
    if not {"learning_rate", "max_steps"} <= set(page["changed"]) or "seed" in page["changed"]:
        faults.append(f"figures: not the settings that differ are marked: {page['changed']}")
    wanted = 0 if folder.name == "best" else 10  # --report_examples 0
    if len(page["examples"]) != wanted or not all(page["examples"]):
        faults.append(f"figures: not {wanted} examples: {page['examples']}")
    html = (folder / "report.html").read_text()
    if wanted == 0 and any(line.split("\t")[1] in html
                           for line in (folder.parent / "dev.tsv").read_text().splitlines()[1:]):
        faults.append("figures: the page has a text of the evaluation set")
    if squad:
        return faults
    matrix = [[int(count) for count in row[1:]] for row in page["tables"]["Confusion matrix"]]
    labels = [[int(count) for count in row[1:]] for row in page["tables"]["Labels"]]
    right = sum(row[i] for i, row in enumerate(matrix))
    if sum(map(sum, matrix)) != results["eval_samples"] or abs(right - figure * results["eval_samples"]) > 1e-6:
        faults.append(f"figures: the confusion matrix {matrix} is not of accuracy {figure}")
    for index, (_, present, answered, hits) in enumerate(labels):
        if (present, answered, hits) != (sum(matrix[index]), sum(row[index] for row in matrix), matrix[index][index]):
            faults.append(f"figures: the labels {labels} do not fit the matrix {matrix}")
    if sum(row[0] for row in labels) != results["train_samples"]:
        faults.append(f"figures: the labels {labels} are not of {results['train_samples']} examples")
    return faults


def look_at(browser, path, width, scheme, folder=None):
    """The faults of a page and, with the folder of its run, of its figures."""
    browser.open(path, width, scheme)
    page = browser.evaluate(PROBE)
    faults = browser.complaints() + page["faults"]
    if page["dark"] != (scheme == "dark"):
        faults.append(f"colours: the page is not {scheme}")
    return faults + (check_figures(page, folder) if folder else [])


# ---- deliberate faults

def planted(html):
    """(a fault to find, a page that has it)"""
    def with_part(part):
        return html.replace("<h2>Results", part + "<h2>Results", 1)

    def backwards(match):
        return match[1] + " ".join(reversed(match[2].split())) + match[3]
    yield "console: Error: <circle> attribute r", with_part('<svg><circle r="wide"/></svg>')
    yield "console: out of order", with_part("<script>console.warn('out of order')</script>")
    yield "console: Uncaught", with_part("<script>throw 1</script>")
    yield "request: http://127.0.0.1:9/", with_part('<img src="http://127.0.0.1:9/a.png" alt="">')
    yield "overflow: <html>", with_part('<p style="width:3000px">long')
    yield "overflow: <div>", with_part('<div style="overflow:auto"><p style="width:3000px">a</div>')
    yield "cut: <p> \"half", with_part('<p style="height:9px;overflow:hidden">half of a line</p>')
    yield "cut: <p> \"left", with_part('<p style="margin-left:-9rem">left of the page</p>')
    yield "cut: <p> \"nothing", with_part('<p style="display:none">nothing to see</p>')
    yield "overlap: <p> \"one", with_part('<p style="margin-bottom:-2rem">one<p>two')
    yield "and a picture", with_part('<p style="margin-bottom:-2rem">on</p><svg height="40"></svg>')
    yield "faint: ", with_part('<p style="color:#bbb">hardly seen</p>')
    yield "tiny: ", with_part('<p style="font-size:6px">for ants</p>')
    yield "colours: ", html.replace("prefers-color-scheme: dark", "prefers-color-scheme: light")
    yield "steps: ", re.sub(r'(points=")([^"]*)(")', backwards, html, count=1)
    yield "figures: a dot", re.sub(r"(<title>\d+: [\d.]*)\d(</title>)", r"\g<1>77\2", html, count=1)
    yield "figures: Loss", re.sub(r'(points="[\d.]+,)', r"\g<1>9", html, count=1)
    yield "figures: train_loss", re.sub(r"(train_<wbr>loss</dt><dd>)", r"\g<1>7", html)
    yield "figures: the results", re.sub(r"<div><dt>train_<wbr>loss.*\n", "", html)
    yield "figures: the headline", re.sub(r"(headline\"><b>)", r"\g<1>7", html)
    yield "figures: the confusion", re.sub(r"(: \d+\" style[^>]*>)", r"\g<1>7", html, count=1)
    yield "faint: <td>", re.sub(r"(<td[^>]*rgb\()207 74 29 / [\d.]+", r"\g<1>40 30 30 / 0.8", html)
    yield "figures: '", html.replace("<p>40 steps", "<p>39 steps")


def check_that_faults_are_found(browser, folder, scratch):
    html = (folder / "report.html").read_text()
    blind = []
    for number, (wanted, page) in enumerate(planted(html)):
        path = scratch / f"planted-{number}.html"
        path.write_text(page)
        faults = look_at(browser, path, 400, "light", folder)
        if page == html or not any(wanted in fault for fault in faults):
            blind.append(f"the fault '{wanted}' was not found, only {faults}")
    if blind:
        sys.exit("\n".join(blind))
    print(f"{number + 1} faults put in on purpose were found")


def main():
    program = find_browser()
    if not program:
        print("skipped: there is no Chromium. Try: apt-get install chromium-headless-shell")
        sys.exit(77)
    pictures = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, Browser(program) as browser:
        folder = Path(name)
        outputs = make_runs(sys.argv[2], folder)
        run(sys.argv[1], folder)
        check_that_faults_are_found(browser, outputs["normal"], folder)
        pages = [(kind, output / "report.html", output) for kind, output in outputs.items()]
        pages += [(path.stem, path, None) for path in sorted(folder.glob("report-*.html"))]
        wrong = 0
        for kind, path, files in pages:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    faults = look_at(browser, path, width, scheme, files)
                    wrong += len(faults)
                    for fault in faults:
                        print(f"wrong: {kind}, {width} pixels, {scheme}: {fault}")
                    if pictures:
                        browser.screenshot(pictures / f"{kind}-{width}-{scheme}.png")
            print(f"{kind}: looked at in {len(WIDTHS)} widths, light and dark")
        if wrong:
            sys.exit(f"{wrong} faults")


main()
