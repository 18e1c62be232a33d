// Seeded mutation of valid frames. The decoder must return a message that encodes again, ask for
// more bytes, or throw Error(kVersion). In the asan preset, sanitizers watch too.
#include <gtest/gtest.h>

#include <random>

#include "base/crc32c.h"
#include "base/error.h"
#include "examples.h"
#include "frame_bytes.h"
#include "wire/frame.h"
#include "wire/greeting.h"

namespace dtl::fuzz_test {
namespace {

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

void mutate(Random& random, std::string& bytes) {
  for (std::size_t n = 1 + below(random, 4); n > 0; --n) {
    const std::size_t at = below(random, bytes.size());
    switch (below(random, 4)) {
      case 0:
        bytes[at] = static_cast<char>(below(random, 256));
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8)));
        break;
      case 2:
        bytes.erase(at, 1 + below(random, 8));
        break;
      default:
        bytes.insert(at, 1 + below(random, 8), static_cast<char>(below(random, 256)));
    }
    if (bytes.empty()) bytes.push_back('x');
  }
}

// Corrects length and checksum, so that the mutation reaches the message's decoder.
void repair(std::string& frame) {
  if (frame.size() < kFrameHeaderBytes) return;
  const auto length = static_cast<std::uint32_t>(frame.size() - kFrameHeaderBytes);
  const std::uint32_t checksum = crc32c(std::string_view(frame).substr(kFrameHeaderBytes));
  for (std::size_t i = 0; i < 4; ++i) {
    frame[i] = static_cast<char>((length >> (8 * i)) & 0xff);
    frame[8 + i] = static_cast<char>((checksum >> (8 * i)) & 0xff);
  }
}

// True if the bytes gave a message.
bool decode(const std::string& bytes) {
  FrameReader reader;
  reader.feed(bytes);
  try {
    const auto message = reader.next();
    if (message) frame_bytes(*message, 0);
    return message.has_value();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kVersion) << error.what();
    return false;
  }
}

TEST(FrameFuzz, MutatedFramesAreDecodedOrRefused) {
  Random random(20);
  const auto examples = example_messages();
  int decoded = 0;
  for (int round = 0; round < 40000; ++round) {
    std::string bytes = frame_bytes(examples[below(random, examples.size())].second, 0);
    mutate(random, bytes);
    if (below(random, 8) != 0) repair(bytes);
    if (decode(bytes)) ++decoded;
  }
  EXPECT_GT(decoded, 1000);  // the mutations are not all refused by the header
}

TEST(GreetingFuzz, NoiseIsSkippedOrRefused) {
  Random random(21);
  const std::string line = to_line({1, "0.1.0", std::string(32, 'a')});
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = line + line;
    mutate(random, bytes);
    const auto found = find_greeting(bytes);
    if (found) {
      EXPECT_EQ(found->greeting.nonce.size(), 32u);
    }
  }
}

}  // namespace
}  // namespace dtl::fuzz_test
