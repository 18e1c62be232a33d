// Passages and queries are rows of the outputs.
#include "trainer/tasks/retrieval_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/dataset_rows.h"
#include "trainer/embeddings/corpus.h"
#include "trainer/embeddings/prompts.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/pieces/unicode.h"
#include "trainer/report/evaluation_tables.h"

namespace dtl::trainer {
namespace {

// Builds what to search: passages by text or id, queries by text.
class RetrievalBuilder {
 public:
  explicit RetrievalBuilder(RetrievalSet& set) : set_(set) {}

  // Returns the passage's index. A text that is there already is the same passage.
  std::int32_t add_passage(const std::string& text, std::int64_t row) {
    const auto [found, is_new] = passages_.emplace(text, set_.passages.size());
    if (is_new) set_.passages.push_back(row);
    return found->second;
  }
  void add_query(const std::string& text, std::int64_t row, std::int32_t passage) {
    const auto [found, is_new] = queries_.emplace(text, set_.queries.size());
    if (is_new) {
      set_.queries.push_back(row);
      set_.relevant.emplace_back();
    }
    std::vector<std::int32_t>& relevant = set_.relevant[static_cast<std::size_t>(found->second)];
    if (std::find(relevant.begin(), relevant.end(), passage) == relevant.end()) {
      relevant.push_back(passage);
    }
  }

 private:
  RetrievalSet& set_;
  std::unordered_map<std::string, std::int32_t> passages_, queries_;
};

// Among equal scores, sentence-transformers puts the smaller id first, as texts.
std::vector<std::int32_t> order_by_id(const std::vector<std::string>& ids, std::size_t passages) {
  std::vector<std::int32_t> by_id(ids.size()), order(passages);
  std::iota(by_id.begin(), by_id.end(), 0);
  std::sort(by_id.begin(), by_id.end(), [&](std::int32_t a, std::int32_t b) {
    return ids[static_cast<std::size_t>(a)] < ids[static_cast<std::size_t>(b)];
  });
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < by_id.size(); ++i) {
    order[static_cast<std::size_t>(by_id[i])] = static_cast<std::int32_t>(i);
  }
  return order;
}

// The rows of its groups are rows of the outputs: row i, text j is i * texts + j.
void add_positives(EmbeddingSet& set, RetrievalBuilder& builder) {
  const auto texts = static_cast<std::int64_t>(set.groups.texts());
  for (std::size_t i = 0; i < set.groups.rows.size(); ++i) {
    const std::vector<std::string>& row = set.groups.rows[i].texts;
    const std::int64_t first = static_cast<std::int64_t>(i) * texts;
    builder.add_query(row[0], first, builder.add_passage(row[1], first + 1));
  }
}

void add_ids(EmbeddingSet& set, const Corpus& corpus, RetrievalBuilder& builder) {
  std::unordered_map<std::string, std::int32_t> passages;
  for (const std::string& id : corpus.ids) {
    passages.emplace(id, static_cast<std::int32_t>(passages.size()));
  }
  for (std::size_t i = 0; i < set.groups.rows.size(); ++i) {
    const TextGroup& row = set.groups.rows[i];
    for (std::size_t j = 1; j < row.texts.size(); ++j) {
      const auto found = passages.find(row.texts[j]);
      if (found == passages.end()) {
        throw Error(Exit::kBadInput,
                    row_place(set.groups.path, row.line, row.element) + ": cannot use this row",
                    fmt::format("{} has no passage with the id '{}'", corpus.path, row.texts[j]),
                    show_line(set.groups.path, row.line));
      }
      builder.add_query(row.texts[0], static_cast<std::int64_t>(i), found->second);
    }
  }
}

// Appends `more`, one text per example, to `examples`, which become so, too.
void append_texts(Examples& examples, const Examples& more) {
  const std::int64_t base = examples.starts.back();
  examples.texts = 1;
  examples.ids.insert(examples.ids.end(), more.ids.begin(), more.ids.end());
  examples.types.insert(examples.types.end(), more.types.begin(), more.types.end());
  for (std::size_t i = 1; i < more.starts.size(); ++i) {
    examples.starts.push_back(base + more.starts[i]);
  }
}

Examples encode_queries(const EmbeddingSet& set, const std::string& prompt,
                        const TextEncoding& how) {
  std::vector<PromptedText> texts;
  for (const TextGroup& row : set.groups.rows) texts.emplace_back(prompt, &row.texts[0]);
  return encode_texts(texts, how);
}

// How the passages begin, for report.html.
void show_passages(const Corpus& corpus, std::int64_t rows, EmbeddingSet& set) {
  for (const std::int64_t passage : set.retrieval.passages) {
    const auto row = static_cast<std::size_t>(passage);
    const std::size_t texts = set.groups.texts();
    set.passages.push_back(
        text_beginning(passage >= rows ? corpus.texts[static_cast<std::size_t>(passage - rows)]
                                       : set.groups.rows[row / texts].texts[row % texts]));
  }
}

std::string corpus_line(const Corpus& corpus, const std::string& prompt) {
  std::string line = fmt::format("{}: {}; id: {}, text: {}", corpus.path,
                                 plural(static_cast<std::int64_t>(corpus.ids.size()), "passage"),
                                 corpus.id_column, corpus.text_column);
  if (!prompt.empty()) line += fmt::format("; prompt '{}'", printable(prompt));
  return line;
}

// Returns the texts of the corpus, which come after `rows` rows.
Examples add_corpus(const Corpus& corpus, const std::string& prompt, std::int64_t rows,
                    const Prepared& prepared, EmbeddingSet& set, RetrievalBuilder& builder) {
  std::vector<PromptedText> texts;
  for (const std::string& text : corpus.texts) {
    const std::int64_t row = rows + static_cast<std::int64_t>(texts.size());
    texts.emplace_back(prompt, &text);
    if (set.by_id) {
      set.retrieval.passages.push_back(row);  // ids differ, so equal texts are two passages
    } else {
      builder.add_passage(text, row);
    }
  }
  return encode_texts(texts, text_encoding(prepared));
}

}  // namespace

