#pragma once
// Makes the bytes of a SentencePiece model file, for tests.

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::trainer {

struct ProtoPiece {
  std::string piece;
  float score = 0;
  int type = 1;  // 1 normal, 2 unknown, 3 control, 4 user-defined
};

// One field of bytes, shorter than 16 KiB unless the length needs more than two digits of 7 bits.
inline std::string proto_bytes(int field, std::string_view bytes) {
  std::string result(1, static_cast<char>(field << 3 | 2));
  std::size_t length = bytes.size();
  for (; length > 127; length >>= 7) result.push_back(static_cast<char>((length & 127) | 128));
  result.push_back(static_cast<char>(length));
  return result.append(bytes);
}

inline std::string sentencepiece_bytes(const std::vector<ProtoPiece>& pieces,
                                       std::string_view table = "", int model_type = 1,
                                       int unknown = 0) {
  std::string bytes;
  for (const ProtoPiece& each : pieces) {
    std::string piece = proto_bytes(1, each.piece) + '\x15';
    const auto score = std::bit_cast<std::uint32_t>(each.score);
    for (int shift = 0; shift < 32; shift += 8) piece.push_back(static_cast<char>(score >> shift));
    piece += '\x18';
    piece.push_back(static_cast<char>(each.type));
    bytes += proto_bytes(1, piece);
  }
  std::string trainer = {'\x18', static_cast<char>(model_type)};
  trainer += {'\xC0', '\x02', static_cast<char>(unknown)};
  return bytes + proto_bytes(2, trainer) + proto_bytes(3, proto_bytes(2, table));
}

// A vocabulary as DeBERTa-v3 has it.
inline std::vector<ProtoPiece> deberta_pieces() {
  return {{"[PAD]", 0, 3}, {"[CLS]", 0, 3}, {"[SEP]", 0, 3}, {"[UNK]", 0, 2}, {"\u2581", -2},
          {"a", -3},       {"b", -4},       {"\u2581a", -3}, {"ab", -6}};
}

}  // namespace dtl::trainer
