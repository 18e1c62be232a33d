"""SentencePiece's tokenizers (XLM-RoBERTa, CamemBERT, DeBERTa-v2, and any file with a Unigram model)
against AutoTokenizer: ids, offsets, pairs, windows, words, and the folders that we save. With pip's
sentencepiece also its own files: spm.model, sentencepiece.bpe.model.

unigram_parity.py ENCODE_LINES [--lines N] [--seed S]: N lines of the texts that this system has.
unigram_parity.py ENCODE_LINES --speed: times both on one thread instead.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tokenizers import (AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers,
                        trainers)
from transformers import AutoTokenizer, CamembertTokenizer, DebertaV2Tokenizer, XLMRobertaTokenizer

import pieces_parity
from pieces_parity import ADDED, CHUNK, SPECIALS, check, template, whole, write_config
from text_corpus import lines
from tokenizer_parity import noise

try:
    import sentencepiece
    from transformers.convert_slow_tokenizer import import_protobuf
except ImportError:
    sentencepiece = None

TORTURE = pieces_parity.TORTURE + [
    "▁", "▁▁", " ▁ ", "▁a ▁b", "a▁b", "\u200b", "\x01a", "a\x01", "\x01\x02\x01", "\x01 a b",
    "a\u0301\u0301\u0301 b", "\u0301", "ﬁ ﬃ ① Ⅷ ㍿ ｶﾞ ﾊﾟ", "\r\n", "a\r\nb\n\r", "\u0600a \u0d4ea",
    "#️⃣ 1️⃣ ☺️ ❤️", "🇩🇪🇫🇷🇬 a", "ｶﾞｷﾞ ｸﾞ", "\u1100\u1161\u11a8\u1100", "½ ¼ ™ № ℡", "ſ ẞ ß İ ı",
    "<s>NOTUSED a</s>NOTUSED", "<unk> a<unk>b <unk><unk>", "[CLS] a[MASK]b [SEP] [UNK]", "a\tb\nc\rd",
    "\u3000ａ\u3000 ｂ", "\xa0a\xa0\xa0b\xa0", "x\u00adx", "e\u0301" * 30000, "\u0301" * 30000,
    "क्ष" * 20000, "<0x41> <0x00>", "日本語のテキスト。中文文本，没有空格。",
]


def sentence_pieces(root, name, texts, size=2000, **options):
    """A model file of SentencePiece."""
    (root / "train").write_text("\n".join(t.replace("\n", " ") for t in texts), encoding="utf-8")
    options = {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc", **options}
    sentencepiece.SentencePieceTrainer.train(
        input=str(root / "train"), model_prefix=str(root / name), vocab_size=size, num_threads=1,
        character_coverage=0.99, minloglevel=2, **options)
    return root / (name + ".model")


def fields_of(model):
    proto = import_protobuf().ModelProto()
    proto.ParseFromString(model.read_bytes())
    table = proto.normalizer_spec.precompiled_charsmap
    return [(piece.piece, piece.score) for piece in proto.pieces], table or None, proto


def spm_folder(root, name, model, model_type, file, **config):
    """SentencePiece's own file alone."""
    folder = root / name
    folder.mkdir()
    (folder / file).write_bytes(model.read_bytes())
    write_config(folder, model_type, **config)
    return folder


def saved_folder(root, name, model_type, tokenizer):
    folder = root / name
    tokenizer.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
    return folder


