// For comparisons with Python packages:
//   state_here tensors FILE OUT       the tensors with values that read_tensors() finds, as
//                                     safetensors
//   state_here schedule TOTAL OPTION ...  factors of the steps 0 .. TOTAL, one per line
//   state_here optimize FILE OUT STEPS OPTION ...
//       updates the tensors p.NAME of the file by the gradients g0.NAME, g1.NAME, ..
// OPTION: of dttrain, about schedule and optimizer.

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "trainer/files/safetensors.h"
#include "trainer/files/tensor_files.h"
#include "trainer/job/optimizer_settings.h"
#include "trainer/settings/settings.h"
#include "trainer/step/optimizer_state.h"

namespace {

using namespace dtl::trainer;

OptimizerSettings settings_of(std::int64_t total, const std::vector<std::string>& options) {
  std::vector<std::string> words = {
      "--model_name_or_path", "m", "--do_train", "--train_file", "t.tsv", "--output_dir", "o"};
  words.insert(words.end(), options.begin(), options.end());
  return optimizer_settings(parse_settings(words), total);
}

void show_schedule(std::int64_t total, const std::vector<std::string>& options) {
  const OptimizerSettings o = settings_of(total, options);
  for (std::int64_t step = 0; step <= total; ++step) {
    fmt::print("{:.17g}\n",
               schedule_factor(o.schedule, step, o.warmup_steps, o.total_steps, o.shape));
  }
}

// Matrices decay; the one called p.word comes last in a step.
ParameterLayout layout_of(const TensorMap& tensors) {
  ParameterLayout layout;
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with("p.")) continue;
    ParameterInfo info;
    info.name = name.substr(2);
    info.shape = tensor.shape;
    info.offset = layout.total;
    info.count = static_cast<std::int64_t>(tensor.values.size());
    info.decay = tensor.shape.size() == 2;
    if (info.name == "word") layout.word = layout.total;
    layout.total += info.count;
    layout.tensors.push_back(info);
  }
  return layout;
}

std::vector<float> flat(const TensorMap& tensors, const ParameterLayout& layout,
                        const std::string& prefix) {
  std::vector<float> values;
  for (const ParameterInfo& info : layout.tensors) {
    const std::vector<float>& from = tensors.at(prefix + info.name).values;
    values.insert(values.end(), from.begin(), from.end());
  }
  return values;
}

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

void optimize(const std::string& from, const std::string& out, int steps,
              const std::vector<std::string>& options) {
  const TensorMap tensors = read_tensors(from);
  const ParameterLayout layout = layout_of(tensors);
  const OptimizerSettings settings = settings_of(steps, options);
  ThreadPool pool(2, false);
  const Optimizer optimizer(layout, settings, pool);
  TrainingState state =
      state_at_start(flat(tensors, layout, "p."), optimizer_state(layout, settings));
  for (int step = 0; step < steps; ++step) {
    const std::vector<float> gradients = flat(tensors, layout, fmt::format("g{}.", step));
    optimizer.step(norm_of(gradients), gradients.data(), state);
  }
  TensorMap result;
  for (const ParameterInfo& info : layout.tensors) {
    const auto begin = state.parameters.begin() + info.offset;
    result[info.name] = {info.shape, std::vector<float>(begin, begin + info.count)};
  }
  write_safetensors(out, result);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string what = words.empty() ? "" : words[0];
  try {
    if (what == "tensors" && words.size() == 3) {
      TensorMap tensors = read_tensors(words[1]);
      std::erase_if(tensors, [](const auto& each) { return !each.second.whole_type.empty(); });
      write_safetensors(words[2], tensors);
      return 0;
    }
    if (what == "schedule" && words.size() >= 2) {
      show_schedule(std::atoll(words[1].c_str()), {words.begin() + 2, words.end()});
      return 0;
    }
    if (what == "optimize" && words.size() >= 4) {
      optimize(words[1], words[2], std::atoi(words[3].c_str()), {words.begin() + 4, words.end()});
      return 0;
    }
  } catch (const dtl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.status());
  }
  fmt::print(stderr,
             "usage: state_here tensors FILE OUT | schedule TOTAL OPTION ... | optimize FILE OUT "
             "STEPS OPTION ...\n");
  return 64;
}
