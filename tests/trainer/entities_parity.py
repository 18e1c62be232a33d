"""Metrics of entities beside seqeval's, on random sequences of tags of all schemes, broken ones too;
and the tokens of words beside the fast tokenizer's with is_split_into_words.

entities_parity.py TAGS_HERE ENCODE_LINES
"""
import json
import random
import subprocess
import sys
import tempfile
import unicodedata
import warnings
from pathlib import Path

from seqeval.metrics import accuracy_score, classification_report
from transformers import AutoTokenizer

TYPES = ["PER", "LOC", "MISC-X", "ö", "_"]
OTHERS = ["O", ".", "N", "NN", "VBZ", ",", "LABEL_0", "LABEL_1", "B", "I", "-", "O-PER", "ü-PER", "U-LOC", "L-LOC",
          "B--X", "I-"]


def labels_of(source):
    letters = source.choice(["BI", "BIES", "IE", "I", "BIESLU", ""])
    labels = {f"{letter}-{kind}" for letter in letters for kind in source.sample(TYPES, source.randint(1, 4))}
    labels.add("O")
    if source.random() < 0.4 or len(labels) < 2:
        labels.update(source.sample(OTHERS, source.randint(2, 9)))
    return sorted(labels)


def cases():
    source = random.Random(4)
    for _ in range(4000):
        labels = labels_of(source)
        share = source.choice([0, 0.1, 0.5, 1])  # of tags that are predicted wrongly
        truth = [[source.randrange(len(labels)) for _ in range(source.randint(0, 9))]
                 for _ in range(source.randint(1, 6))]
        predicted = [[source.randrange(len(labels)) if source.random() < share else tag for tag in row]
                     for row in truth]
        if any(truth):
            yield {"labels": labels, "truth": truth, "predicted": predicted}


def expected_metrics(case):
    truth, predicted = ([[case["labels"][tag] for tag in row] for row in case[key]]
                        for key in ("truth", "predicted"))
    report = classification_report(truth, predicted, output_dict=True, zero_division=0)
    overall = report.pop("micro avg")
    report.pop("macro avg"), report.pop("weighted avg")
    figures = {"precision": overall["precision"], "recall": overall["recall"], "f1": overall["f1-score"],
               "accuracy": accuracy_score(truth, predicted)}
    figures.update({f"overall_{name}": value for name, value in list(figures.items())})
    for kind, row in report.items():  # as the metric of `evaluate` names them
        figures.update({f"{kind}_precision": row["precision"], f"{kind}_recall": row["recall"],
                        f"{kind}_f1": row["f1-score"], f"{kind}_number": row["support"]})
    return figures


def answers_of(command, requests):
    text = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(requests), (len(answers), len(requests))
    return answers


def check_metrics(program):
    warnings.simplefilter("ignore")
    given = list(cases())
    wrong = types = 0
    for case, found in zip(given, answers_of([program], given)):
        expected = expected_metrics(case)
        types += (len(expected) - 8) // 4
        # A type that does not occur is not in seqeval's report; here its figures are 0.
        if any(abs(found.get(name, -1) - value) > 1e-12 for name, value in expected.items()) or any(
                value for name, value in found.items() if name not in expected):
            wrong += 1
            print(f"{case}: ours {found}, expected {expected}")
    print(f"{len(given)} sets of sentences, {types} types of entities; {wrong} differ")
    if wrong or types < 4000:
        sys.exit("the metrics differ")


ODD = ["\u00e9", "e\u0301", "\u0130", "\u4e2d", "\u6587", "\u200b", "\u00ad", "\u0000", "\ufffd", "\U0001f600",
       "\u00a0", "\u2028", "\t", " ", "", "[SEP]", "[MASK]", "##b", "\u0301", "\uac00", "\u1e9e", "\u00df", "'",
       "...", "\u0e01"]


# Characters about which tables of Unicode of any age agree.
AGREED = [chr(c) for c in range(32, 0x30000)
          if unicodedata.category(chr(c)) == unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Cs")]


def word_of(source):
    kind = source.random()
    if kind < 0.5:
        return "".join(source.choice("abcde") for _ in range(source.randint(1, 8)))
    if kind < 0.8:
        return "".join(source.choice(ODD + list("abC.")) for _ in range(source.randint(0, 4)))
    if kind < 0.95:
        return "".join(source.choice(AGREED) for _ in range(source.randint(1, 4)))
    return "a" * source.randint(90, 110)


def check_words(program, folder, lower, side):
    characters = sorted(set("abcde.,'#?ü\u4e2d\u6587ßé"))
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *(f"##{c}" for c in characters), "ab",
              "##cd"]
    Path(folder, "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": lower, "truncation_side": side}
    Path(folder, "tokenizer_config.json").write_text(json.dumps(settings))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.is_fast and tokenizer.truncation_side == side
    source = random.Random(f"{lower} {side}")
    requests = [{"words": [word_of(source) for _ in range(source.randint(0, 12))],
                 "max": source.choice([3, 7, 20, 500])} for _ in range(1500)]
    wrong = cut = 0
    for request, found in zip(requests, answers_of([program, folder], requests)):
        expected = tokenizer(request["words"], is_split_into_words=True, truncation=True, max_length=request["max"])
        words = [-1 if word is None else word for word in expected.word_ids()]
        cut += found["cut"] > 0
        if found["ids"] != expected["input_ids"] or found["words"] != words:
            wrong += 1
            print(f"{request}: ours {found}, expected {expected['input_ids']} {words}")
    print(f"lower case {lower}, truncation {side}: {len(requests)} lists of words, {cut} of them cut; {wrong} differ")
    if wrong or cut < 300:
        sys.exit("the tokens differ")


def main():
    check_metrics(sys.argv[1])
    for lower in (True, False):
        for side in ("right", "left"):
            with tempfile.TemporaryDirectory() as folder:
                check_words(sys.argv[2], folder, lower, side)


main()
