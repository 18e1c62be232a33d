#pragma once
// A file of passages to search in: columns id and text. Only rank 0 uses it. Errors are
// Error(kBadInput) with file:line.

#include <string>
#include <vector>

namespace dtl::trainer {

struct Corpus {
  std::string path = {};
  std::vector<std::string> ids = {}, texts = {};
  std::string id_column = {}, text_column = {};
};

// The id is the column _id, id, corpus_id, corpus-id or docid. The text is the column text, passage
// or document, or else the only other one. Ids must differ.
Corpus read_corpus(const std::string& path);

}  // namespace dtl::trainer
