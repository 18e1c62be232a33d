"""What run_qa and SQuAD's official scripts compute, written again for comparison: the search for the
n best answers in the logits of windows, and exact match and F1 of versions 1.1 and 2.0.
"""
import re
import string
from collections import Counter

import numpy as np


def window_candidates(window, places, n_best, longest):
    """Yields (offsets, score, start logit, end logit) in the order of run_qa's loops."""
    starts, ends = (np.argsort(window[:, side])[-1:-n_best - 1:-1].tolist() for side in (0, 1))
    for start in starts:
        for end in ends:
            if places[start] == [-1, -1] or places[end] == [-1, -1]:
                continue
            if start <= end < start + longest:
                yield ((places[start][0], places[end][1]), window[start, 0] + window[end, 1],
                       window[start, 0], window[end, 1])


def best_answers(context, windows, n_best, longest, version_2):
    """Returns the n best as dictionaries with their scores, and the score of the null answer."""
    found, null = [], None
    for window, places in windows:
        score = window[0, 0] + window[0, 1]
        if null is None or score < null[1]:
            null = ((0, 0), score, window[0, 0], window[0, 1])
        found += window_candidates(window, places, n_best, longest)
    if version_2:
        found.append(null)
    found = sorted(found, key=lambda candidate: candidate[1], reverse=True)[:n_best]
    if version_2 and all(candidate[0] != (0, 0) for candidate in found):
        found.append(null)
    best = [{"start_logit": float(s), "end_logit": float(e), "text": context[o[0]:o[1]],
             "score": score} for o, score, s, e in found]
    if not best or (len(best) == 1 and best[0]["text"] == ""):
        best.insert(0, {"start_logit": 0.0, "end_logit": 0.0, "text": "empty", "score": 0.0})
    return best, null[1]


def postprocess(questions, features, logits, n_best, longest, version_2, threshold):
    """Returns predictions, n-best lists and null odds, each by the question's id."""
    windows = {}
    for window, places, question in zip(logits, features["offsets"], features["questions"]):
        windows.setdefault(question, []).append((window, places))
    predictions, nbest, odds = {}, {}, {}
    for i, question in enumerate(questions):
        best, null = best_answers(question["context"], windows[i], n_best, longest, version_2)
        scores = np.array([candidate.pop("score") for candidate in best], dtype=np.float64)
        shares = np.exp(scores - scores.max())
        for candidate, share in zip(best, shares / shares.sum()):
            candidate["probability"] = float(share)
        nbest[question["id"]] = best
        text = best[0]["text"]
        if version_2:
            answer = next(candidate for candidate in best if candidate["text"])
            difference = null - np.float32(answer["start_logit"]) - np.float32(answer["end_logit"])
            odds[question["id"]] = float(difference)
            text = "" if difference > threshold else answer["text"]
        predictions[question["id"]] = text
    return predictions, nbest, odds


def normalize(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(gold, answer, empty_may_agree):
    gold, answer = normalize(gold).split(), normalize(answer).split()
    if empty_may_agree and not (gold and answer):
        return float(gold == answer)
    same = sum((Counter(gold) & Counter(answer)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(answer), same / len(gold)
    return 2 * precision * recall / (precision + recall)


def exact(gold, answer):
    return float(normalize(gold) == normalize(answer))


def squad_v1(questions, predictions):
    sums = [0.0, 0.0]
    for question in questions:
        answer = predictions[question["id"]]
        for gold_score, k in ((exact, 0), (lambda g, a: f1(g, a, False), 1)):
            sums[k] += max((gold_score(gold, answer) for gold in question["answers"]["text"]),
                           default=0.0)
    return {"exact_match": 100 * sums[0] / len(questions), "f1": 100 * sums[1] / len(questions)}


def best_threshold(questions, predictions, scores, no_answer):
    current = sum(not question["answers"]["text"] for question in questions)
    best, threshold = current, 0.0
    for question in sorted(questions, key=lambda question: no_answer[question["id"]]):
        key = question["id"]
        if question["answers"]["text"]:
            current += scores[key]
        else:
            current -= bool(predictions[key])
        if current > best:
            best, threshold = current, no_answer[key]
    return 100 * best / len(questions), threshold


def squad_v2(questions, predictions, no_answer):
    exacts, f1s = {}, {}
    for question in questions:
        key = question["id"]
        golds = [text for text in question["answers"]["text"] if normalize(text)] or [""]
        exacts[key] = max(exact(gold, predictions[key]) for gold in golds)
        f1s[key] = max(f1(gold, predictions[key], True) for gold in golds)
    result = {}
    for prefix, wanted in (("", (True, False)), ("HasAns_", (True,)), ("NoAns_", (False,))):
        keys = [q["id"] for q in questions if bool(q["answers"]["text"]) in wanted]
        result[prefix + "exact"] = 100 * sum(exacts[key] for key in keys) / len(keys)
        result[prefix + "f1"] = 100 * sum(f1s[key] for key in keys) / len(keys)
        result[prefix + "total"] = len(keys)
    for name, scores in (("exact", exacts), ("f1", f1s)):
        best, threshold = best_threshold(questions, predictions, scores, no_answer)
        result["best_" + name], result[f"best_{name}_thresh"] = best, threshold
    return result
