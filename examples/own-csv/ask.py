"""Ask the trained model: python3 ask.py FOLDER "A text" ..."""

import sys

from transformers import pipeline

classify = pipeline("text-classification", model=sys.argv[1])
for text in sys.argv[2:]:
    answer = classify(text)[0]
    print(f"{answer['label']:10} {answer['score']:.2f}  {text}")
