// Works on bytes: no UTF-8 sequence begins inside another, so a byte match is a character match.
#include "trainer/tokens/tokenizer_added.h"

#include <utility>

#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

// Whether a word character is directly before or after: then single_word tokens do not match.
bool touches_word(std::string_view text, std::size_t start, std::size_t end) {
  std::size_t before = start;
  // Back over continuation bytes (10xxxxxx) to the start of the previous character.
  while (before > 0 && (static_cast<unsigned char>(text[--before]) & 0xC0) == 0x80) {
  }
  std::size_t after = end;
  return (start > 0 && is_word_character(next_code_point(text, before))) ||
         (end < text.size() && is_word_character(next_code_point(text, after)));
}

std::size_t first_two(std::string_view text) {
  return static_cast<std::size_t>(static_cast<unsigned char>(text[0])) << 8 |
         static_cast<unsigned char>(text[1]);
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  for (std::size_t next = at; at < text.size(); at = next) {
    if (!is_white_space(next_code_point(text, next))) break;
  }
  return at;
}

// Scans forward from `low`, not backward from `at`, because UTF-8 is read forward.
std::size_t skip_blanks_backward(std::string_view text, std::size_t low, std::size_t at) {
  std::size_t blanks = low;  // where the last run of blanks before `at` begins
  for (std::size_t next = low; next < at;) {
    if (!is_white_space(next_code_point(text, next))) blanks = next;
  }
  return blanks;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, bool normalized,
                         const std::function<std::u32string(std::string_view)>& normalize) {
  for (AddedToken token : tokens) {
    if (token.normalized != normalized) continue;
    if (normalized) {
      std::string content;
      for (const char32_t c : normalize(token.content)) append_utf8(content, c);
      token.content = content;
    }
    // Normalisation may remove all of a token; an empty token would match everywhere.
    if (token.content.empty()) continue;
    if (token.content.size() == 1) single_[static_cast<unsigned char>(token.content[0])] = true;
    if (token.content.size() > 1) starts_.set(first_two(token.content));
    tokens_.push_back(std::move(token));
  }
}

void AddedTokens::split(std::string_view text, std::vector<Segment>& segments) const {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* token = match(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t start = at, end = at + token->content.size();
    at = end;
    // As in tokenizers, continue after the token, not inside it.
    if (token->single_word && touches_word(text, start, end)) continue;
    if (token->lstrip) start = skip_blanks_backward(text, done, start);
    if (token->rstrip) end = skip_blanks(text, end);
    if (start > done) segments.push_back({text.substr(done, start - done)});
    segments.push_back({text.substr(start, end - start), token->id});
    done = at = end;
  }
  if (done < text.size()) segments.push_back({text.substr(done)});
}

const AddedToken* AddedTokens::match(std::string_view text, std::size_t at) const {
  const std::string_view rest = text.substr(at);
  const bool starts = single_[static_cast<unsigned char>(rest[0])] ||
                      (rest.size() > 1 && starts_.test(first_two(rest)));
  if (!starts) return nullptr;
  const AddedToken* longest = nullptr;
  for (const AddedToken& token : tokens_) {
    if (longest != nullptr && token.content.size() <= longest->content.size()) continue;
    if (rest.starts_with(token.content)) longest = &token;
  }
  return longest;
}

}  // namespace dtl::trainer