def edited(root, name, folder, config=None, **changes):
    """The same folder with another tokenizer_config.json, and other objects in tokenizer.json."""
    other = root / name
    other.mkdir()
    (other / "config.json").write_bytes((folder / "config.json").read_bytes())
    text = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    for key, value in changes.items():
        text[key] = {**text[key], **value} if key == "model" else value
    (other / "tokenizer.json").write_text(json.dumps(text), encoding="utf-8")
    if config is not None:
        (other / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return other


def xlm_vocabulary(pieces):
    return ([("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + pieces[3:]
            + [("<mask>", 0.0)])


FEW = 30  # lines in CI, where only some folders get the long texts
LONG = ("learnt", "whole, nfkc_cf, bytes", "xlm-roberta", "deberta")
DEBERTA = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "pad_piece": "[PAD]",
           "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"}


def class_folders(root, xlm, deberta):
    """The classes that have steps of their own."""
    pieces, table, _ = xlm
    vocab = xlm_vocabulary(pieces)
    xlm_roberta = saved_folder(root, "xlm-roberta", "xlm-roberta", XLMRobertaTokenizer(
        vocab=vocab, _spm_precompiled_charsmap=table))
    yield xlm_roberta
    yield saved_folder(root, "xlm-roberta, no table, no prefix", "xlm-roberta", XLMRobertaTokenizer(
        vocab=vocab, add_prefix_space=False))
    yield saved_folder(root, "xlm-roberta, added", "xlm-roberta", XLMRobertaTokenizer(
        vocab=vocab, _spm_precompiled_charsmap=table, extra_special_tokens=["<tag>", "Whole"],
        truncation_side="left", model_max_length=77,
        mask_token=AddedToken("<mask>", lstrip=True, special=True, normalized=False)))
    yield edited(root, "xlm-roberta, no settings", xlm_roberta)
    # transformers takes neither from the file.
    yield edited(root, "xlm-roberta, other steps", xlm_roberta, {"tokenizer_class": "XLMRobertaTokenizerFast"},
                 model={"unk_id": 0, "byte_fallback": True}, normalizer=normalizers_json(table),
                 pre_tokenizer={"type": "Metaspace", "replacement": "▁", "add_prefix_space": True})
    vocab = ([("<s>NOTUSED", 0.0), ("<pad>", 0.0), ("</s>NOTUSED", 0.0), ("<unk>", 0.0),
              ("<unk>NOTUSED", -100.0)] + pieces[1:] + [("<mask>", 0.0)])
    camembert = saved_folder(root, "camembert", "camembert", CamembertTokenizer(
        vocab=vocab, _spm_precompiled_charsmap=table))
    yield camembert
    yield edited(root, "camembert, no settings", camembert, added_tokens=[])
    yield edited(root, "camembert, nothing extra", camembert,
                 {"tokenizer_class": "CamembertTokenizer", "extra_special_tokens": []})
    yield edited(root, "camembert, two extra", camembert, {
        "tokenizer_class": "CamembertTokenizer",
        "additional_special_tokens": ["<s>NOTUSED", "</s>NOTUSED"]})
    pieces = deberta[0]
    yield saved_folder(root, "deberta", "deberta-v2", DebertaV2Tokenizer(vocab=pieces))
    yield saved_folder(root, "deberta, lower", "deberta-v2", DebertaV2Tokenizer(
        vocab=pieces, do_lower_case=True, split_by_punct=True))
    yield saved_folder(root, "deberta, first", "deberta-v2", DebertaV2Tokenizer(
        vocab=pieces, add_prefix_space=False))


def normalizers_json(table):
    steps = [normalizers.Precompiled(table)] if table else []
    steps += [normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "▁")]
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0)], 0))
    tokenizer.normalizer = normalizers.Sequence(steps)
    return json.loads(tokenizer.to_str())["normalizer"]


def spm_folders(root, xlm, deberta):
    yield spm_folder(root, "xlm-roberta, spm", xlm, "xlm-roberta", "sentencepiece.bpe.model",
                     tokenizer_class="XLMRobertaTokenizer")
    yield spm_folder(root, "camembert, spm", xlm, "camembert", "sentencepiece.bpe.model")
    yield spm_folder(root, "deberta, spm", deberta, "deberta-v2", "spm.model",
                     do_lower_case=False, vocab_type="spm")


def whole_unigram(root, name, vocab, unknown, fallback, normalizer, pre_tokenizer, **options):
    learnt = Tokenizer(models.Unigram(vocab, unknown, fallback))
    return whole(root, name, learnt, template("<s>", "</s>", True, 0), normalizer=normalizer,
                 pre_tokenizer=pre_tokenizer, **options)