TextEncoding text_encoding(const Prepared& prepared) {
  return {*prepared.tokenizer, prepared.length, prepared.config.embedding.lower_case,
          default_threads()};
}

bool is_id_column(const std::string& name) {
  const std::string lowered = to_lower(trim(name));
  return lowered == "corpus_id" || lowered == "corpus-id" || lowered == "corpus_ids";
}

void search_positives(EmbeddingSet& set) {
  RetrievalBuilder builder(set.retrieval);
  add_positives(set, builder);
  set.retrieval.order = order_by_id({}, set.retrieval.passages.size());
}

void search_corpus(const Settings& s, Prepared& prepared, EmbeddingSet& set, Examples& examples) {
  const EmbeddingConfig& config = prepared.config.embedding;
  const Corpus corpus = read_corpus(s.corpus_file);
  RetrievalBuilder builder(set.retrieval);
  if (set.by_id) {
    examples =
        encode_queries(set, prompt_of(config, set.groups.columns[0]), text_encoding(prepared));
  }
  const std::int64_t rows = static_cast<std::int64_t>(examples.starts.size()) - 1;
  const std::string prompt = passage_prompt(config, corpus.text_column);
  const Examples passages = add_corpus(corpus, prompt, rows, prepared, set, builder);
  append_texts(examples, passages);
  const std::size_t in_corpus = set.retrieval.passages.size();
  if (set.by_id) {
    add_ids(set, corpus, builder);
  } else {
    add_positives(set, builder);
  }
  const std::size_t all = set.retrieval.passages.size();
  set.retrieval.order = order_by_id(set.by_id ? corpus.ids : std::vector<std::string>(), all);
  std::string line = corpus_line(corpus, prompt);
  if (passages.cut > 0) {
    line += fmt::format("; {} cut at {} tokens", plural(passages.cut, "text"), prepared.length);
  }
  if (all > in_corpus) {
    line += fmt::format("; {} of {} not among them, added",
                        plural(static_cast<std::int64_t>(all - in_corpus), "positive"),
                        set.groups.path);
  }
  prepared.data_sets.push_back(line);
  if (s.report_examples > 0) show_passages(corpus, rows, set);
}

}  // namespace dtl::trainer
