// The names are those of BEIR's and the hub's corpora.
#include "trainer/embeddings/corpus.h"

#include <fmt/format.h>

#include <initializer_list>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/column_choice.h"
#include "trainer/data/data_file.h"
#include "trainer/data/dataset_rows.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMaxCorpusBytes = std::size_t{16} << 30;

int first_of(const std::vector<std::string>& header, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const int column = column_named(header, name); column >= 0) return column;
  }
  return -1;
}

std::size_t require_column(const std::string& path, const std::vector<std::string>& header,
                           int column, const std::string& what) {
  if (column >= 0) return static_cast<std::size_t>(column);
  throw Error(Exit::kBadInput, fmt::format("{}:1: cannot find the {} of passages", path, what),
              fmt::format("the columns are {}", shown_columns(header)),
              "head -n 3 " + one_shell_word(path));
}

}  // namespace

Corpus read_corpus(const std::string& path) {
  const auto rows = make_row_reader(path, read_data_file(path, kMaxCorpusBytes));
  Corpus corpus{.path = path};
  std::vector<std::string> header, fields;
  if (!rows->next(header)) {
    throw Error(Exit::kBadInput, path + ": cannot use the corpus",
                "the file is empty; it needs an id and a text for each passage, such as _id,text",
                "ls -l " + one_shell_word(path));
  }
  check_header(path, rows->line(), header);
  const std::size_t id = require_column(
      path, header, first_of(header, {"_id", "id", "corpus_id", "corpus-id", "docid"}), "id");
  int named = first_of(header, {"text", "passage", "document"});
  if (named < 0 && header.size() == 2) named = id == 0 ? 1 : 0;
  const std::size_t text = require_column(path, header, named, "text");
  corpus.id_column = header[id];
  corpus.text_column = header[text];
  std::unordered_map<std::string, int> lines;
  while (rows->next(fields)) {
    const std::string place = row_place(path, rows->line(), rows->element());
    if (fields.size() != header.size()) {
      throw Error(Exit::kBadInput, place + ": cannot read this row",
                  fmt::format("it has {} fields and the header has {}: {}", fields.size(),
                              header.size(), fields_rule(path)),
                  show_line(path, rows->line()));
    }
    const auto [other, is_new] = lines.emplace(fields[id], rows->line());
    if (!is_new) {
      throw Error(Exit::kBadInput, place + ": cannot use this row",
                  fmt::format("line {} has the id '{}', too", other->second, fields[id]),
                  show_line(path, rows->line()));
    }
    corpus.ids.push_back(fields[id]);
    corpus.texts.push_back(fields[text]);
  }
  if (corpus.ids.empty()) {
    throw Error(Exit::kBadInput, path + ": cannot use the corpus", "it has no rows",
                "head -n 3 " + one_shell_word(path));
  }
  return corpus;
}

}  // namespace dtl::trainer
