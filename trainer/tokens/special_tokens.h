#pragma once
// Special tokens of a folder: which ones the files name, their ids, and notices about those that do
// not count. Shared by all kinds of tokenizers.

#include <string>
#include <vector>

#include "trainer/tokens/tokenizer_config.h"
#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

// Throws Error(kBadInput).
[[noreturn]] void refuse_tokenizer(const std::string& path, const std::string& reason,
                                   const std::string& hint = {});

std::string named_token(const TokenizerConfig& config, const char* name,
                        const std::string& otherwise);

// Adds all verbatim tokens, in transformers' order. `of_json`: those that tokenizer.json lists.
// `whole`: its class uses all of that file.
void add_tokens(const std::string& folder, const std::vector<AddedToken>& of_json, bool whole,
                const TokenizerConfig& config, TokenizerRules& rules);

// Encoding needs these tokens: throws Error(kBadInput) naming `path` if a file does not have one.
void check_specials(const std::string& path, const std::vector<AddedToken>& of_json,
                    const TokenizerConfig& config, const TokenizerRules& rules, bool needs_unknown);

// Reports tokens that a file names but that do not count.
void tell_left_out(const std::string& folder, const std::vector<AddedToken>& of_json,
                   const TokenizerConfig& config, const TokenizerRules& rules);

// Keeps names of special tokens that rules have no field for, to write them again.
void set_written_names(const TokenizerConfig& config, TokenizerRules& rules);

}  // namespace dtl::trainer
