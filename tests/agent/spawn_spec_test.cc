#include "agent/guard/spawn_spec.h"

#include <gtest/gtest.h>

#include <cstring>

#include "wire/messages.h"

namespace dtl::spawn_spec_test {
namespace {

SpawnHeader header_of(const std::string& image) {
  SpawnHeader header;
  std::memcpy(&header, image.data(), sizeof header);
  return header;
}

std::vector<std::string> table(const std::string& image, std::uint64_t at, std::uint64_t count) {
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i <= count; ++i) {
    std::uint64_t offset = 0;
    std::memcpy(&offset, image.data() + at + 8 * i, 8);
    if (i == count) {
      EXPECT_EQ(offset, 0u);
    } else {
      texts.push_back(image.data() + offset);
    }
  }
  return texts;
}

TEST(SpawnSpec, HoldsArgumentsAndEnvironmentInOrder) {
  RankSpec rank;
  rank.arguments = {"/bin/x"};
  rank.arguments.push_back("");
  rank.working_directory = "/tmp";
  const std::string image = pack_spawn_spec(rank, {"A=1", "B=two words"}, {"/bin/x"});
  const SpawnHeader header = header_of(image);
  EXPECT_EQ(header.total_bytes, image.size());
  EXPECT_EQ(table(image, header.arguments, header.argument_count), rank.arguments);
  EXPECT_EQ(table(image, header.environment, header.environment_count),
            (std::vector<std::string>{"A=1", "B=two words"}));
  EXPECT_STREQ(image.data() + header.directory, "/tmp");
  EXPECT_EQ(header.cpu_mask_bytes, 0u);
}

TEST(SpawnSpec, LooksForABareNameOnThePathOfTheRankThenBesideTheAgent) {
  RankSpec rank;
  rank.arguments = {"dttrain"};
  const std::vector<std::string> wanted = {"/a/dttrain", "./dttrain", "/b/dttrain", "/opt/dttrain"};
  EXPECT_EQ(program_candidates(rank, {"PATH=/a::/b"}, "/opt"), wanted);
  const std::string image = pack_spawn_spec(rank, {}, wanted);
  const SpawnHeader header = header_of(image);
  EXPECT_EQ(table(image, header.candidates, header.candidate_count), wanted);
}

TEST(SpawnSpec, SetsOneBitForEachCpu) {
  RankSpec rank;
  rank.cpus.push_back(1);
  rank.cpus.push_back(65);
  const std::string image = pack_spawn_spec(rank, {}, {"/bin/x"});
  const SpawnHeader header = header_of(image);
  ASSERT_EQ(header.cpu_mask_bytes, 16u);
  EXPECT_EQ(image[header.cpu_mask], 2);
  EXPECT_EQ(image[header.cpu_mask + 8], 2);
}

}  // namespace
}  // namespace dtl::spawn_spec_test
