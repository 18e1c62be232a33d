// Rank 0 reads everything and shares it. Texts are computed and written in pieces, so memory holds
// the embeddings of one piece only.
#include "trainer/encode/encode_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/new_file.h"
#include "base/log.h"
#include "base/text.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/data/data_file.h"
#include "trainer/data/dataset_rows.h"
#include "trainer/embeddings/embedding_metrics.h"
#include "trainer/embeddings/npy.h"
#include "trainer/embeddings/prompts.h"
#include "trainer/embeddings/sentence_folder.h"
#include "trainer/embeddings/text_groups.h"
#include "trainer/families/model_family.h"
#include "trainer/families/task_head.h"
#include "trainer/job/hub_cache.h"
#include "trainer/job/load_inputs.h"
#include "trainer/job/run_context.h"
#include "trainer/job/score_dataset.h"
#include "trainer/maths/gemm.h"
#include "trainer/model/model.h"
#include "trainer/pieces/unicode.h"
#include "trainer/step/evaluate.h"

namespace dtl::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kPiece = 1 << 14;  // texts: 24 MiB of 384 numbers each
constexpr std::size_t kMaxTextBytes = std::size_t{16} << 30;

// A text for each line, empty ones included: line n of the file is row n of the result.
std::vector<std::string> read_lines(const std::string& path) {
  const std::string bytes = read_data_file(path, kMaxTextBytes);
  std::string_view rest = bytes;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  std::vector<std::string> texts;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    texts.emplace_back(line);
    const std::size_t broken = find_invalid_utf8(line);
    if (broken == std::string_view::npos) continue;
    throw Error(Exit::kBadInput, fmt::format("{}:{}: cannot read this line", path, texts.size()),
                fmt::format("byte {} of the line is not UTF-8", broken + 1), utf8_hint(path));
  }
  if (texts.empty()) throw Error(Exit::kBadInput, path + ": cannot use the texts", "it is empty");
  return texts;
}

std::vector<std::string> read_rows(const EncodeSettings& s) {
  TextGroupOptions options{.scores = Scores::kIgnored};
  if (!s.text_column_name.empty()) options.text_columns = {s.text_column_name};
  TextGroups groups = read_text_groups(s.test_file, options);
  std::size_t chosen = 0;
  for (const char* name : {"text", "sentence"}) {
    const auto found = std::find(groups.columns.begin(), groups.columns.end(), name);
    if (found != groups.columns.end()) {
      chosen = static_cast<std::size_t>(found - groups.columns.begin());
    }
  }
  std::vector<std::string> texts;
  for (TextGroup& row : groups.rows) texts.push_back(std::move(row.texts[chosen]));
  std::string line =
      fmt::format("{}: {}; text: {}", s.test_file,
                  plural(static_cast<std::int64_t>(texts.size()), "row"), groups.columns[chosen]);
  if (groups.texts() > 1) {
    groups.columns.erase(groups.columns.begin() + static_cast<std::ptrdiff_t>(chosen));
    line += "; not read: " + join(groups.columns, ", ");
  }
  log_notice(line);
  return texts;
}

std::string prompt_for(const EncodeSettings& s, const EmbeddingConfig& config) {
  if (s.prompt_given) return s.prompt;
  const std::string name = s.prompt_name.empty() ? config.default_prompt : s.prompt_name;
  if (name.empty()) return {};
  if (const std::string* prompt = find_prompt(config.prompts, name)) return *prompt;
  std::vector<std::string> names;
  for (const auto& each : config.prompts) names.push_back(each.first);
  const std::string near = nearest(name, names);
  throw Error(Exit::kBadInput, "--prompt_name " + name,
              names.empty() ? "the folder has no prompts" : "the folder has: " + join(names, ", "),
              near.empty() ? "--prompt TEXT" : "--prompt_name " + one_shell_word(near));
}

// Without --max_seq_length as sentence-transformers: what the folder or its tokenizer says, but no
// more than positions.
int length_for(const EncodeSettings& s, const ModelConfig& config, const Tokenizer& tokenizer) {
  const int folder = config.embedding.max_length;
  if (s.max_seq_length == 0 && folder > 0) return std::min(folder, longest_text(config));
  std::vector<std::string> notices;
  const int length = usable_length({s.max_seq_length}, config, tokenizer, notices);
  for (const std::string& notice : notices) log_notice(notice);
  return length;
}

// For the line at the end.
struct Told {
  std::int64_t cut = 0;
  double tokenising_s = 0;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Rank 0: all that the ranks share.
Prepared prepare_texts(const EncodeSettings& s, Told& told) {
  check_new_file(s.output_file);
  const std::string folder = find_model({s.model, s.model_revision, s.cache_dir}, has_weights);
  Prepared prepared;
  ModelConfig& config = prepared.config;
  const std::string encoder = encoder_folder(folder);
  config = read_model_config(encoder);
  config.task = Task::kEmbeddings;
  config.labels.clear();
  config.embedding = read_sentence_folder(folder, config.hidden_size);
  const Tokenizer tokenizer = Tokenizer::load(encoder);
  check_vocabulary(encoder, config, tokenizer);
  if (s.truncate_dim > output_count(config)) {
    throw Error(Exit::kBadInput, fmt::format("--truncate_dim {}", s.truncate_dim),
                fmt::format("the model's embeddings have {} numbers", output_count(config)),
                fmt::format("--truncate_dim {}", output_count(config)));
  }
  const std::string prompt = prompt_for(s, config.embedding);
  prepared.length = length_for(s, config, tokenizer);
  const std::vector<std::string> texts =
      s.test_file.ends_with(".txt") ? read_lines(s.test_file) : read_rows(s);
  std::vector<PromptedText> prompted;
  for (const std::string& text : texts) prompted.emplace_back(prompt, &text);
  Questioned& set = prepared.test.emplace_back();
  const auto start = Clock::now();
  set.examples = encode_texts(
      prompted, {tokenizer, prepared.length, config.embedding.lower_case, default_threads()});
  told = {set.examples.cut, seconds_since(start)};
  LoadedParameters loaded = load_parameters(folder, config, layout_parameters(config), {});
  prepared.parameters = std::move(loaded.values);
  return prepared;
}

// The texts [begin, end), the longest first: then every rank gets texts of all lengths.
std::vector<std::int64_t> longest_first(const Examples& all, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(end - begin));
  std::iota(order.begin(), order.end(), begin);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return all.tokens_of(a) > all.tokens_of(b);
  });
  return order;
}

