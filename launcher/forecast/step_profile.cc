// The times of steps are those of rank 0.
#include "launcher/forecast/step_profile.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl {
namespace {

using ProfileJson = nlohmann::json;

constexpr const char* kProfileName = "step_profile.json";
constexpr std::size_t kMostProfileBytes = 8 << 20;  // dttrain writes some 200 KiB
constexpr double kMostRanks = 65535;                // as dtlaunch
constexpr double kMostSeconds = 1e7, kMostCount = 1e15;
constexpr const char* kSchema = "dttrain-step-profile/1";

class Members {
 public:
  Members(const ProfileJson& object, std::string path, std::string where)
      : object_(object), path_(std::move(path)), where_(std::move(where)) {
    if (!object.is_object()) refuse("", "not an object");
  }

  double number(const char* name, double low, double high) const {
    const auto found = object_.find(name);
    if (found == object_.end()) refuse(name, "missing");
    if (!found->is_number()) refuse(name, "not a number");
    const double value = found->get<double>();
    if (!(value >= low && value <= high)) {
      refuse(name, fmt::format("{:g} is not from {:g} to {:g}", value, low, high));
    }
    return value;
  }
  int whole(const char* name) const { return static_cast<int>(number(name, 1, kMostRanks)); }
  std::int64_t count(const char* name) const {
    return static_cast<std::int64_t>(number(name, 0, kMostCount));
  }
  std::string word(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end() || !found->is_string()) refuse(name, "missing or not a text");
    return found->get<std::string>();
  }
  // Calls use(Members) for each element.
  template <class Use>
  void each(const char* name, const Use& use) const {
    const auto found = object_.find(name);
    if (found == object_.end() || !found->is_array()) refuse(name, "missing or not a list");
    for (std::size_t i = 0; i < found->size(); ++i) {
      use(Members((*found)[i], path_, fmt::format("{}{}[{}].", where_, name, i)));
    }
  }

  [[noreturn]] void refuse(const std::string& name, const std::string& why) const {
    std::string what = where_ + name;
    if (what.ends_with('.')) what.pop_back();
    throw file_error(path_, what, why, "dttrain again, with this version");
  }

 private:
  const ProfileJson& object_;
  std::string path_, where_;
};

void add_step(const Members& one, MeasuredStep& step, double& local_wait, double& tokens) {
  const double whole = one.number("step_s", 0, kMostSeconds);
  const double network = one.number("network_s", 0, kMostSeconds);
  step.whole_s.push_back(whole);
  step.computing_s.push_back(step.nodes == 1 ? whole : std::max(0.0, whole - network));
  if (step.nodes == 1) local_wait += network;
  step.passes_s +=
      one.number("forward_s", 0, kMostSeconds) + one.number("backward_s", 0, kMostSeconds);
  step.early_optimizer_s += one.number("early_optimizer_s", 0, kMostSeconds);
  tokens += one.number("tokens", 0, kMostCount);
}

}  // namespace

MeasuredStep parse_step_profile(const std::string& text, const std::string& path, int* threads) {
  const ProfileJson json = ProfileJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw file_error(path, "", "not a JSON object", "dttrain again");
  const Members all(json, path, "");
  if (const std::string schema = all.word("schema"); schema != kSchema) {
    all.refuse("schema", fmt::format("'{}' is not {}", schema, kSchema));
  }
  MeasuredStep step;
  step.ranks_per_node = all.whole("ranks_per_node");
  step.nodes = (all.whole("ranks") + step.ranks_per_node - 1) / step.ranks_per_node;
  step.wire = all.word("gradient_wire");
  if (step.wire != "f32" && step.wire != "bf16" && step.wire != "f16") {
    all.refuse("gradient_wire", fmt::format("'{}' is not f32, bf16 or f16", step.wire));
  }
  *threads = all.whole("threads");
  step.cpus = std::max(0.01, all.number("cpus", 0, kMostRanks));
  step.has_comm_core = all.number("comm_cpus", 0, kMostRanks) > 0;
  step.word_row_bytes = all.number("word_row_bytes", 0, 1e9);
  step.word_shares = all.count("word_shares");
  all.each("word_rows", [&](const Members& row) {
    const WordUse use{row.count("uses"), row.count("words")};
    if (use.uses < 1 || use.uses > step.word_shares) row.refuse("uses", "more than word_shares");
    step.words.push_back(use);
  });
  all.each("buckets", [&](const Members& bucket) {
    step.buckets.push_back(
        {bucket.number("bytes", 0, kMostCount), bucket.number("before_end_s", 0, kMostSeconds)});
  });
  double local_wait = 0, tokens = 0;
  all.each("steps", [&](const Members& one) { add_step(one, step, local_wait, tokens); });
  if (step.whole_s.empty()) all.refuse("steps", "empty");
  const auto count = static_cast<double>(step.whole_s.size());
  if (std::accumulate(step.computing_s.begin(), step.computing_s.end(), 0.0) <= 0) {
    all.refuse("steps", "they took no time");
  }
  step.local_wait_s = local_wait / count;
  step.passes_s /= count;
  step.early_optimizer_s /= count;
  step.tokens_per_node = tokens / count / step.nodes;
  return step;
}

ReadProfile read_step_profile(const std::string& folder) {
  const bool is_file = std::filesystem::path(folder).filename() == kProfileName;
  const std::string path =
      is_file ? folder : (std::filesystem::path(folder) / kProfileName).string();
  if (!std::filesystem::exists(path)) {
    throw cannot_read(path,
                      "it does not exist; a training of dttrain with two steps or more writes it",
                      "dttrain --demo --output_dir " + one_shell_word(folder));
  }
  ReadProfile profile;
  profile.folder = folder;
  profile.step =
      parse_step_profile(read_regular_file(path, kMostProfileBytes), path, &profile.threads);
  return profile;
}

}  // namespace dtl
