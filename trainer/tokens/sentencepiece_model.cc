// The fields of sentencepiece_model.proto that matter for splitting; others are skipped.
#include "trainer/tokens/sentencepiece_model.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMaxModelBytes = 256 << 20;  // 250,000 pieces take 5 MB
// Fields of ModelProto, its SentencePiece, TrainerSpec and NormalizerSpec.
constexpr std::uint64_t kPieces = 1, kTrainer = 2, kNormalizer = 3;
constexpr std::uint64_t kPiece = 1, kScore = 2, kType = 3;
constexpr std::uint64_t kModelType = 3, kUnknownId = 40;
constexpr std::uint64_t kCharacterTable = 2;
// Values of SentencePiece.type and TrainerSpec.model_type.
constexpr std::uint64_t kNormal = 1, kControl = 3, kUserDefined = 4, kUnigram = 1;

// One field of a message: a number, or bytes.
struct ProtoField {
  std::uint64_t number = 0, value = 0;
  std::string_view bytes = {};
};

// Reads a message field by field. At the first malformed one it ends, and sets `good` to false.
class ProtoMessage {
 public:
  ProtoMessage(std::string_view bytes, bool& good) : left_(bytes), good_(good) {}

  bool next(ProtoField& field) {
    if (left_.empty()) return false;
    const std::uint64_t tag = varint();
    field = {.number = tag >> 3};
    switch (tag & 7) {  // the wire type
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.value = fixed(4);
        break;
      default:
        good_ = false;
    }
    return good_;
  }

 private:
  std::string_view take(std::uint64_t count) {
    good_ = good_ && count <= left_.size();
    if (!good_) return {};
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

  // Little-endian.
  std::uint64_t fixed(std::size_t count) {
    std::uint64_t value = 0;
    int shift = 0;
    for (const char byte : take(count)) {
      value |= std::uint64_t{static_cast<unsigned char>(byte)} << shift;
      shift += 8;
    }
    return value;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t byte = fixed(1);
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    good_ = false;
    return 0;
  }

  std::string_view left_;
  bool& good_;
};

bool read_piece(std::string_view bytes, SentencePieceModel& model) {
  std::string piece;
  double score = 0;
  std::uint64_t type = kNormal;
  bool good = true;
  ProtoMessage message(bytes, good);
  for (ProtoField field; message.next(field);) {
    if (field.number == kPiece) piece = field.bytes;
    if (field.number == kScore) {
      score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    }
    if (field.number == kType) type = field.value;
  }
  if (type == kControl || type == kUserDefined) model.symbols.push_back({piece, type == kControl});
  good = good && is_utf8(piece) && std::isfinite(score);
  model.pieces.push_back(std::move(piece));
  model.scores.push_back(score);
  return good;
}

// Returns false if it is malformed.
bool read_model(std::string_view bytes, SentencePieceModel& model, std::uint64_t& model_type) {
  bool good = true;
  ProtoMessage message(bytes, good);
  for (ProtoField field; message.next(field);) {
    if (field.number == kPieces) {
      good = read_piece(field.bytes, model);
      continue;
    }
    if (field.number != kTrainer && field.number != kNormalizer) continue;
    ProtoMessage inner(field.bytes, good);
    for (ProtoField option; inner.next(option);) {
      if (field.number == kNormalizer) {
        if (option.number == kCharacterTable) model.character_table = option.bytes;
      } else if (option.number == kModelType) {
        model_type = option.value;
      } else if (option.number == kUnknownId) {
        model.unknown = static_cast<std::int64_t>(option.value);
      }
    }
  }
  return good;
}

}  // namespace

SentencePieceModel read_sentencepiece_model(const std::string& path) {
  const std::string bytes = read_file(path, kMaxModelBytes);
  const auto fail = [&](const std::string& reason) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use this tokenizer", path), reason);
  };
  SentencePieceModel model;
  std::uint64_t type = kUnigram;
  if (!read_model(bytes, model, type)) fail("it is not a model of SentencePiece, or truncated");
  if (type != kUnigram) fail("its model_type is not UNIGRAM, the only one that is supported");
  if (model.pieces.empty()) fail("it has no pieces");
  return model;
}

}  // namespace dtl::trainer
