// Guessing masked tokens of plain text: run_mlm's task, to adapt an encoder to a domain.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "trainer/data/column_choice.h"
#include "trainer/data/data_file.h"
#include "trainer/data/dataset_rows.h"
#include "trainer/maths/on_threads.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/model/masking.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMostTextBytes = std::size_t{16} << 30;  // the file is in memory as a whole

struct Lines {
  std::string path;
  std::string column = {};  // empty: the file is plain text
  std::vector<std::string> texts = {};
  int blank = 0;  // left out
};

bool has_columns(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".tsv") || path.ends_with(".json") ||
         path.ends_with(".jsonl");
}

// The column named, else text, else the first: as run_mlm.py.
std::size_t text_column(const Settings& s, const std::string& path,
                        const std::vector<std::string>& header) {
  const std::string wanted = s.text_column_names.empty() ? "text" : s.text_column_names;
  const int column = column_named(header, wanted);
  if (column >= 0) return static_cast<std::size_t>(column);
  if (s.text_column_names.empty()) return 0;
  throw Error(Exit::kBadInput, fmt::format("{}:1: cannot find the texts", path),
              without_column(header, wanted),
              "--text_column_names " + one_shell_word(header.front()));
}

Lines read_lines(const Settings& s, const std::string& path, std::int64_t limit) {
  Lines lines{.path = path};
  std::string bytes = read_data_file(path, kMostTextBytes);
  const auto reader = has_columns(path) ? make_row_reader(path, std::move(bytes))
                                        : make_line_reader(path, std::move(bytes));
  std::vector<std::string> row;
  std::size_t column = 0;
  if (has_columns(path) && reader->next(row)) {
    check_header(path, reader->line(), row);
    column = text_column(s, path, row);
    lines.column = row[column];
  }
  const std::size_t fields = row.size();
  while ((limit < 0 || std::ssize(lines.texts) < limit) && reader->next(row)) {
    if (has_columns(path) && row.size() != fields) {
      throw Error(Exit::kBadInput,
                  row_place(path, reader->line(), reader->element()) + ": cannot read this row",
                  fmt::format("it has {} fields, the header has {}: {}", row.size(), fields,
                              fields_rule(path)),
                  show_line(path, reader->line()));
    }
    if (trim(row[column]).empty()) {
      ++lines.blank;
    } else {
      lines.texts.push_back(std::move(row[column]));
    }
  }
  lines.blank += reader->blank_lines().count;
  if (lines.texts.empty()) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use the data set", path), "it has no text",
                "head -n 3 " + one_shell_word(path));
  }
  return lines;
}

// In the order of the lines, whichever thread encoded them.
std::vector<Encoding> encode_lines(const Lines& lines, const Tokenizer& tokenizer, int most) {
  constexpr std::size_t kBlock = 256;
  const std::size_t count = lines.texts.size();
  std::vector<Encoding> encoded(count);
  on_threads((count + kBlock - 1) / kBlock, default_threads(), [&](std::size_t block) {
    for (std::size_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
      encoded[i] = tokenizer.encode(lines.texts[i], most);
    }
  });
  return encoded;
}

void append(const std::int32_t* begin, const std::int32_t* end, Examples& to) {
  to.ids.insert(to.ids.end(), begin, end);
  to.types.resize(to.ids.size(), 0);
  to.starts.push_back(std::ssize(to.ids));
}

// All lines, with their special tokens, one after the other, cut into pieces of `length` tokens.
// What does not fill a piece is left out, unless it is all there is.
Examples joined(const std::vector<Encoding>& lines, std::size_t length, std::size_t& left_out) {
  std::vector<std::int32_t> all;
  for (const Encoding& line : lines) all.insert(all.end(), line.ids.begin(), line.ids.end());
  Examples examples;
  examples.starts = {0};
  const std::size_t whole = all.size() / length * length;
  for (std::size_t at = 0; at < whole; at += length) {
    append(all.data() + at, all.data() + at + length, examples);
  }
  if (whole == 0) append(all.data(), all.data() + all.size(), examples);
  left_out = whole == 0 ? 0 : all.size() - whole;
  return examples;
}

MaskingRule rule_of(const Settings& s, const Tokenizer& tokenizer) {
  const std::optional<std::int32_t> mask = tokenizer.mask_id();
  if (!mask) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot mask", s.model),
                "its vocabulary has no token for masked ones, such as [MASK]",
                "grep mask_token " + one_shell_word(s.model + "/tokenizer_config.json"));
  }
  return {s.mlm_probability, s.whole_word_mask, *mask, tokenizer.token_kinds()};
}

