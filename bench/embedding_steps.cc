// Training steps of sentence embeddings on pairs of texts, as dttrain runs them: an encoder of
// MiniLM-L6's size with random weights, mean pooling, normalised, MultipleNegativesRankingLoss.
// embeddings.py runs this and the same steps by sentence-transformers.
// usage: embedding_steps EXAMPLES BATCH MICRO_BATCHES STEPS THREADS
//
// EXAMPLES has a line for each text, "id id ...", two lines for each pair. Runs on all ranks of a
// job. Prints one JSON object: for each step the seconds of its parts, the CPU's
// seconds, its tokens and loss.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/random_model.h"
#include "trainer/step/trainer.h"

namespace {

using namespace dtl::trainer;
using dtl::bench::random_weights;

Examples read_pairs(const std::string& path) {
  Examples examples;
  examples.texts = 2;
  examples.starts.push_back(0);
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    for (std::int32_t id = 0; words >> id;) examples.ids.push_back(id);
    examples.starts.push_back(static_cast<std::int64_t>(examples.ids.size()));
  }
  examples.types.resize(examples.ids.size());
  return examples;
}

ModelConfig configuration() {
  ModelConfig config;
  config.hidden_size = 384;
  config.layers = 6;
  config.heads = 12;
  config.intermediate_size = 1536;
  config.task = Task::kEmbeddings;
  config.embedding.normalize = true;
  return config;
}

// Of all threads of this process.
double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string step_text(const StepReport& report, double cpu) {
  const StepWork& work = report.work;
  return fmt::format(
      R"({{"tokens": {}, "loss": {:.5f}, "flops": {:.6g}, "forward": {:.6f}, "backward": {:.6f}, )"
      R"("network": {:.6f}, "optimizer": {:.6f}, "seconds": {:.6f}, "cpu": {:.6f}}})",
      report.tokens, report.loss, work.flops, work.forward_s, work.backward_s, work.network_s,
      work.optimizer_s, work.step_s, cpu);
}

int run(const std::vector<std::string>& arguments) {
  const Examples examples = read_pairs(arguments[0]);
  const int steps = std::stoi(arguments[3]);
  TrainSettings settings;
  settings.global_batch = std::stoi(arguments[1]);
  settings.accumulation = std::stoi(arguments[2]);
  settings.total_steps = steps;
  settings.optimizer.learning_rate = 2e-5;
  settings.optimizer.weight_decay = 0.01;
  settings.optimizer.total_steps = steps;
  prepare_gemm();
  Ranks group = Ranks::join();
  ThreadPool pool(std::stoi(arguments[4]), true);
  Model<float> model(configuration(), pool);
  Trainer trainer(model, settings, group, pool, random_weights(model.layout()));
  std::string text;
  for (int i = 0; i < steps; ++i) {
    const double before = cpu_seconds();
    const StepReport report = trainer.step(examples);
    const double cpu = cpu_seconds() - before;
    if (!(report.loss > 0 && report.loss < 20)) {
      std::cerr << "embedding_steps: the loss is " << report.loss << "\n";
      return 1;
    }
    text += (i > 0 ? ", " : "") + step_text(report, cpu);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  if (group.rank() == 0) {
    std::cout << fmt::format(R"({{"gemm": "{}", "kib": {}, "steps": [{}]}})"
                             "\n",
                             gemm_kernel_name(), usage.ru_maxrss, text);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: embedding_steps EXAMPLES BATCH MICRO_BATCHES STEPS THREADS\n";
    return 64;
  }
  return run({argv + 1, argv + argc});
}
