"""Tokenizers of model folders of every kind against AutoTokenizer, id by id: added tokens in each
file that may have them, files that disagree, other special tokens, truncation; and what we save.

folder_parity.py ENCODE_LINES
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from transformers import AutoTokenizer

VOCABULARY = ("[PAD] [UNK] [CLS] [SEP] [MASK] a b c the ##a ##b x A tag <pre> é e Caf É "
              "@@a 中 [ ] < > foo new").split()
COUNT = len(VOCABULARY)
FAST = {"tokenizer_class": "PreTrainedTokenizerFast"}
TEXTS = ["a <x> b", "a[foo]A", "[NEW] the", "the\u0000aa ab é É A 中a", "<X> [FOO] tag", "a  <x>  b",
         "[MASK] [SEP]a", "zzz a", "a" * 120, "a" * 90, "a b c the x A " * 4, "<pre>a the", "", "Foo"]


def library_json(**changes):
    """A tokenizer.json of VOCABULARY; changes: outer__inner=value."""
    def special(token, kind):
        return {"SpecialToken": {"id": token, "type_id": kind}}

    def sequence(name, kind):
        return {"Sequence": {"id": name, "type_id": kind}}
    single = [special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)]
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [flags(i, VOCABULARY[i], special=True, normalized=False) for i in range(5)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": single,
                           "pair": single + [sequence("B", 1), special("[SEP]", 1)],
                           "special_tokens": {
                               t: {"id": t, "ids": [VOCABULARY.index(t)], "tokens": [t]}
                               for t in ("[CLS]", "[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100,
                  "vocab": {token: i for i, token in enumerate(VOCABULARY)}}}
    for path, value in changes.items():
        *outer, last = path.split("__")
        place = tokenizer
        for key in outer:
            place = place[key]
        place[last] = place[last] + value if last == "added_tokens" else value
    return tokenizer


def flags(number, content, **given):
    return {"id": number, "content": content, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": True, "special": False, **given}


def without_id(token):
    return {key: value for key, value in token.items() if key != "id"}


def replaced(old, new):
    return [new if token == old else token for token in VOCABULARY]


X = flags(COUNT, "<x>", lstrip=True)
FOO = flags(COUNT + 1, "[foo]", normalized=False, special=True)
LEFT = {"direction": "Left", "max_length": 4, "strategy": "LongestFirst", "stride": 0}

# name -> files of the folder; vocab: vocab.txt, or None. "says": words in our log; quiet: no log.
CASES = {
    "plain": {},
    "added_tokens.json": {"added_tokens": {"<x>": COUNT, "[foo]": COUNT + 1}},
    "added_tokens.json in another order": {"added_tokens": {"<x>": COUNT + 1, "[foo]": COUNT}},
    "added_tokens.json with tokens of the vocabulary": {"added_tokens": {"<pre>": 14, "the": 8}},
    "added_tokens.json behind a blank line": {"vocab": [*VOCABULARY, "", "the"],
                                              "added_tokens": {"<x>": COUNT + 1}},
    "added_tokens_decoder": {"tokenizer_config": {"added_tokens_decoder": {
        str(COUNT + 1): without_id(FOO), str(COUNT): without_id(X),
        "2": without_id(flags(2, "[CLS]", special=True, normalized=False))}}},
    "a decoder and other lists": {
        "tokenizer_config": {"added_tokens_decoder": {str(COUNT): without_id(X)}},
        "added_tokens": {"[foo]": COUNT}, "says": "added_tokens.json: '[foo]' is not a token"},
    "additional_special_tokens": {
        "tokenizer_config": {"additional_special_tokens": ["<x>", "[foo]"]}},
    "extra_special_tokens": {"tokenizer_config": {"extra_special_tokens": ["[NEW]", "tag"]}},
    "extra_special_tokens with names": {
        "tokenizer_config": {"extra_special_tokens": {"image_token": "<x>"}}},
    "special_tokens_map.json": {
        "special_tokens_map": {"additional_special_tokens": ["<x>", "[NEW]"]}},
    "both special lists": {
        "special_tokens_map": {"additional_special_tokens": ["<x>"]},
        "tokenizer_config": {"additional_special_tokens": ["[foo]"]}, "says": "'<x>' is not a token"},
    "a map and added_tokens.json": {
        "special_tokens_map": {"additional_special_tokens": ["<x>"], "cls_token": {
            "content": "[CLS]", "lstrip": True, "rstrip": False, "normalized": False,
            "single_word": False}},
        "added_tokens": {"<x>": COUNT}},
    "names of its own": {"tokenizer_config": {"bos_token": "<x>", "foo_token": "[foo]"}},
    "another unk_token": {"vocab": replaced("[UNK]", "<unk>"),
                          "tokenizer_config": {"unk_token": "<unk>"}},
    "other special tokens in the map": {
        "vocab": replaced("[SEP]", "</s>"), "special_tokens_map": {"sep_token": "</s>"}},
    "a token with flags": {"tokenizer_config": {
        "mask_token": {"__type": "AddedToken", "content": "[MASK]", "lstrip": True,
                       "rstrip": True, "normalized": False, "single_word": False}}},
    "no mask": {"vocab": [token for token in VOCABULARY if token != "[MASK]"],
                "texts": [text for text in TEXTS if "[MASK]" not in text]},
    "truncation_side": {"tokenizer_config": {"truncation_side": "left"}},
    "cased": {"tokenizer_config": {"do_lower_case": False}, "quiet": True},
    "vocab.txt with capitals alone": {"tokenizer_config": None, "says": "text is lowercased"},
    "accents": {"tokenizer_config": {"strip_accents": False, "tokenize_chinese_chars": False}},
    "names of inputs": {"tokenizer_config": {"model_input_names": ["input_ids", "attention_mask"]}},
    "class of DistilBERT": {"tokenizer_config": {"tokenizer_class": "DistilBertTokenizerFast"}},
    "class of Electra": {"tokenizer_config": {"tokenizer_class": "ElectraTokenizer"}},
    "class in config.json": {"config": {"model_type": "bert", "tokenizer_class": "BertTokenizer"}},
}
for name, config in (("bert", {}), ("whole", FAST)):
    said = "" if config else "lowercase is false"
    CASES.update({f"{name}: {key}": {"vocab": None, "tokenizer_config": config, **case}
                  for key, case in {
        "json": {"tokenizer": library_json(), "quiet": not config},
        "json, cased": {"tokenizer": library_json(normalizer__lowercase=False), "says": said},
        "json, accents": {"tokenizer": library_json(normalizer__strip_accents=False)},
        "json, not cleaned": {"tokenizer": library_json(normalizer__clean_text=False)},
        "json, ideographs": {"tokenizer": library_json(normalizer__handle_chinese_chars=False)},
        "json, prefix": {"tokenizer": library_json(model__continuing_subword_prefix="@@")},
        "json, long words": {"tokenizer": library_json(model__max_input_chars_per_word=80)},
        "json, truncation": {"tokenizer": library_json(truncation=LEFT)},
        "json, a gap": {"tokenizer": library_json(model__vocab={
            **{token: i for i, token in enumerate(VOCABULARY)}, "far": COUNT + 9}),
                        "tokenizer_config": {**config, "extra_special_tokens": ["a", "[foo]"]}},
        "json, added": {"tokenizer": library_json(added_tokens=[X, FOO])},
        "json, added here and there": {"tokenizer": library_json(added_tokens=[X]),
                                       "added_tokens": {"<x>": COUNT, "[foo]": COUNT + 1}},
        "json, list of the map": {"tokenizer": library_json(),
                                  "special_tokens_map": {"additional_special_tokens": ["<x>"]}},
        "json, added and decoder": {
            "tokenizer": library_json(added_tokens=[X]),
            "tokenizer_config": {**config, "added_tokens_decoder": {
                str(COUNT + (1 if config else 0)): without_id(FOO)}}},
        "json, names": {"tokenizer": library_json(), "tokenizer_config": {
            **config, "sep_token": "the", "cls_token": "x"}},
    }.items()})

REFUSED = {
    "an id with a gap": ({"added_tokens": {"<x>": COUNT + 5}}, "its id is 32 in the file, but 27"),
    "a gap in tokenizer.json": ({"vocab": None, "tokenizer": library_json(
        added_tokens=[flags(COUNT + 5, "<x>")])}, "'<x>'"),
    "a byte order mark": ({"vocab": ["\ufeff[PAD]", *VOCABULARY[1:]]}, "vocab.txt:1:1:"),
    "no unk_token": ({"vocab": replaced("[UNK]", "<unk>")}, "'[UNK]' is not in the vocabulary"),
    "another class": ({"tokenizer_config": {"tokenizer_class": "T5Tokenizer"}}, "T5Tokenizer"),
    "no tokenizer.json": ({"tokenizer_config": FAST}, "which is not there"),
    "padding before": ({"tokenizer_config": {"padding_side": "left"}}, "'padding_side': \"left\""),
    "special tokens split": ({"tokenizer_config": {"split_special_tokens": True}}, ":1:26:"),
    "a flag that is none": ({"tokenizer_config": {"do_lower_case": "no"}}, "not true or false"),
    "padding in json": ({"vocab": None, "tokenizer": library_json(padding={
        "strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": None, "pad_id": 0,
        "pad_type_id": 0, "pad_token": "[PAD]"})}, "padding before a text"),
}


def write_folder(folder, case):
    files = {"config": {"model_type": "bert"}, "vocab": VOCABULARY, "tokenizer_config": {}, **case}
    folder.mkdir()
    for name, content in files.items():
        if name == "vocab" and content is not None:
            (folder / "vocab.txt").write_text("\n".join(content) + "\n", encoding="utf-8")
        elif content is not None and name not in ("vocab", "says", "quiet", "texts"):
            (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def ours(program, folder, requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([program, folder], input=lines.encode(), capture_output=True)
    said = done.stderr.decode()
    if done.returncode:
        sys.exit(f"{folder.name}: {said}")
    return [json.loads(line) for line in done.stdout.splitlines()], said


def theirs(tokenizer, request):
    if "question" in request:
        windows = tokenizer([request["question"]], [request["context"]], truncation="only_second",
                            max_length=request["max"], stride=request["stride"],
                            return_overflowing_tokens=True)
        return {"windows": windows["input_ids"]}
    arguments = [[request["first"]]] + ([] if request["second"] is None else [[request["second"]]])
    encoding = tokenizer(*arguments, truncation="longest_first", max_length=request["max"])
    ids = encoding["input_ids"][0]
    return {"ids": ids, "types": encoding.get("token_type_ids", [[0] * len(ids)])[0]}


def requests_of(texts):
    single = [{"first": text, "second": None, "max": most} for text in texts for most in (512, 8)]
    pairs = [{"first": a, "second": b, "max": most}
             for a, b in zip(texts, reversed(texts)) for most in (512, 9)]
    asked = [{"question": "a b", "context": text, "max": 12, "stride": 3} for text in texts if text]
    return single + pairs + asked


def compare(name, answers, tokenizer, requests):
    wrong = 0
    for request, mine in zip(requests, answers):
        if "windows" in mine:
            mine = {"windows": [window["ids"] for window in mine["windows"]]}
        expected = theirs(tokenizer, request)
        if mine != expected:
            wrong += 1
            if wrong <= 3:
                print(f"{name}: {request!r}\n  ours   {mine}\n  theirs {expected}")
    return wrong


def check_case(program, root, name, case):
    folder = write_folder(root / name, case)
    requests = requests_of(case.get("texts", TEXTS))
    answers, said = ours(program, folder, requests)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    wrong = compare(name, answers, tokenizer, requests)
    if case.get("says", "") not in said or (case.get("quiet") and said):
        print(f"{name}: the log is {said!r}")
        wrong += 1
    saved = root / (name + ", saved")
    saved.mkdir()
    # Files of another run must not count.
    (saved / "added_tokens.json").write_text('{"old": 99}', encoding="utf-8")
    (saved / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    subprocess.run([program, folder, "save", saved], check=True, stderr=subprocess.DEVNULL)
    again = AutoTokenizer.from_pretrained(saved)
    wrong += compare(name + ", saved and read by transformers", answers, again, requests)
    if ours(program, saved, requests)[0] != answers:
        print(f"{name}: saved and read by us, it gives other ids")
        wrong += 1
    for what in ("model_max_length", "truncation_side"):
        if getattr(again, what) != getattr(tokenizer, what):
            print(f"{name}: saved, {what} is {getattr(again, what)}")
            wrong += 1
    return wrong


def check_refusal(program, root, name, case, words):
    folder = write_folder(root / name, case)
    done = subprocess.run([program, folder], input=b"", capture_output=True)
    said = done.stderr.decode()
    if done.returncode == 65 and words in said and str(folder) in said:
        return 0
    print(f"{name}: status {done.returncode}, {said!r}")
    return 1


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        wrong = sum(check_case(program, root, name, case) for name, case in CASES.items())
        wrong += sum(check_refusal(program, root, name, case, words)
                     for name, (case, words) in REFUSED.items())
    print(f"{len(CASES)} folders compared, {len(REFUSED)} refused, {wrong} differences")
    if wrong:
        sys.exit("the tokenizers differ")


if __name__ == "__main__":
    main()
