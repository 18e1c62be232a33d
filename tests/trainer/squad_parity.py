"""Question answering from the texts to the figures against Hugging Face's ways: features through
transformers' fast tokenizer, answers from random logits and metrics by a few lines of Python.

squad_parity.py SQUAD_HERE
"""
import json
import random
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from offsets_parity import make_folder
from squad_reference import exact, f1, normalize, postprocess, squad_v1, squad_v2
from text_corpus import lines
from tokenizer_parity import CASES, noise, stable

LENGTHS = ((384, 128), (64, 16), (48, 30), (40, 0))


def make_questions(texts, seed):
    """Questions whose contexts are joined lines, with answers anywhere in them: at both ends, inside
    of words, over several; some have no answer, some have more than one, and some say that it begins
    elsewhere than it does."""
    generator = random.Random(seed)
    for number in range(1200):
        context = generator.choice([" ", "\n", " the "]).join(
            generator.sample(texts, generator.randrange(1, 7)))[:4000]
        # At most 12 tokens, so that LENGTHS leave room: a decomposed character makes at most one.
        question = " " * generator.randrange(3) + unicodedata.normalize(
            "NFD", " ".join(generator.choice(texts).split()[:6]))[:12]
        spans = []
        for _ in range(generator.choice([0, 1, 1, 1, 1, 3])):
            begin = generator.choice([0, len(context) - 1, generator.randrange(len(context)),
                                      generator.randrange(len(context))])
            length = generator.choice([1, 2, 5, 12, 40, 200])
            spans.append((max(0, min(begin, len(context) - length)), length))
        spans = [(b, context[b:b + n]) for b, n in spans]
        if spans and number % 10 == 0:
            spans[0] = (spans[0][0] + generator.choice([-7, 3, 60, 10 ** 6]), spans[0][1])
        yield {"id": f"q{number}", "title": "t", "context": context, "question": question,
               "answers": {"text": [text for _, text in spans],
                           "answer_start": [begin for begin, _ in spans]}}


def write_layouts(questions, root):
    """The same questions in every layout that is read."""
    nested = [{"title": q["title"], "paragraphs": [{"context": q["context"], "qas": [
        {"id": q["id"], "question": q["question"], "is_impossible": not q["answers"]["text"],
         "answers": [{"text": t, "answer_start": s} for t, s in
                     zip(q["answers"]["text"], q["answers"]["answer_start"])]}]}]}
              for q in questions]
    files = {"flat": json.dumps({"version": "2", "data": questions}),
             "nested": json.dumps({"data": nested}, indent=1, ensure_ascii=False),
             "list": json.dumps(questions),
             "lines": "".join(json.dumps(q, ensure_ascii=False) + "\n" for q in questions)}
    for name, text in files.items():
        (root / f"{name}.json").write_text(text, encoding="utf-8")
    return [root / f"{name}.json" for name in files]


def run_qa_positions(offsets, sequence_ids, answers, stops):
    """The positions of run_qa's prepare_train_features. Its loop over the start runs through to the
    end of the window when the answer starts in the last context token; not so if it `stops`."""
    if not answers["answer_start"] or 1 not in sequence_ids:
        return 0, 0
    begin = answers["answer_start"][0]
    end = begin + len(answers["text"][0])
    first = sequence_ids.index(1)
    last = len(sequence_ids) - 1 - sequence_ids[::-1].index(1)
    if not (offsets[first][0] <= begin and offsets[last][1] >= end):
        return 0, 0
    start_token, end_token = first, last
    bound = last + 1 if stops else len(offsets)
    while start_token < bound and offsets[start_token][0] <= begin:
        start_token += 1
    while offsets[end_token][1] >= end:
        end_token -= 1
    return start_token - 1, end_token + 1


def compare_features(program, folder, files, questions, longest, stride):
    """Returns (our features, number of differences)."""
    outputs = [subprocess.run([program, "features", folder, file, str(longest), str(stride)],
                              stdout=subprocess.PIPE, check=True).stdout for file in files]
    if any(output != outputs[0] for output in outputs):
        sys.exit("the layouts are not read alike")
    mine = json.loads(outputs[0])
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    theirs = tokenizer([q["question"].lstrip() for q in questions],
                       [q["context"] for q in questions], truncation="only_second",
                       max_length=longest, stride=stride, return_overflowing_tokens=True,
                       return_offsets_mapping=True, padding=False)
    wrong, overruns, answered = int(not mine["same"]), 0, 0
    wrong += mine["ids"] != theirs["input_ids"]
    wrong += mine["questions"] != theirs["overflow_to_sample_mapping"]
    for i, offsets in enumerate(theirs["offset_mapping"]):
        sequence_ids = theirs.sequence_ids(i)
        answers = questions[mine["questions"][i]]["answers"]
        expected = run_qa_positions(offsets, sequence_ids, answers, stops=True)
        overruns += expected != run_qa_positions(offsets, sequence_ids, answers, stops=False)
        answered += expected != (0, 0)
        places = [list(o) if s == 1 else [-1, -1] for o, s in zip(offsets, sequence_ids)]
        if (mine["starts"][i], mine["ends"][i]) != expected or mine["offsets"][i] != places:
            wrong += 1
            if wrong < 4:
                print(f"window {i}: {mine['starts'][i]}, {mine['ends'][i]}; expected {expected}")
    print(f"features {longest}/{stride}: {len(mine['ids'])} windows of {len(questions)} questions, "
          f"{answered} with an answer, {overruns} where run_qa overruns, {wrong} differ")
    if answered < 100 or overruns < 10:
        sys.exit("the answers that were compared are too much alike")
    return mine, wrong