def learnt_folders(root, texts):
    """Vocabularies of tokenizers' trainer."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(texts, trainers.UnigramTrainer(
        vocab_size=1500, special_tokens=SPECIALS, unk_token="<unk>", show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    vocab = [tuple(piece) for piece in model["vocab"]]
    unknown = model["unk_id"]
    yield whole_unigram(root, "learnt", vocab, unknown, False, normalizers.NFKC(),
                        pre_tokenizers.Metaspace(), added=ADDED)
    yield whole_unigram(root, "learnt, first", vocab, unknown, False,
                        normalizers.Sequence([normalizers.Strip(),
                                              normalizers.Replace(Regex(r"\s+"), " ")]),
                        pre_tokenizers.Metaspace(prepend_scheme="first"), added=ADDED)
    yield whole_unigram(root, "learnt, not split", vocab, unknown, False,
                        normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), "--"),
                        pre_tokenizers.Sequence([
                            pre_tokenizers.Punctuation(behavior="isolated"),
                            pre_tokenizers.Metaspace(prepend_scheme="never", split=False)]))
    # Ties: many paths have the same score.
    coarse = [(piece, round(score)) for piece, score in vocab]
    yield whole_unigram(root, "ties", coarse, unknown, False, None, pre_tokenizers.Metaspace())


def table_folders(root, models_of):
    for name, (pieces, table, proto) in models_of.items():
        vocab = xlm_vocabulary(pieces)
        fallback = proto.trainer_spec.byte_fallback
        yield whole_unigram(
            root, f"whole, {name}", vocab, 3, fallback,
            normalizers.Precompiled(table) if table else None,
            pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]))
        yield whole_unigram(
            root, f"whole, {name}, as converted", vocab, 3, fallback,
            normalizers.Sequence(([normalizers.Precompiled(table)] if table else [])
                                 + [normalizers.Strip(left=False, right=True),
                                    normalizers.Replace(Regex(" {2,}"), "▁")]),
            pre_tokenizers.Metaspace(), added=ADDED)


def all_folders(root, corpus):
    yield from learnt_folders(root, corpus)
    if sentencepiece is None:
        print("without pip's sentencepiece: no tables, no files of SentencePiece")
        return
    kinds = {"nmt_nfkc": {}, "nfkc_cf, bytes": {"normalization_rule_name": "nfkc_cf",
                                                "byte_fallback": True},
             "identity, bytes": {"normalization_rule_name": "identity", "byte_fallback": True}}
    files = {name: sentence_pieces(root, f"model{i}", corpus, **options)
             for i, (name, options) in enumerate(kinds.items())}
    deberta = sentence_pieces(root, "deberta-model", corpus, **DEBERTA)
    xlm = files["nmt_nfkc"]
    yield from table_folders(root, {name: fields_of(file) for name, file in files.items()})
    yield from class_folders(root, fields_of(xlm), fields_of(deberta))
    yield from spm_folders(root, xlm, deberta)


def check_refusals(program, root):
    """Files that are damaged, or that have what we do not implement."""
    good = root / "learnt"
    precompiled = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
    cases = {
        "no unk_id": ({"model": {"unk_id": None}}, "unk_id"),
        "a large unk_id": ({"model": {"unk_id": 1 << 20}}, "unk_id"),
        "no pieces": ({"model": {"vocab": []}}, "model.vocab"),
        "a piece": ({"model": {"vocab": [["<unk>"]]}}, "not a text and its score"),
        "a table": ({"normalizer": precompiled}, "precompiled_charsmap"),
        "an expression": ({"normalizer": {"type": "Replace", "pattern": {"Regex": "a+"},
                                          "content": "b"}}, "a+"),
        "a scheme": ({"pre_tokenizer": {"type": "Metaspace", "replacement": "▁",
                                        "prepend_scheme": "x"}}, "prepend_scheme"),
        "schemes that differ": ({"pre_tokenizer": {
            "type": "Metaspace", "replacement": "▁", "prepend_scheme": "first",
            "add_prefix_space": False}}, "add_prefix_space"),
        "a behavior": ({"pre_tokenizer": {"type": "Punctuation", "behavior": "Removed"}}, "behavior"),
    }
    wrong = 0
    for name, (changes, words) in cases.items():
        bad = edited(root, "refused, " + name, good,
                     json.loads((good / "tokenizer_config.json").read_text(encoding="utf-8")), **changes)
        done = subprocess.run([program, bad], input=b"", capture_output=True)
        said = done.stderr.decode()
        if done.returncode != 65 or words not in said or f"{bad}/tokenizer.json:" not in said:
            print(f"{name}: status {done.returncode}, {said!r}")
            wrong += 1
    print(f"{len(cases)} folders refused, {wrong} wrong")
    return wrong


def large_vocabulary(texts):
    """250,000 pieces, as XLM-RoBERTa has: words and parts of words by frequency."""
    counts = {}
    for text in texts:
        for word in text.split():
            word = "▁" + word[:16]
            for length in (1, 2, 3, 4, 6, 9, len(word)):
                for at in range(len(word) - length + 1):
                    piece = word[at:at + length]
                    counts[piece] = counts.get(piece, 0) + 1
    best = sorted(counts, key=lambda piece: (-counts[piece], piece))[:250000]
    return [(piece, -4 - i / 30000) for i, piece in enumerate(best)]


def speed(program, root, seed):
    """Seconds for the same lines on one thread, ours and tokenizers', in turn."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    texts = list(lines(200000, seed))
    file = root / "lines"
    file.write_text("\n".join(text.replace("\n", " ").replace("\r", " ") for text in texts),
                    encoding="utf-8")
    texts = file.read_text(encoding="utf-8").split("\n")
    size = file.stat().st_size
    model = sentence_pieces(root, "table", texts[:5000])
    _, table, _ = fields_of(model)
    pieces = large_vocabulary(texts)
    folders = [saved_folder(root, "xlm-roberta", "xlm-roberta", XLMRobertaTokenizer(
                   vocab=xlm_vocabulary([("", 0.0)] * 3 + pieces), _spm_precompiled_charsmap=table)),
               saved_folder(root, "deberta", "deberta-v2", DebertaV2Tokenizer(
                   vocab=[("[PAD]", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0), ("[UNK]", 0.0)]
                   + pieces[:128000]))]
    for folder in folders:
        theirs, ours, loads = [], [], []
        for _ in range(3):
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            begin = time.monotonic()
            for start in range(0, len(texts), CHUNK):
                tokenizer.encode_batch_fast(texts[start:start + CHUNK])
            theirs.append(time.monotonic() - begin)
            done = subprocess.run([program, folder, "time", file], capture_output=True, check=True)
            answer = json.loads(done.stdout)
            ours.append(answer["seconds"])
            loads.append(answer["load"])
        print(f"{folder.name}: {len(texts)} lines, {size / 1e6:.1f} MB: ours {min(ours):.2f} s, "
              f"tokenizers {min(theirs):.2f} s: {min(theirs) / min(ours):.2f} x; "
              f"loaded in {min(loads):.2f} s")


def blocks(texts, size=20000):
    """Parts of the texts: the answers to a million of them would take more memory than a machine has."""
    return (texts[at:at + size] for at in range(0, len(texts), size))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--lines", type=int, default=FEW)
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
        corpus = list(lines(max(given.lines, 2500), given.seed))
        texts = TORTURE + list(noise(13, 40)) + corpus[:given.lines]
        short = [text for text in texts if len(text) < 1000]
        wrong = 0
        for folder in all_folders(root, corpus[:4000]):
            if given.only in folder.name:
                every = folder.name in LONG or given.lines > FEW
                for block in blocks(texts if every else short):
                    wrong += check(given.program, folder, block, scratch)
        wrong += check_refusals(given.program, root)
    if wrong:
        sys.exit(f"{wrong} differences")
    return None


if __name__ == "__main__":
    main()
