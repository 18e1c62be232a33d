#pragma once
// Which prompt comes before a text. Pure.

#include <string>
#include <utility>
#include <vector>

#include "trainer/families/embedding_config.h"

namespace dtl::trainer {

using Prompts = std::vector<std::pair<std::string, std::string>>;  // by name

// Null if there is none of this name.
const std::string* find_prompt(const Prompts& prompts, const std::string& name);

// That of the column's name, else the default one; else empty.
std::string prompt_of(const EmbeddingConfig& config, const std::string& column);
std::vector<std::string> prompts_of(const EmbeddingConfig& config,
                                    const std::vector<std::string>& columns);

// For a corpus: of the column's name, else the first of document, passage and corpus, as
// sentence-transformers' encode_document(); else the default one.
std::string passage_prompt(const EmbeddingConfig& config, const std::string& column);

}  // namespace dtl::trainer
