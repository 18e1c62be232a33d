// Rows and the rules between them. Rules that depend on data or model are in tasks/embeddings.cc.
#include "trainer/settings/embedding_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "trainer/json/json_depth.h"

namespace dtl::trainer {
namespace {

using S = Settings;

constexpr double kLargest = 1e30;
constexpr int kMostDimensions = 1 << 24;  // as sizes in config.json
constexpr const char* kRanking = "multiple_negatives_ranking";

[[noreturn]] void refuse(const std::string& attempted, const std::string& reason,
                         const std::string& hint) {
  throw Error(Exit::kUsage, attempted, reason, hint);
}

template <class Number>
bool parse_number(const std::string& text, Number& value) {
  const std::string_view trimmed = trim(text);
  const auto [end, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value);
  return error == std::errc() && end == trimmed.data() + trimmed.size();
}

// The losses that have an option.
void require_loss(bool used, const std::string& option, const std::string& loss,
                  const std::vector<std::string>& those, const std::string& usual) {
  if (!used || std::find(those.begin(), those.end(), loss) != those.end()) return;
  refuse(option,
         fmt::format("--loss {} has no such setting; these have: {}", loss, join(those, ", ")),
         usual);
}

std::vector<std::pair<std::string, std::string>> parse_prompts(const S& s) {
  const std::string typed = "--prompts " + s.prompts;
  const char* const hint = "--prompts '{\"query\": \"query: \"}'";
  if (nests_too_deep(s.prompts)) refuse(typed, kNestsTooDeep, hint);
  const auto json = nlohmann::ordered_json::parse(s.prompts, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) refuse(typed, "it begins with { but is not a JSON object", hint);
  std::vector<std::pair<std::string, std::string>> prompts;
  for (const auto& [name, text] : json.items()) {
    if (!text.is_string())
      refuse(typed, fmt::format("the value of '{}' is not a text", name), hint);
    prompts.emplace_back(name, text.get<std::string>());
  }
  return prompts;
}

}  // namespace

std::vector<OptionRow<S>> embedding_option_rows() {
  constexpr std::string_view group = "Embeddings";
  // One row per line is easier to read.
  // clang-format off
  return {
      {group, {"--loss"}, "multiple_negatives_ranking|cosine_similarity|cosent|triplet",
       "what training minimises (cosent if the data has scores, else multiple_negatives_ranking)",
       into::word<&S::embedding_loss>()},
      {group, {"--loss_scale"}, "X", "factor of cosines in ranking and cosent (20)",
       into::real<&S::loss_scale>(1e-6, kLargest)},
      {group, {"--symmetric_loss"}, "", "ranking also finds the anchor of a positive",
       into::flag<&S::symmetric_loss>()},
      {group, {"--margin"}, "X", "of the triplet loss (5)", into::real<&S::margin>(0, kLargest)},
      {group, {"--triplet_distance"}, "euclidean|cosine|manhattan",
       "of the triplet loss (euclidean)", into::word<&S::triplet_distance>()},
      {group, {"--matryoshka_dims"}, "N[,N]",
       "also train the first N numbers of an embedding by themselves",
       into::text<&S::matryoshka_dims>()},
      {group, {"--matryoshka_weights"}, "X[,X]", "weights of --matryoshka_dims (1 each)",
       into::text<&S::matryoshka_weights>()},
      {group, {"--pooling"}, "cls|mean|max|mean_sqrt_len_tokens|weightedmean|lasttoken",
       "how tokens make an embedding (the folder's, else mean)", into::word<&S::pooling>()},
      {group, {"--normalize_embeddings"}, "", "embeddings have length 1: adds a Normalize module",
       into::flag<&S::normalize_embeddings>()},
      {group, {"--prompts"}, "JSON",
       "texts before those of columns, {\"query\": \"query: \"}, or one text for all",
       into::text<&S::prompts>()},
      {group, {"--corpus_file"}, "FILE",
       "passages among which an evaluation searches (columns id and text)",
       into::text<&S::corpus_file>()},
  };
  // clang-format on
}

bool needs_scores(const std::string& loss) {
  return loss == "cosine_similarity" || loss == "cosent";
}

void check_loss_options(const S& s, const std::string& loss) {
  static const S usual;
  require_loss(s.loss_scale != usual.loss_scale, fmt::format("--loss_scale {:g}", s.loss_scale),
               loss, {kRanking, "cosent"}, "--loss_scale 20");
  require_loss(s.symmetric_loss, "--symmetric_loss", loss, {kRanking}, "--symmetric_loss false");
  require_loss(s.margin != usual.margin, fmt::format("--margin {:g}", s.margin), loss, {"triplet"},
               "--loss triplet");
  require_loss(s.triplet_distance != usual.triplet_distance,
               "--triplet_distance " + s.triplet_distance, loss, {"triplet"}, "--loss triplet");
}

void check_embedding_options(const S& s) {
  if (!s.embedding_loss.empty()) check_loss_options(s, s.embedding_loss);
  const std::size_t dims = matryoshka_dims(s).size();
  const std::size_t weights = matryoshka_weights(s).size();
  if (weights > 0 && weights != dims) {
    refuse("--matryoshka_weights " + s.matryoshka_weights,
           dims == 0 ? "needs --matryoshka_dims"
                     : fmt::format("{} weights for {} dimensions", weights, dims),
           dims == 0 ? "--matryoshka_dims 256,128"
                     : fmt::format("--matryoshka_weights 1{}",
                                   fmt::join(std::vector<std::string>(dims, ""), ",1")));
  }
  given_prompts(s);
  if (!s.corpus_file.empty() && !s.do_eval) {
    refuse("--corpus_file " + s.corpus_file, "needs --do_eval", "--do_eval");
  }
}

std::vector<int> matryoshka_dims(const S& s) {
  std::vector<int> dims;
  if (s.matryoshka_dims.empty()) return dims;
  for (const std::string& text : split(s.matryoshka_dims, ',')) {
    int value = 0;
    if (!parse_number(text, value) || value < 1 || value > kMostDimensions ||
        std::find(dims.begin(), dims.end(), value) != dims.end()) {
      refuse("--matryoshka_dims " + s.matryoshka_dims,
             fmt::format("'{}' is not another whole number from 1 to {}", text, kMostDimensions),
             "--matryoshka_dims 256,128");
    }
    dims.push_back(value);
  }
  return dims;
}

std::vector<double> matryoshka_weights(const S& s) {
  std::vector<double> weights;
  if (s.matryoshka_weights.empty()) return weights;
  for (const std::string& text : split(s.matryoshka_weights, ',')) {
    double value = 0;
    if (!parse_number(text, value) || !(value > 0 && value <= kLargest)) {
      refuse("--matryoshka_weights " + s.matryoshka_weights,
             fmt::format("'{}' is not a number above 0", text), "--matryoshka_weights 1,1");
    }
    weights.push_back(value);
  }
  return weights;
}

std::vector<std::pair<std::string, std::string>> given_prompts(const S& s) {
  if (s.prompts.empty()) return {};
  if (trim(s.prompts).starts_with('{')) return parse_prompts(s);
  return {{"", s.prompts}};
}

}  // namespace dtl::trainer
