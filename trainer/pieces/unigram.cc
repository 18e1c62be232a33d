// The best path (Viterbi): for each end of a piece, the best score of the text up to there and the
// last piece of that path. A character that is not a piece by itself may also be unknown.
// Neighbours that are unknown become one token.
//
// Sums are doubles in the order of the text, and the first of equal paths wins (the one whose last
// piece is longest), so ties fall as in the tokenizers library.
#include "trainer/pieces/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace dtl::trainer {
namespace {

constexpr double kUnknownPenalty = 10;  // SentencePiece's: below the worst piece

// The best path up to a byte of the text.
struct PathEnd {
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFF;
  double score = 0;
  std::uint32_t begin = kNowhere;  // of the last piece
  std::int32_t id = 0;             // the last piece
};

// The length in bytes of the character that begins with `lead`, in valid UTF-8.
std::size_t character_bytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

void improve(PathEnd& end, double score, std::size_t begin, std::int32_t id) {
  if (end.begin != PathEnd::kNowhere && score <= end.score) return;
  end = {score, static_cast<std::uint32_t>(begin), id};
}

}  // namespace

Unigram::Unigram(const std::vector<std::string>& pieces, std::vector<double> scores,
                 std::int32_t unknown, bool byte_fallback)
    : scores_(std::move(scores)), trie_(pieces), unknown_(unknown), byte_fallback_(byte_fallback) {
  assert(pieces.size() == scores_.size());
  assert(unknown >= 0 && static_cast<std::size_t>(unknown) < pieces.size());
  unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - kUnknownPenalty;
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    byte_ids_[byte] = trie_.find(fmt::format("<0x{:02X}>", byte));
  }
}

void Unigram::add_tokens(std::string_view piece, std::vector<PieceToken>& tokens) const {
  thread_local std::vector<PathEnd> ends;  // keeps its memory from word to word
  ends.assign(piece.size() + 1, PathEnd{});
  for (std::size_t at = 0; at < piece.size();) {
    const double before = ends[at].score;
    const std::size_t length = std::min(character_bytes(piece[at]), piece.size() - at);
    bool single = false;  // the character is a piece
    trie_.for_each_prefix(piece.substr(at), [&](std::size_t bytes, std::int32_t id) {
      improve(ends[at + bytes], scores_[static_cast<std::size_t>(id)] + before, at, id);
      single = single || bytes == length;
    });
    if (!single) improve(ends[at + length], unknown_score_ + before, at, unknown_);
    at += length;
  }
  thread_local std::vector<PieceToken> path;  // from the last token to the first
  path.clear();
  for (std::size_t end = piece.size(); end > 0; end = ends[end].begin) {
    const PathEnd& last = ends[end];
    if (last.id == unknown_ && !path.empty() && path.back().id == unknown_) {
      path.back().begin = last.begin;
    } else {
      path.push_back({last.id, last.begin, static_cast<std::uint32_t>(end)});
    }
  }
  for (auto token = path.rbegin(); token != path.rend(); ++token) {
    if (token->id == unknown_) {
      add_unknown(piece, *token, tokens);
    } else {
      tokens.push_back(*token);
    }
  }
}

// Together, unknown neighbours may be a piece again: tokenizers looks up the joined text.
void Unigram::add_unknown(std::string_view piece, PieceToken token,
                          std::vector<PieceToken>& tokens) const {
  const std::string_view text = piece.substr(token.begin, token.end - token.begin);
  if (const std::int32_t id = trie_.find(text); id >= 0) {
    token.id = id;
  } else if (byte_fallback_) {
    const auto id_of_byte = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    if (std::all_of(text.begin(), text.end(), [&](char c) { return id_of_byte(c) >= 0; })) {
      for (const char byte : text) {
        tokens.push_back({id_of_byte(byte), token.begin, token.end});
      }
      return;
    }
  }
  tokens.push_back(token);
}

}  // namespace dtl::trainer
