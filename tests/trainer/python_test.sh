#!/bin/sh
# python_test.sh SCRIPT ARGUMENT...: runs a test that compares with Python packages. DTL_TEST_PYTHON
# names an interpreter with torch, transformers, tokenizers and safetensors; without it, the test is
# skipped (status 77).
if [ -z "${DTL_TEST_PYTHON:-}" ]; then
  echo "skipped: DTL_TEST_PYTHON names no Python with transformers"
  exit 77
fi
if ! "$(dirname "$0")/../support/has_modules" "$DTL_TEST_PYTHON" transformers tokenizers safetensors; then
  echo "skipped: $DTL_TEST_PYTHON has no transformers, tokenizers and safetensors"
  exit 77
fi
export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error
exec "$DTL_TEST_PYTHON" "$@"
