// tokenize_pairs FOLDER FILE THREADS ROUNDS: tokenises the pairs of a data set as dttrain does.
// Prints each round's seconds and the sum of all ids as one JSON line. See bench/tokenizer.py.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>

#include "trainer/data/dataset.h"

int main(int argc, char** argv) {
  using namespace dtl::trainer;
  if (argc != 5) return 64;
  try {
    const Tokenizer tokenizer = Tokenizer::load(argv[1]);
    const TextDataset dataset = read_dataset(argv[2], DatasetOptions{.labelled = false});
    std::printf("{\"seconds\": [");
    Examples examples;
    for (int round = 0; round < std::atoi(argv[4]); ++round) {
      const auto start = std::chrono::steady_clock::now();
      examples = encode_dataset(dataset, tokenizer, {}, 128, std::atoi(argv[3]));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      std::printf("%s%.6f", round == 0 ? "" : ", ", took.count());
    }
    std::printf("], \"tokens\": %zu, \"sum\": %lld}\n", examples.ids.size(),
                std::accumulate(examples.ids.begin(), examples.ids.end(), 0LL));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tokenize_pairs: %s\n", error.what());
    return 65;
  }
}
