"""Tokenizers that are a chain of steps against AutoTokenizer: byte-level BPE as RoBERTa and ModernBERT
have it, other normalisers and settings, and MPNet's WordPiece. Ids, offsets, pairs, windows, words,
and the folders that we save.

pieces_parity.py ENCODE_LINES [--lines N] [--seed S]: N lines of the texts that this system has.
pieces_parity.py ENCODE_LINES --speed: times both on one thread instead.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tokenizers import (AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)
from transformers import AutoTokenizer, RobertaTokenizer

from text_corpus import lines
from tokenizer_parity import CASES, noise, stable, vocabulary

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
BERT_SPECIALS = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
CHUNK = 20000

TORTURE = CASES + [
    " leading", "  two  leading", "trailing ", "trailing  ", " ", "  ", "   ", "\n", "\n\n", " \n ",
    "a\n\nb", "a \n b", "a\r\nb", "a\rb", "a\u2028b\u2029c", "a\x85b", "a\x0b\x0cb", "\t\ttabs\t",
    "it's I'm we're they've I'll he'd can't", "'s 't 'S 'LL ''s '''", "IT'S", "x's's", " 's",
    "don\u2019t", "123abc456 1.5e-3 ½ ² ٣٤ Ⅷ 一二", "a_b-c/d\\e@f#g", "!!!???...", "—–…“”",
    "👩\u200d🚀 👩🏽\u200d🚒 👨\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 🇩🇪 ✊🏿", "e\u0301\u0327\u0300 q\u0323\u0307 \u0344\u0f73",
    "क्षत्रिय नमस्ते தமிழ் ไทย ខ្មែរ မြန်မာ ქართული Հայերեն አማርኛ ᠮᠣᠩᠭᠣᠯ ཧིང",
    "العربية עברית فارسی اردو", "한국어 각 \u1100\u1161\u11a8 ﾊﾟ ㍿ ﬃ ﷺ Ａ１", "ＦＵＬＬ　ＷＩＤＴＨ",
    "\x00\x01\x02\x7f\x80\x9f", "\u200b\u200c\u200d\u2060\ufeff", "\ue000\uf8ff\U000f0000\U0010fffd",
    "\ufdd0\ufffe\uffff\U0001ffff", "a\u00a0b\u3000c\u2003 d", "x" * 102400, "é" * 51200, "ab " * 30000,
    " " * 5000, "<mask>", " <mask>", "  <mask> x", "a<mask>b <mask>", "x <tag> y<tag>z", "a</s>b<s>",
    "Whole aWhole Whole9 (Whole)", "x  <r>  y", "cafe\u0301 CAFÉ café", "a    b     c", "    x",
    "<mask><mask> <mask>", "word<tag>word <tag> word", "\u1e9b\u0323 \u212b \u2126", "ĠHello Ġ Ċ",
]


def run(program, folder, requests, scratch):
    """Through files, because there may be a lot of them."""
    with open(scratch / "requests", "w", encoding="ascii") as file:
        for request in requests:
            file.write(json.dumps(request) + "\n")
    with open(scratch / "requests", "rb") as given, open(scratch / "answers", "wb") as taken:
        subprocess.run([program, folder], stdin=given, stdout=taken, check=True)
    with open(scratch / "answers", "rb") as file:
        return [json.loads(line) for line in file]


def theirs(tokenizer, request):
    if "spans" in request:
        encoding = tokenizer([request["spans"]], add_special_tokens=False,
                             return_offsets_mapping=True)
        return {"ids": encoding["input_ids"][0],
                "offsets": [list(o) for o in encoding["offset_mapping"][0]]}
    if "question" in request:
        windows = tokenizer([request["question"].lstrip()], [request["context"]],
                            truncation="only_second", max_length=request["max"],
                            stride=request["stride"], return_overflowing_tokens=True,
                            return_offsets_mapping=True)
        return {"windows": [
            {"ids": windows["input_ids"][i],
             "types": windows.get("token_type_ids", {i: [0] * len(windows["input_ids"][i])})[i],
             "offsets": [list(o) if s == 1 else [-1, -1] for o, s in
                         zip(windows["offset_mapping"][i], windows.sequence_ids(i))]}
            for i in range(len(windows["input_ids"]))]}
    if "words" in request:
        encoding = tokenizer(request["words"], is_split_into_words=True, truncation=True,
                             max_length=request["max"])
        return {"ids": encoding["input_ids"],
                "words": [-1 if word is None else word for word in encoding.word_ids()]}
    arguments = [[request["first"]]] + ([] if request["second"] is None else [[request["second"]]])
    encoding = tokenizer(*arguments, truncation="longest_first", max_length=request["max"])
    ids = encoding["input_ids"][0]
    return {"ids": ids, "types": encoding.get("token_type_ids", [[0] * len(ids)])[0]}


def requests_of(texts, seed):
    generator = random.Random(seed)
    for text in texts:
        yield {"spans": text}
        yield {"first": text, "second": None, "max": generator.choice([8, 512])}
    for first, second in zip(texts, reversed(texts)):
        yield {"first": first[:2000], "second": second[:2000], "max": generator.choice([9, 33, 128])}
        yield {"question": "  what is", "context": second[:2000], "max": 24, "stride": 5}


def words_of(texts):
    for text in texts:
        words = text[:2000].split()
        if words:
            yield {"words": words, "max": 64}


def without_cut(answer):
    answer.pop("cut", None)
    return answer


def compare(name, answers, tokenizer, requests):
    wrong = newer = 0
    for request, mine in zip(requests, answers):
        expected = theirs(tokenizer, request)
        if without_cut(mine) == expected:
            continue
        if not stable("".join(text for text in map(str, request.values()))):
            newer += 1
            continue
        wrong += 1
        if wrong <= 3:
            print(f"{name}: {str(request)[:300]}\n  ours   {str(mine)[:600]}\n"
                  f"  theirs {str(expected)[:600]}")
    print(f"{name}: {len(requests)} compared, {wrong} differ, {newer} more with characters newer "
          "than Unicode 3.2")
    return wrong


def learn(texts, specials, size=3000, alphabet=True, **settings):
    """A trained BPE vocabulary and merges, as a tokenizer without other steps."""
    tokenizer = Tokenizer(models.BPE(**settings))
    if alphabet:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
                                  if alphabet else [])
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def model_of(tokenizer):
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


def write_config(folder, model_type, **config):
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def roberta(root, name, learnt, **settings):
    vocab, merges = model_of(learnt)
    folder = root / name
    tokenizer = RobertaTokenizer(vocab=vocab, merges=merges, **settings)
    tokenizer.save_pretrained(folder)
    (folder / "config.json").write_text('{"model_type": "roberta"}', encoding="utf-8")
    return folder


def roberta_plain(root, name, learnt, **config):
    """vocab.json and merges.txt alone."""
    folder = root / name
    folder.mkdir()
    learnt.model.save(str(folder))
    write_config(folder, "roberta", **config)
    return folder


def template(first, last, twice=False, kind=1):
    def ids(tokenizer):
        pair = f"{first} $A {last} " + (f"{last}:{kind} " if twice else "") + f"$B:{kind} {last}:{kind}"
        return processors.TemplateProcessing(
            single=f"{first} $A {last}", pair=pair,
            special_tokens=[(t, tokenizer.token_to_id(t)) for t in (first, last)])
    return ids


def whole(root, name, learnt, processor, normalizer=None, pre_tokenizer=None, added=(), model=None,
          **config):
    """A tokenizer.json that its class uses as it is."""
    folder = root / name
    folder.mkdir()
    text = json.loads(learnt.to_str())
    text["model"].update(model or {})
    tokenizer = Tokenizer.from_str(json.dumps(text))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(list(added))
    tokenizer.post_processor = processor(tokenizer)
    tokenizer.save(str(folder / "tokenizer.json"))
    specials = BERT_SPECIALS if tokenizer.token_to_id("[CLS]") is not None else SPECIALS
    names = dict(zip(("cls_token", "pad_token", "sep_token", "unk_token", "mask_token"), specials))
    model_type = config.pop("model_type", "roberta")
    write_config(folder, model_type, **{"tokenizer_class": "PreTrainedTokenizerFast", **names,
                                        **config})
    return folder


# tokenizers panics if an added token begins inside the blanks that another one's rstrip takes.
ADDED = [AddedToken("<tag>", normalized=False), AddedToken("Whole", single_word=True),
         AddedToken("<r>", rstrip=True, normalized=True), AddedToken("café", normalized=True)]
BLANKS = [ADDED[0], ADDED[3], AddedToken("    ", normalized=True),
          AddedToken("  ", normalized=True)]


def bpe_folders(root, texts):
    learnt = learn(texts, SPECIALS)
    bert = learn(texts, BERT_SPECIALS, size=2500)
    yield roberta(root, "roberta", learnt)
    yield roberta(root, "roberta, prefix", learnt, add_prefix_space=True)
    yield roberta(root, "roberta, not trimmed", learnt, trim_offsets=False)
    yield roberta(root, "roberta, mask", learnt, truncation_side="left", model_max_length=99,
                  mask_token=AddedToken("<mask>", lstrip=True, special=True, normalized=False),
                  extra_special_tokens=["<tag>"])
    yield roberta_plain(root, "roberta, plain", learnt)
    yield roberta_plain(root, "roberta, plain, prefix", learnt, add_prefix_space=True,
                        tokenizer_class="RobertaTokenizer", mask_token={
                            "__type": "AddedToken", "content": "<mask>", "lstrip": True,
                            "rstrip": False, "normalized": True, "single_word": False})
    yield whole(root, "modernbert", bert, template("[CLS]", "[SEP]"), normalizers.NFC(),
                model_type="modernbert", added=BLANKS,
                model_input_names=["input_ids", "attention_mask"])
    yield whole(root, "types", bert, template("[CLS]", "[SEP]"), added=ADDED,
                model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    yield whole(root, "two separators", learnt, template("<s>", "</s>", True, 0))
    yield whole(root, "prefix in the file", learnt, lambda t: processors.RobertaProcessing(
        ("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")), True, True),
        pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True), added=BLANKS)
    yield whole(root, "trimmed template", learnt, lambda t: processors.Sequence(
        [processors.ByteLevel(trim_offsets=True, add_prefix_space=False), template("<s>", "</s>")(t)]))
    yield whole(root, "no expression", learnt, template("<s>", "</s>"),
                pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    yield whole(root, "whole words", learnt, template("<s>", "</s>"), model={"ignore_merges": True})
    yield whole(root, "BertProcessing", learnt, lambda t: processors.BertProcessing(
        ("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>"))),
        model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    for name, steps in {
            "NFD": [normalizers.NFD()], "NFKC, lower": [normalizers.NFKC(), normalizers.Lowercase()],
            "NFKD, accents": [normalizers.NFKD(), normalizers.StripAccents()],
            "strip, replace, prepend": [normalizers.Strip(), normalizers.Replace("a ", "bcd"),
                                        normalizers.Prepend("x")],
            "strip left": [normalizers.Strip(left=True, right=False), normalizers.NFC()]}.items():
        yield whole(root, name, learnt, template("<s>", "</s>"), normalizers.Sequence(steps),
                    added=ADDED)
    letters = learn(texts[:400], SPECIALS + [f"<0x{b:02X}>" for b in range(256)], size=1500,
                    alphabet=False, unk_token="<unk>", byte_fallback=True)
    for name, model in {"fallback": {}, "unknown": {"byte_fallback": False},
                        "fused": {"byte_fallback": False, "fuse_unk": True}}.items():
        folder = whole(root, "letters, " + name, letters, template("<s>", "</s>"), model=model)
        file = folder / "tokenizer.json"
        text = json.loads(file.read_text(encoding="utf-8"))
        text["pre_tokenizer"] = None
        text["decoder"] = None
        file.write_text(json.dumps(text), encoding="utf-8")
        yield folder


def mpnet_folders(root):
    tokens = ["<s>", "<pad>", "</s>", "<unk>"] + vocabulary()[5:] + ["[UNK]", "<mask>"]
    folder = root / "mpnet, vocab.txt"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    write_config(folder, "mpnet", tokenizer_class="MPNetTokenizer", do_lower_case=True)
    yield folder
    tokenizer = AutoTokenizer.from_pretrained(folder)
    again = root / "mpnet, saved by transformers"
    tokenizer.save_pretrained(again)
    write_config(again, "mpnet")
    yield again
    by_file = root / "mpnet, whole file"
    by_file.mkdir()
    (by_file / "tokenizer.json").write_bytes((again / "tokenizer.json").read_bytes())
    write_config(by_file, "mpnet", tokenizer_class="PreTrainedTokenizerFast", pad_token="<pad>",
                 mask_token="<mask>", unk_token="[UNK]", cls_token="<s>", sep_token="</s>")
    yield by_file


def check(program, folder, texts, scratch):
    name = folder.name
    requests = list(requests_of(texts, 3))
    words = list(words_of(texts))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    answers = run(program, folder, requests, scratch)
    wrong = compare(name, answers, tokenizer, requests)
    by_words = tokenizer
    if type(tokenizer).__name__ == "RobertaTokenizer":
        by_words = AutoTokenizer.from_pretrained(folder, add_prefix_space=True)
    wrong += compare(name + ", words", run(program, folder, words, scratch), by_words, words)
    saved = scratch / "saved"
    if saved.exists():
        for file in saved.iterdir():
            file.unlink()
    saved.mkdir(exist_ok=True)
    (saved / "config.json").write_bytes((folder / "config.json").read_bytes())
    subprocess.run([program, folder, "save", saved], check=True, stderr=subprocess.DEVNULL)
    again = AutoTokenizer.from_pretrained(saved)
    some = slice(None, None, 7)
    wrong += compare(name + ", saved and read by transformers", answers[some], again,
                     requests[some])
    if [without_cut(answer) for answer in run(program, saved, requests, scratch)] != answers:
        print(f"{name}: saved and read by us, it gives other ids")
        wrong += 1
    for what in ("model_max_length", "truncation_side", "padding_side", "model_input_names",
                 "special_tokens_map"):
        if getattr(again, what) != getattr(tokenizer, what):
            print(f"{name}: saved, {what} is {getattr(again, what)}, not {getattr(tokenizer, what)}")
            wrong += 1
    return wrong


REFUSED = {
    "BPE with dropout": ({"model": {"dropout": 0.1}}, "dropout"),
    "a prefix": ({"model": {"continuing_subword_prefix": "##"}}, "continuing_subword_prefix"),
    "a pre_tokenizer": ({"pre_tokenizer": {"type": "Digits", "individual_digits": True}}, "Digits"),
    "a normalizer": ({"normalizer": {"type": "Nmt"}}, "Nmt"),
    "a pattern": ({"normalizer": {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"}},
                  "Replace"),
    "a key of a step": ({"normalizer": {"type": "NFC", "other": 1}}, "other"),
    "a post_processor": ({"post_processor": {"type": "ByteLevel", "add_prefix_space": True,
                                             "trim_offsets": True, "use_regex": True}}, "ByteLevel"),
    "a model": ({"model": {"type": "WordLevel"}}, "WordLevel"),
    "a merge": ({"model": {"merges": [["a", "zzzzz"]]}}, "zzzzz"),
}


def check_refusals(program, root, folder):
    wrong = 0
    for name, (changes, words) in REFUSED.items():
        bad = root / ("refused, " + name)
        bad.mkdir()
        text = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        for key, value in changes.items():
            text[key] = {**text[key], **value} if key == "model" else value
        (bad / "tokenizer.json").write_text(json.dumps(text), encoding="utf-8")
        (bad / "tokenizer_config.json").write_bytes((folder / "tokenizer_config.json").read_bytes())
        done = subprocess.run([program, bad], input=b"", capture_output=True)
        said = done.stderr.decode()
        if done.returncode != 65 or words not in said or f"{bad}/tokenizer.json:" not in said:
            print(f"{name}: status {done.returncode}, {said!r}")
            wrong += 1
    print(f"{len(REFUSED)} folders refused, {wrong} wrong")
    return wrong


def speed(program, root, seed):
    """Seconds for the same lines on one thread, ours and tokenizers', in turn."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    texts = list(lines(200000, seed))
    file = root / "lines"
    file.write_text("\n".join(text.replace("\n", " ").replace("\r", " ") for text in texts),
                    encoding="utf-8")
    texts = file.read_text(encoding="utf-8").split("\n")
    size = file.stat().st_size
    learnt = learn(texts[::10], SPECIALS, size=30000)
    for folder in (roberta(root, "roberta", learnt),
                   whole(root, "modernbert", learnt, template("<s>", "</s>"), normalizers.NFC(),
                         model_type="modernbert", added=BLANKS)):
        theirs_best = ours_best = 1e9
        for _ in range(3):
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            begin = time.monotonic()
            for start in range(0, len(texts), CHUNK):
                tokenizer.encode_batch_fast(texts[start:start + CHUNK])
            theirs_best = min(theirs_best, time.monotonic() - begin)
            done = subprocess.run([program, folder, "time", file], capture_output=True, check=True)
            ours_best = min(ours_best, json.loads(done.stdout)["seconds"])
        print(f"{folder.name}: {len(texts)} lines, {size / 1e6:.1f} MB: ours {ours_best:.2f} s, "
              f"tokenizers {theirs_best:.2f} s: {theirs_best / ours_best:.2f} x")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--lines", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        scratch = root / "scratch"
        scratch.mkdir()
        if given.speed:
            return speed(given.program, root, given.seed)
        corpus = list(lines(max(given.lines, 3000), given.seed))
        texts = TORTURE + list(noise(11, 300)) + corpus[:given.lines]
        few = [text for text in TORTURE if len(text) < 1000] + texts[-given.lines:]
        wrong = 0
        for folder in [*bpe_folders(root, corpus[:3000]), *mpnet_folders(root)]:
            if given.only in folder.name:
                everything = folder.name in ("roberta", "modernbert") or given.lines > 1000
                chosen = texts if everything else few
                for at in range(0, len(chosen), 20000):  # all answers would take too much memory
                    wrong += check(given.program, folder, chosen[at:at + 20000], scratch)
        wrong += check_refusals(given.program, root, root / "types")
    if wrong:
        sys.exit(f"{wrong} differences")
    return None


if __name__ == "__main__":
    main()
