#include "trainer/embeddings/prompts.h"

#include <algorithm>

namespace dtl::trainer {

const std::string* find_prompt(const Prompts& prompts, const std::string& name) {
  const auto found = std::find_if(prompts.begin(), prompts.end(),
                                  [&](const auto& prompt) { return prompt.first == name; });
  return found == prompts.end() ? nullptr : &found->second;
}

std::string prompt_of(const EmbeddingConfig& config, const std::string& column) {
  if (const std::string* own = find_prompt(config.prompts, column)) return *own;
  const std::string* usual = find_prompt(config.prompts, config.default_prompt);
  return usual == nullptr ? "" : *usual;
}

std::vector<std::string> prompts_of(const EmbeddingConfig& config,
                                    const std::vector<std::string>& columns) {
  std::vector<std::string> prompts;
  for (const std::string& column : columns) prompts.push_back(prompt_of(config, column));
  return prompts;
}

std::string passage_prompt(const EmbeddingConfig& config, const std::string& column) {
  for (const std::string& name :
       {column, std::string("document"), std::string("passage"), std::string("corpus")}) {
    if (const std::string* prompt = find_prompt(config.prompts, name)) return *prompt;
  }
  return prompt_of(config, column);
}

}  // namespace dtl::trainer
