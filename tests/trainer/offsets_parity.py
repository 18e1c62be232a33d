"""Ids and offsets of our tokens against Hugging Face's: hand-picked cases, noise, and real text.

offsets_parity.py ENCODE_LINES [--lines N] [--seed S]: N lines of the texts that this system has.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tokenizers import BertWordPieceTokenizer, Tokenizer

from text_corpus import lines
from tokenizer_parity import CASES, SPECIALS, noise, stable, vocabulary

CHUNK = 20000


def ours(program, folder, requests, scratch):
    """Through files, because there may be a lot of them."""
    with open(scratch / "requests", "w", encoding="ascii") as file:
        for request in requests:
            file.write(json.dumps(request) + "\n")
    with open(scratch / "requests", "rb") as given, open(scratch / "answers", "wb") as taken:
        subprocess.run([program, folder], stdin=given, stdout=taken, check=True)
    with open(scratch / "answers", "rb") as file:
        return [json.loads(line) for line in file]


def compare_spans(name, program, folder, texts, scratch):
    """Returns how many of the texts have other ids or offsets. Those with characters that the two
    sides' versions of Unicode class differently do not count, but are reported."""
    reference = Tokenizer.from_file(str(folder / "tokenizer.json"))
    wrong, newer = 0, 0
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start:start + CHUNK]
        answers = ours(program, folder, [{"spans": text} for text in chunk], scratch)
        encodings = reference.encode_batch(chunk, add_special_tokens=False)
        for text, mine, expected in zip(chunk, answers, encodings):
            if (mine["ids"], mine["offsets"]) == (expected.ids, [list(o) for o in expected.offsets]):
                continue
            if not stable(text):
                newer += 1
                continue
            wrong += 1
            if wrong <= 3:
                print(f"{name}: {text!r}\n  ours   {mine}\n  theirs {expected.ids} {expected.offsets}")
    characters = sum(len(text) for text in texts)
    print(f"{name}: {len(texts)} texts, {characters} characters compared, {wrong} differ, "
          f"{newer} more with characters newer than Unicode 3.2")
    return wrong, newer


def panics(reference, request):
    """True where the tokenizers package does not raise but panics: the windows would not move on."""
    reference.no_truncation()
    asked, given = (len(reference.encode(text, add_special_tokens=False).ids)
                    for text in (request["question"].lstrip(), request["context"]))
    room = request["max"] - 3 - asked
    return 0 < room <= request["stride"] and given > room


def expected_windows(reference, request):
    """What transformers asks of the tokenizers package for a question and its context."""
    reference.enable_truncation(request["max"], stride=request["stride"], strategy="only_second")
    encoding = reference.encode(request["question"].lstrip(), request["context"])
    windows = []
    for window in [encoding] + encoding.overflowing:
        offsets = [list(o) if s == 1 else [-1, -1]
                   for o, s in zip(window.offsets, window.sequence_ids)]
        windows.append({"ids": window.ids, "types": window.type_ids, "offsets": offsets})
    return {"windows": windows}


def window_requests(texts, seed):
    generator = random.Random(seed)
    for question, context in zip(texts, reversed(texts)):
        longest = generator.choice([8, 24, 64, 384])
        yield {"question": "  " * generator.randrange(2) + question[:80],
               "context": " ".join(generator.choices(texts, k=generator.randrange(3)) + [context]),
               "max": longest, "stride": min(longest - 4, generator.choice([0, 1, 7, 16, 128]))}


def compare_windows(program, folder, texts, scratch):
    """A question that leaves no room for its context is an error on both sides."""
    reference = Tokenizer.from_file(str(folder / "tokenizer.json"))
    requests = list(window_requests(texts, 5))
    wrong, errors, several = 0, 0, 0
    for request, mine in zip(requests, ours(program, folder, requests, scratch)):
        expected = {"error": mine.get("error", "an error")}
        if not panics(reference, request):
            try:
                expected = expected_windows(reference, request)
            except Exception as error:
                if "too short" not in str(error):
                    raise
        errors += "error" in expected
        several += len(expected.get("windows", [])) > 1
        if mine != expected:
            wrong += 1
            if wrong <= 3:
                print(f"windows: {request!r}\n  ours   {mine}\n  theirs {expected}")
    print(f"windows: {len(requests)} pairs compared, {several} in several windows, {errors} without "
          f"room, {wrong} differ")
    if errors < 10 or several < 10:
        sys.exit("the windows that were compared are too much alike")
    return wrong


def make_folder(root, name, lower_case, texts):
    """A tokenizer whose vocabulary was learnt from the texts, with all characters of the cases."""
    folder = root / name
    folder.mkdir()
    tokenizer = BertWordPieceTokenizer(lowercase=lower_case)
    tokenizer.train_from_iterator(texts, vocab_size=8000, min_frequency=2, limit_alphabet=1500,
                                  special_tokens=SPECIALS, show_progress=False)
    learnt = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    tokens = list(dict.fromkeys(learnt + vocabulary()))
    whole = BertWordPieceTokenizer({token: i for i, token in enumerate(tokens)},
                                   lowercase=lower_case)
    whole.save(str(folder / "tokenizer.json"))
    # Without it, AutoTokenizer assumes that every BERT uses lower case.
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lower_case}))
    return folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--lines", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    real = list(lines(a.lines, a.seed))
    print(f"{len(real)} lines of real text")
    wrong, newer = 0, 0
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for kind, lower_case in (("lower", True), ("cased", False)):
            folder = make_folder(root, kind, lower_case, real[:20000])
            made = CASES + list(noise(11, 5000))
            for title, texts in (("made up", made), ("real", real if lower_case else real[::4])):
                result = compare_spans(f"{kind} {title}", a.program, folder, texts, root)
                wrong, newer = wrong + result[0], newer + result[1]
            wrong += compare_windows(a.program, folder, made[:600] + real[:1500], root)
    if wrong or newer > (len(real) + 10000) // 1000:
        sys.exit("the tokenizers differ")


if __name__ == "__main__":
    main()
