"""Small data for the tests' jobs, in users' formats. usage: make_texts.py FOLDER

train.json, dev.json: JSON lines of sentences with a label that some of their words tell.
squad-train.json, squad-dev.json: SQuAD's; who, when and where are answered by words of their own kind.
model: config.json of a tiny BERT, and vocab.txt, WordPiece's: years are of several pieces.
"""

import json
import os
import random
import sys

WORDS = "good bad fine awful film plot the a is very river stone in old road small light and".split()
NAMES = "anna boris clara dmitri elena felix".split()
PLACES = "rome paris oslo lima cairo quito".split()
YEARS = [f"19{tens}{ones}" for tens in range(2, 9) for ones in range(10)]
KINDS = {"who": NAMES, "when": YEARS, "where": PLACES}
CONFIG = {"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
          "intermediate_size": 64, "max_position_embeddings": 64, "initializer_range": 0.15,
          "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def write_sentences(path, count, draw):
    with open(path, "w", encoding="utf-8") as lines:
        for _ in range(count):
            chosen = [draw.choice(WORDS[:10]) for _ in range(8)]
            mood = sum({"good": 1, "fine": 1, "bad": -1, "awful": -1}.get(word, 0) for word in chosen)
            lines.write(json.dumps({"sentence": " ".join(chosen), "label": int(mood > 0)}) + "\n")


def paragraph(number, draw):
    """Words with one of each kind among them; the longer half takes several windows."""
    words = [draw.choice(WORDS) for _ in range(draw.randint(12, 36))]
    answers = {kind: draw.choice(choices) for kind, choices in KINDS.items()}
    for place, kind in zip(draw.sample(range(len(words)), len(KINDS)), KINDS):
        words[place] = answers[kind]
    context = " ".join(words)
    questions = [{"id": f"{number}-{kind}", "question": f"{kind} is the river",
                  "answers": [{"text": text, "answer_start": context.index(text)}]}
                 for kind, text in answers.items()]
    return {"context": context, "qas": questions}


def main():
    folder, draw = sys.argv[1], random.Random(1)
    for name, count in (("train", 128), ("dev", 37)):
        write_sentences(os.path.join(folder, name + ".json"), count, draw)
    for name, count in (("train", 64), ("dev", 7)):
        article = {"title": name, "paragraphs": [paragraph(number, draw) for number in range(count)]}
        with open(os.path.join(folder, f"squad-{name}.json"), "w", encoding="utf-8") as out:
            json.dump({"version": "1.1", "data": [article]}, out)
    pieces = "[PAD] [UNK] [CLS] [SEP] [MASK]".split() + WORDS + list(KINDS) + NAMES + PLACES
    pieces += ["19"] + [f"##{digits:02d}" for digits in range(20, 90)]
    model = os.path.join(folder, "model")
    os.makedirs(model, exist_ok=True)
    with open(os.path.join(model, "vocab.txt"), "w", encoding="utf-8") as out:
        out.write("\n".join(pieces) + "\n")
    with open(os.path.join(model, "config.json"), "w", encoding="utf-8") as out:
        json.dump({**CONFIG, "vocab_size": len(pieces)}, out)


main()
