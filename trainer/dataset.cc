#include "trainer/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <optional>
#include <thread>
#include <unordered_map>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "trainer/dataset_rows.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMaxDatasetBytes = std::size_t{16} << 30;

// Which columns hold what; second < 0 for single texts.
struct Columns {
  int label = -1, first = -1, second = -1;
};

int column_named(const std::vector<std::string>& header, std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  return found == header.end() ? -1 : static_cast<int>(found - header.begin());
}

// By name where the names are the usual ones; otherwise the first one or two columns that are
// neither label nor row number.
Columns choose_columns(const std::string& path, const std::vector<std::string>& header) {
  Columns columns;
  columns.label = column_named(header, "label");
  if (columns.label < 0) {
    throw Error(Exit::kBadInput, fmt::format("{}:1: cannot find the labels", path),
                fmt::format("there is no column 'label' among {}", join(header, ", ")),
                "add a first line that names the columns, such as: label sentence");
  }
  columns.first = column_named(header, "sentence1");
  columns.second = column_named(header, "sentence2");
  if (columns.first >= 0) return columns;
  columns.second = -1;
  for (const char* name : {"sentence", "text"}) {
    columns.first = column_named(header, name);
    if (columns.first >= 0) return columns;
  }
  std::vector<int> others;
  for (int i = 0; i < static_cast<int>(header.size()); ++i) {
    const std::string& name = header[static_cast<std::size_t>(i)];
    if (i != columns.label && name != "idx" && name != "index" && name != "id") others.push_back(i);
  }
  if (others.empty()) {
    throw Error(Exit::kBadInput, fmt::format("{}:1: cannot find the texts", path),
                "the label is the only column");
  }
  columns.first = others[0];
  columns.second = others.size() > 1 ? others[1] : -1;
  return columns;
}

TextDataset from_rows(const std::string& path, RowReader& rows, std::int64_t limit) {
  std::vector<std::string> row;
  if (!rows.next(row)) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot read the data set", path),
                "the file is empty");
  }
  const std::vector<std::string> header = row;
  const Columns columns = choose_columns(path, header);
  TextDataset dataset;
  dataset.pairs = columns.second >= 0;
  while ((limit < 0 || static_cast<std::int64_t>(dataset.examples.size()) < limit) &&
         rows.next(row)) {
    if (row.size() != header.size()) {
      throw Error(Exit::kBadInput, fmt::format("{}:{}: cannot read this row", path, rows.line()),
                  fmt::format("it has {} fields, the header has {}", row.size(), header.size()));
    }
    const auto field = [&](int column) { return std::move(row[static_cast<std::size_t>(column)]); };
    TextExample example;
    example.first = field(columns.first);
    if (dataset.pairs) example.second = field(columns.second);
    example.label = field(columns.label);
    if (example.label.empty()) {
      throw Error(Exit::kBadInput, fmt::format("{}:{}: cannot read this row", path, rows.line()),
                  "its label is empty");
    }
    dataset.examples.push_back(std::move(example));
  }
  return dataset;
}

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Calls work(block) for every block on several threads; the first failure is thrown on.
template <typename Work>
void on_threads(std::size_t blocks, int threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(std::max(1, threads)));
  const auto loop = [&](std::size_t thread) {
    try {
      for (std::size_t block; (block = next++) < blocks;) work(block);
    } catch (...) {
      failures[thread] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < failures.size(); ++i) helpers.emplace_back(loop, i);
    loop(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void append(Examples& to, const Examples& part) {
  const std::int64_t base = to.starts.back();
  to.ids.insert(to.ids.end(), part.ids.begin(), part.ids.end());
  to.types.insert(to.types.end(), part.types.begin(), part.types.end());
  to.labels.insert(to.labels.end(), part.labels.begin(), part.labels.end());
  for (std::size_t i = 1; i < part.starts.size(); ++i) to.starts.push_back(base + part.starts[i]);
}

}  // namespace

TextDataset read_dataset(const std::string& path, std::int64_t limit) {
  std::unique_ptr<RowReader> rows = make_row_reader(path, read_file(path, kMaxDatasetBytes));
  TextDataset dataset = from_rows(path, *rows, limit);
  if (dataset.examples.empty()) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use the data set", path),
                limit == 0 ? "no rows were asked for" : "it has a header and no rows");
  }
  return dataset;
}

std::vector<std::string> label_names(const TextDataset& dataset) {
  std::vector<std::string> names;
  for (const TextExample& example : dataset.examples) names.push_back(example.label);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (std::all_of(names.begin(), names.end(),
                  [](const std::string& name) { return whole_number(name).has_value(); })) {
    std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return *whole_number(a) < *whole_number(b);
    });
  }
  return names;
}

Examples encode_dataset(const TextDataset& dataset, const Tokenizer& tokenizer,
                        const std::vector<std::string>& labels, int max_length, int threads) {
  std::unordered_map<std::string, std::int32_t> label_ids;
  for (std::size_t id = 0; id < labels.size(); ++id) {
    label_ids.emplace(labels[id], static_cast<std::int32_t>(id));
  }
  constexpr std::size_t kBlock = 256;  // examples: enough to make handing out work cheap
  const std::size_t count = dataset.examples.size();
  std::vector<Examples> parts((count + kBlock - 1) / kBlock);
  on_threads(parts.size(), threads, [&](std::size_t block) {
    Examples& part = parts[block];
    part.starts.push_back(0);
    for (std::size_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
      const TextExample& example = dataset.examples[i];
      const auto label = label_ids.find(example.label);
      if (label == label_ids.end()) {
        throw Error(Exit::kBadInput,
                    fmt::format("cannot use label '{}' of example {}", example.label, i + 1),
                    fmt::format("the model's labels are {}", join(labels, ", ")));
      }
      const Encoding encoding =
          dataset.pairs ? tokenizer.encode_pair(example.first, example.second, max_length)
                        : tokenizer.encode(example.first, max_length);
      part.ids.insert(part.ids.end(), encoding.ids.begin(), encoding.ids.end());
      part.types.insert(part.types.end(), encoding.types.begin(), encoding.types.end());
      part.starts.push_back(static_cast<std::int64_t>(part.ids.size()));
      part.labels.push_back(label->second);
    }
  });
  Examples examples;
  examples.starts.push_back(0);
  for (const Examples& part : parts) append(examples, part);
  return examples;
}

}  // namespace dtl::trainer
