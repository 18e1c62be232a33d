// Messages quote the whole word as typed, so that users find it among many.
#include "launcher/kube/kube_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "launcher/kube/kube_names.h"
#include "plan/environment.h"

namespace dtl {
namespace {

// Returns what is wrong with a name or a value, or empty.
using Check = std::function<std::string(const std::string& name, const std::string& value)>;

KubePairs parse_pairs(const std::string& option, const std::vector<std::string>& words,
                      const std::string& example, const Check& check) {
  KubePairs pairs;
  for (const std::string& word : words) {
    const auto refuse_word = [&](const std::string& why, const std::string& hint) {
      throw option_error(option + " " + printable(word), why, hint);
    };
    const std::size_t equals = word.find('=');
    if (equals == word.npos) refuse_word("'=' is missing", option + " " + example);
    std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (const std::string wrong = check(name, value); !wrong.empty()) {
      const bool is_ours = wrong.ends_with(name) || wrong.starts_with("dtlaunch");
      refuse_word(wrong, is_ours ? "the same command without it" : option + " " + example);
    }
    const bool twice =
        std::ranges::any_of(pairs, [&](const auto& pair) { return pair.first == name; });
    if (twice) refuse_word(fmt::format("'{}' is given twice", name), option + " " + example);
    pairs.emplace_back(std::move(name), std::move(value));
  }
  return pairs;
}

// dtlaunch computes these for each rank and ignores the pod's environment.
bool is_computed(const std::string& name) {
  constexpr std::array<std::string_view, 8> kComputed = {
      "RANK",       "WORLD_SIZE",       "LOCAL_RANK",  "LOCAL_WORLD_SIZE",
      "GROUP_RANK", "GROUP_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  return std::ranges::find(kComputed, name) != kComputed.end();
}

}  // namespace

KubePairs parse_labels(const std::string& option, const std::vector<std::string>& words) {
  const std::string example =
      option == "--label" ? "kueue.x-k8s.io/queue-name=team-a" : "kubernetes.io/arch=amd64";
  return parse_pairs(option, words, example, [](const std::string& key, const std::string& value) {
    std::string wrong = check_label_key(key);
    if (!wrong.empty())
      return fmt::format("'{}' is not the key of a label: it {}", printable(key), wrong);
    wrong = check_label_value(value);
    if (!wrong.empty())
      return fmt::format("'{}' is not the value of a label: it {}", printable(value), wrong);
    return std::string();
  });
}

KubePairs parse_variables(const std::vector<std::string>& words) {
  const auto check = [](const std::string& name, const std::string& value) {
    if (!is_variable_name(name))
      return fmt::format("'{}' is not the name of a variable", printable(name));
    if (is_computed(name)) return "dtlaunch sets " + name + " itself for each rank";
    // These tell dtlaunch its place in a job, or mean nothing in another process.
    if (forwardable({{name, "x"}}).empty()) return "ranks do not inherit " + name;
    if (find_invalid_utf8(value) != value.npos)
      return std::string("its value is not text in UTF-8");
    return std::string();
  };
  return parse_pairs("--env", words, "HF_HOME=/data/hf", check);
}

}  // namespace dtl