Examples select(const Examples& all, const std::vector<std::int64_t>& chosen) {
  Examples some;
  some.starts.push_back(0);
  for (const std::int64_t text : chosen) {
    const auto begin = all.first_token(text), end = all.first_token(text + 1);
    some.ids.insert(some.ids.end(), all.ids.begin() + begin, all.ids.begin() + end);
    some.types.insert(some.types.end(), all.types.begin() + begin, all.types.begin() + end);
    some.starts.push_back(static_cast<std::int64_t>(some.ids.size()));
  }
  return some;
}

// Rows of a piece, in the file's order, cut and normalised.
class EmbeddingWriter {
 public:
  EmbeddingWriter(const EncodeSettings& s, std::int64_t texts, std::int64_t dimensions)
      : settings_(s),
        from_(dimensions),
        to_(s.truncate_dim > 0 ? s.truncate_dim : dimensions),
        file_(s.output_file) {
    if (is_npy()) write_all(file_.fd(), npy_header({texts, to_}));
  }

  void write(const std::vector<std::int64_t>& order, const std::vector<float>& outputs) {
    const std::int64_t first = *std::min_element(order.begin(), order.end());
    std::vector<float> rows(order.size() * static_cast<std::size_t>(to_));
    for (std::size_t i = 0; i < order.size(); ++i) {
      float* row = rows.data() + (order[i] - first) * to_;
      std::copy_n(outputs.data() + static_cast<std::int64_t>(i) * from_, to_, row);
      if (!settings_.normalize) continue;
      const auto scale = static_cast<float>(1 / std::max(row_length(row, to_), kShortest));
      for (std::int64_t d = 0; d < to_; ++d) row[d] *= scale;
    }
    if (is_npy()) {
      write_all(file_.fd(),
                {reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(float)});
    } else {
      write_all(file_.fd(), json_lines(rows));
    }
  }

  void keep() { file_.keep(); }

 private:
  bool is_npy() const { return settings_.output_file.ends_with(".npy"); }

  std::string json_lines(const std::vector<float>& rows) const {
    std::string text;
    for (std::size_t at = 0; at < rows.size(); at += static_cast<std::size_t>(to_)) {
      const std::span<const float> row(rows.data() + at, static_cast<std::size_t>(to_));
      // The shortest digits that read as the same float.
      text += fmt::format("{{\"embedding\": [{}]}}\n", fmt::join(row, ", "));
    }
    return text;
  }

  const EncodeSettings& settings_;
  std::int64_t from_, to_;
  NewFile file_;
};

void report(const EncodeSettings& s, const Examples& texts, const Told& told, int length,
            double seconds) {
  const std::int64_t count = texts.size();
  std::string line = fmt::format("{}: {} of {} in {:.2f} s: {:.0f} sentences/s, {:.0f} tokens/s",
                                 s.output_file, "embeddings", plural(count, "text"), seconds,
                                 static_cast<double>(count) / seconds,
                                 static_cast<double>(texts.ids.size()) / seconds);
  if (told.cut > 0) line += fmt::format("; {} cut at {} tokens", plural(told.cut, "text"), length);
  log_notice(line);
}

}  // namespace

int run_encode(const EncodeSettings& s, Ranks& group) {
  prepare_gemm();
  const Precision precision = precision_of("--bf16", s.bf16);
  Prepared prepared;
  Told told;
  const bool first = group.rank() == 0;
  if (first) prepared = prepare_texts(s, told);
  share(group, prepared);
  const Examples& texts = prepared.test.front().examples;
  ThreadPool pool(default_threads(), true);
  Model<float> model(prepared.config, pool, LossSettings{});
  model.set_precision(precision);
  std::optional<EmbeddingWriter> writer;
  if (first) writer.emplace(s, texts.size(), output_count(prepared.config));
  const auto start = Clock::now();
  for (std::int64_t begin = 0; begin < texts.size(); begin += kPiece) {
    const std::vector<std::int64_t> order =
        longest_first(texts, begin, std::min(begin + kPiece, texts.size()));
    const std::vector<float> outputs =
        predict(model, prepared.parameters, select(texts, order), s.batch, group);
    if (!first) continue;
    check_outputs(outputs);
    writer->write(order, outputs);
  }
  if (!first) return 0;
  writer->keep();
  report(s, texts, told, prepared.length, told.tokenising_s + seconds_since(start));
  return 0;
}

}  // namespace dtl::trainer
