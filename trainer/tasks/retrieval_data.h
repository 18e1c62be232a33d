#pragma once
// What an evaluation of embeddings searches: the positives of all examples, or a corpus. Rank 0.

#include "trainer/tasks/embedding_data.h"

namespace dtl::trainer {

TextEncoding text_encoding(const Prepared& prepared);

// Whether a column has ids of passages: corpus_id, corpus-id, corpus_ids.
bool is_id_column(const std::string& name);

// Equal texts are one passage, and equal anchors one query with several relevant passages.
void search_positives(EmbeddingSet& set);

// Reads --corpus_file. Appends its texts to `examples`, the set's rows: then each text is an
// example. Of a set `by_id`, `examples` become the anchors and the corpus. Other positives join the
// corpus if they are not in it. Adds a line about the corpus to prepared.data_sets. Throws
// Error(kBadInput) with file:line for an id that the corpus lacks.
void search_corpus(const Settings& settings, Prepared& prepared, EmbeddingSet& set,
                   Examples& examples);

}  // namespace dtl::trainer