def make_logits(features, seed):
    """Noise, and in two of three windows with an answer a peak where it is."""
    generator = np.random.default_rng(seed)
    logits = []
    for i, ids in enumerate(features["ids"]):
        window = generator.normal(0, 2, (len(ids), 2)).astype(np.float32)
        if i % 3:
            window[features["starts"][i], 0] += 9
            window[features["ends"][i], 1] += 9
        logits.append(window)
    return logits


def close(a, b):
    return abs(a - b) <= 1e-6 * max(1.0, abs(b))


def compare_metrics(name, mine, expected):
    wrong = list(mine) != list(expected) or any(not close(mine[k], expected[k]) for k in expected)
    print(f"  {name}: {expected}" + (f"\n  ours {mine}" if wrong else ""))
    return int(wrong)


def differing_lines(file, expected):
    """Of the text as Python writes its values again: of some numbers there are two shortest forms."""
    mine = (json.dumps(json.loads(file.read_text()), indent=4) + "\n").split("\n")
    if len(file.read_text().split("\n")) != len(mine):
        sys.exit(f"{file.name} has another layout")
    expected = (expected + "\n").split("\n")
    differ = [pair for pair in zip(mine, expected) if pair[0] != pair[1]]
    for pair in differ[:3]:
        print(f"{file.name}: ours {pair[0]}, expected {pair[1]}")
    return len(differ) + abs(len(mine) - len(expected))


def compare_answers(program, folder, file, questions, features, lengths, settings, root):
    n_best, longest, version_2, threshold = settings
    logits = make_logits(features, 7)
    (root / "logits").write_bytes(b"".join(window.tobytes() for window in logits))
    words = ["answers", folder, file, *map(str, lengths), root / "logits", root, str(n_best),
             str(longest), str(int(version_2)), str(threshold)]
    mine = json.loads(subprocess.run([program, *words], stdout=subprocess.PIPE, check=True).stdout)
    predictions, nbest, odds = postprocess(questions, features, logits, *settings)
    wrong = differing_lines(root / "predictions.json", json.dumps(predictions, indent=4))
    if version_2:
        wrong += differing_lines(root / "odds.json", json.dumps(odds, indent=4))
    for key, ours in json.loads((root / "nbest.json").read_text()).items():
        same = len(ours) == len(nbest[key]) and all(
            list(a) == list(b) and all(a[k] == b[k] for k in ("text", "start_logit", "end_logit"))
            and close(a["probability"], b["probability"]) for a, b in zip(ours, nbest[key]))
        wrong += not same
    empty = Counter(predictions.values())[""]
    print(f"answers {settings}: {len(predictions)} compared, {empty} of them empty, {wrong} differ")
    if not version_2:
        return wrong + compare_metrics("v1", mine["v1"], squad_v1(questions, predictions))
    zeros = dict.fromkeys(predictions, 0.0)
    wrong += compare_metrics("v2", mine["v2"], squad_v2(questions, predictions, zeros))
    return wrong + compare_metrics("v2 over odds", mine["v2_odds"],
                                   squad_v2(questions, predictions, odds))


# Compares each text with its normalised form, which scores as well, and with that less a character.
def compare_normalized(program, texts):
    pairs = []
    for number, text in enumerate(texts):
        whole = normalize(text)
        cut = number % max(1, len(whole))
        pairs += [(whole, text), (whole[:cut] + whole[cut + 1:], text)] if stable(text) else []
    given = "".join(json.dumps({"gold": gold, "answer": text}) + "\n" for gold, text in pairs)
    answers = subprocess.run([program, "lines"], input=given.encode(), stdout=subprocess.PIPE,
                             check=True).stdout.splitlines()
    wrong = 0
    for (gold, text), answer in zip(pairs, answers, strict=True):
        ours, expected = json.loads(answer), 100 * exact(gold, text)
        if ours["exact_match"] != expected or not close(ours["f1"], 100 * f1(gold, text, False)):
            wrong += 1
            if wrong < 6:
                print(f"{text!r} for {gold!r}: ours {answer}, expected {expected}")
    print(f"normalized: {len(pairs)} compared, {wrong} differ")
    return wrong


def main():
    program = sys.argv[1]
    texts = [text for text in lines(4000, 3) if text.strip()]
    made = [text for text in CASES + list(noise(5, 3000)) if text.strip() and len(text) < 2000]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        folder = make_folder(root, "lower", True, texts)
        questions = list(make_questions(texts + made, 1))
        files = write_layouts(questions, root)
        wrong = compare_normalized(program, made + texts + ["The a. AN\ttheory, a\u0301 an_a", "A"])
        for lengths in LENGTHS:
            features, differ = compare_features(program, folder, files, questions, *lengths)
            wrong += differ
            for settings in ((20, 30, False, 0.0), (20, 30, True, 0.0), (3, 4, True, 2.5)):
                wrong += compare_answers(program, folder, files[0], questions, features, lengths,
                                         settings, root)
    if wrong:
        sys.exit("question answering differs")


main()