Examples make_examples(const Settings& s, Prepared& prepared, const Lines& lines) {
  const Tokenizer& tokenizer = *prepared.tokenizer;
  const auto length = static_cast<std::size_t>(prepared.length);
  const std::vector<Encoding> encoded = encode_lines(
      lines, tokenizer, s.line_by_line ? prepared.length : std::numeric_limits<int>::max());
  Examples examples;
  std::size_t left_out = 0;
  if (s.line_by_line) {
    examples.starts = {0};
    for (const Encoding& line : encoded) {
      append(line.ids.data(), line.ids.data() + line.ids.size(), examples);
      examples.cut += line.cut ? 1 : 0;
    }
  } else {
    examples = joined(encoded, length, left_out);
  }
  examples.masking = rule_of(s, tokenizer);
  std::string& said = prepared.data_sets.emplace_back(
      fmt::format("{}: {}", lines.path, plural(std::ssize(lines.texts), "line")));
  if (!lines.column.empty()) said += fmt::format("; text: {}", lines.column);
  if (lines.blank > 0) said += fmt::format("; {} blank", lines.blank);
  if (examples.cut > 0) said += fmt::format("; {} cut at {} tokens", examples.cut, length);
  if (!s.line_by_line) {
    said += fmt::format("; {} of {} tokens", plural(examples.size(), "example"),
                        std::min<std::int64_t>(prepared.length, std::ssize(examples.ids)));
  }
  if (left_out > 0) said += fmt::format("; the last {} tokens left out", left_out);
  return examples;
}

// Takes the first lines of the training for an evaluation, as run_mlm.py.
Lines split_off(const Settings& s, Lines& train) {
  const std::size_t share =
      train.texts.size() * static_cast<std::size_t>(s.validation_split_percentage) / 100;
  const std::size_t count = std::max<std::size_t>(1, share);
  if (count >= train.texts.size()) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot split off an evaluation", train.path),
                fmt::format("it has {}", plural(std::ssize(train.texts), "line")),
                "--validation_file FILE");
  }
  Lines evaluation{
      .path = fmt::format("the first {} % of {}", s.validation_split_percentage, train.path),
      .column = train.column};
  const auto end = train.texts.begin() + static_cast<std::ptrdiff_t>(count);
  evaluation.texts.assign(std::make_move_iterator(train.texts.begin()),
                          std::make_move_iterator(end));
  train.texts.erase(train.texts.begin(), end);
  if (s.max_eval_samples > 0 && std::ssize(evaluation.texts) > s.max_eval_samples) {
    evaluation.texts.resize(static_cast<std::size_t>(s.max_eval_samples));
  }
  return evaluation;
}

void prepare_masked(const Settings& s, Prepared& prepared) {
  prepared.config.labels.clear();  // labels of a classifier that was in the folder
  Lines train, evaluation;
  if (s.do_train) train = read_lines(s, s.train_file, s.max_train_samples);
  if (s.do_eval) {
    evaluation = s.validation_file.empty() ? split_off(s, train)
                                           : read_lines(s, s.validation_file, s.max_eval_samples);
  }
  if (s.do_train) prepared.train = make_examples(s, prepared, train);
  if (!s.do_eval) return;
  Examples& examples = prepared.evaluation.emplace_back().examples;
  examples = make_examples(s, prepared, evaluation);
  std::vector<std::int64_t> all(static_cast<std::size_t>(examples.size()));
  std::iota(all.begin(), all.end(), 0);
  if (count_masked({}, examples, all) > 0) return;
  throw Error(
      Exit::kBadInput, fmt::format("{}: cannot evaluate", evaluation.path),
      fmt::format("none of its {} is masked: it is too short",
                  plural(std::ssize(examples.ids), "token")),
      s.validation_file.empty() ? "--validation_split_percentage 20" : "--validation_file FILE");
}

MetricList masked_figures(const Settings&, const ModelConfig&, const Questioned&) {
  return {{"accuracy", 0}, {"perplexity", 0}, {"loss", 0}};
}

// The model gives each token's loss, and 1 or 2 where it was masked: see masked_losses().
TaskScore score_masked(const ModelOutputs& of) {
  double loss = 0, masked = 0, right = 0;
  for (std::size_t at = 0; at + 1 < of.outputs.size(); at += 2) {
    loss += static_cast<double>(of.outputs[at]);
    masked += of.outputs[at + 1] > 0 ? 1 : 0;
    right += of.outputs[at + 1] > 1 ? 1 : 0;
  }
  TaskScore score;
  const double count = std::max(1.0, masked);
  score.metrics = {
      {"loss", loss / count}, {"accuracy", right / count}, {"perplexity", std::exp(loss / count)}};
  score.lines = {fmt::format("  {:.0f} of {} tokens masked", masked, of.outputs.size() / 2)};
  return score;
}

EvaluationView view_masked(const ModelOutputs& of, const TaskScore& score) {
  EvaluationView view;
  view.headline =
      evaluation_headline(score.metrics, of.set.examples.size(), {.main = "perplexity"});
  return view;
}

std::vector<TaskFile> masked_files(const ModelOutputs&, const TaskScore&) {
  return {};
}

std::string masked_outputs(const ModelConfig& config) {
  return fmt::format("vocabulary {}", config.vocab_size);
}

}  // namespace

const TaskKind kMaskedLm = {.name = "masked_lm",
                            .head = Task::kMaskedLm,
                            .prepare = prepare_masked,
                            .figures = masked_figures,
                            .score = score_masked,
                            .view = view_masked,
                            .files = masked_files,
                            .outputs = masked_outputs};

}  // namespace dtl::trainer
