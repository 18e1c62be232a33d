// Readers of a run's settings and state: option files, training_state.json, checksums,
// transformers' trainer_state.json.

#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/fd.h"
#include "launcher/forecast/step_profile.h"
#include "tests/fuzz/reader.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checksums.h"
#include "trainer/checkpoint/saved_state.h"
#include "trainer/report/results.h"
#include "trainer/settings/argument_file.h"
#include "trainer/step/optimizer_state.h"

namespace dtl::fuzz {
namespace {

using namespace trainer;

Reader options_reader(const Folder& folder, const std::string& file,
                      std::vector<std::string> seeds) {
  return {file,
          std::move(seeds),
          {"true", "null", "1e999", "99999999999999999999", "[\"a\"]", "'''", "\"\"\"", "[[a]]",
           "{a=1}", "a.b", "2024-02-30", "0x7f", "\\u0000", "\\UFFFFFFFF", "inf", "-nan", "\xff"},
          [&folder, file](const std::string& bytes) {
            for (const FileArgument& argument : read_argument_file(folder.write(file, bytes))) {
              require(!argument.value.empty(), "an option without a value");
              require(!argument.at.place.empty(), "an option from nowhere");
            }
          },
          names(folder.file(file))};
}

ModelConfig small_model() {
  ModelConfig config;
  config.vocab_size = 5;
  config.hidden_size = config.intermediate_size = 4;
  config.layers = config.heads = 1;
  config.max_positions = 4;
  config.labels = {"no", "yes"};
  return config;
}

// A checkpoint in which one file is the input.
struct SavedRun {
  SavedRun() {
    write_training_state(folder.path(), small_model(), layout, {},
                         state_at_start(std::vector<float>(static_cast<std::size_t>(layout.total)),
                                        optimizer_state(layout, {})));
  }
  Folder folder;
  ParameterLayout layout = layout_parameters(small_model());
};

Reader step_profile_reader(const Folder& folder) {
  return {
      "step_profile.json",
      {R"({"schema": "dttrain-step-profile/1", "ranks": 2, "ranks_per_node": 1, "threads": 1, "cpus": 1, "comm_cpus": 0,
               "gradient_wire": "f32", "word_row_bytes": 8, "word_shares": 3,
               "word_rows": [{"uses": 1, "words": 5}], "buckets": [{"bytes": 4, "before_end_s": 0}],
               "steps": [{"step_s": 2, "forward_s": 0.5, "backward_s": 1, "network_s": 0.25,
                          "optimizer_s": 0.25, "early_optimizer_s": 0.125, "tokens": 8}]})"},
      {"1e999", "-1", "null", "bf16", "65535", "1e-300"},
      [&folder](const std::string& bytes) {
        folder.write("step_profile.json", bytes);
        const MeasuredStep step = read_step_profile(folder.path()).step;
        const ForecastRow row = forecast(step, {1, 0.5, 2, 50, 1}, 10000);
        require(std::isfinite(row.step_s) && row.step_s > 0, "a step without a time");
        require(row.speed_up > 0 && row.speed_up <= 10000.001, "an impossible speed-up");
      },
      names(folder.file("step_profile.json"))};
}

Reader saved_state_reader() {
  const auto run = std::make_shared<const SavedRun>();
  const std::string file = "training_state.json";
  return {file,
          {read_file(run->folder.file(file), 1 << 20)},
          {"18446744073709551616", "-1", "1e999", "null", "cosine", "adamw_hf", "\"\""},
          [run, file](const std::string& bytes) {
            run->folder.write(file, bytes);
            const TrainingState state = read_training_state(run->folder.path(), run->layout, {});
            read_training_cost(run->folder.path());
            require(state.step >= 0, "a step before the first");
            require(state.m.size() == static_cast<std::size_t>(run->layout.total), "moments");
          },
          names(run->folder.path())};
}

// If a checksum list is accepted, the files that it names exist.
Reader checksums_reader() {
  const auto folder = std::make_shared<const Folder>();
  const std::string file = "checksums.txt";
  folder->write("model", "weights");
  folder->write("a b", "");
  write_checksums(folder->path());
  return {file,
          {read_file(folder->file(file), 1 << 20)},
          {"model", "a b", "../", "/dev/zero", ".", "checksums.txt", "00000000", " 0 ", "\n\n",
           "18446744073709551616", " files, CRC-32C and size of each"},
          [folder, file](const std::string& bytes) {
            const std::string path = folder->write(file, bytes);
            if (const auto damage = find_damage(folder->path())) {
              throw Error(Exit::kBadInput, path, *damage);
            }
            require(bytes.find(" files, CRC-32C") != std::string::npos, "no first line");
            require(bytes.find('/') == std::string::npos, "a file elsewhere");
          },
          names(folder->file(file))};
}

Reader trainer_state_reader() {
  const std::string file = "trainer_state.json";
  PolicySettings policy;
  policy.metric = "loss";
  return {file,
          {R"({"epoch":1.5,"global_step":10,"best_metric":0.25,"best_global_step":5,)"
           R"("best_model_checkpoint":"out/checkpoint-5","total_flos":1e9,)"
           R"("num_input_tokens_seen":7,"log_history":[{"step":5,"epoch":0.5,"eval_loss":0.25},)"
           R"({"step":10,"loss":0.5}],"stateful_callbacks":{"EarlyStoppingCallback":{"args":{},)"
           R"("attributes":{"early_stopping_patience_counter":1}}}})",
           R"({"epoch":0,"global_step":0,"log_history":[]})"},
          {"1e300", "-1e300", "1e999", "18446744073709551615", "-1", "null", "{}", "checkpoint-"},
          [policy, file](const std::string& bytes) {
            Results results("");
            const Results::Restored restored = results.restore(bytes, policy.metric, file);
            results.start({}, policy);
            require(!results.state_text().empty(), "nothing to save");
            require(restored.step >= 0, "a step before the first");
          },
          names(file)};
}

}  // namespace

std::vector<Reader> run_readers(const Folder& folder) {
  return {options_reader(folder, "options.json",
                         {R"({"--model-name": "m", "max_steps": 3, "learning_rate": 2e-5,)"
                          R"( "do_train": true, "x": ["a", "b"], "y": null})"}),
          options_reader(folder, "options.toml",
                         {"max_steps = 10\nlearning_rate = 2e-5\ndo_train = true\n"
                          "x = \"\"\"y\nz\"\"\"\n\"y\" = 'b'\n"}),
          step_profile_reader(folder),
          saved_state_reader(),
          checksums_reader(),
          trainer_state_reader()};
}

}  // namespace dtl::fuzz
