#include "agent/container/podman_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtl::podman_words_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

ContainerWish wish() {
  ContainerWish wish;
  wish.image = "localhost/solver:1";
  wish.folders = {"/home/me/work", "/run/user/1000/dtlaunch"};
  wish.name = "dtlaunch-00ff-7";
  wish.holder = "/usr/bin/dtagent";
  wish.most_files = 512;
  wish.most_processes = 4096;
  return wish;
}

TEST(PodmanWords, LookForTheImageWithoutStartingAnything) {
  EXPECT_THAT(words_to_find_image("a/b:1"), ElementsAre("podman", "image", "exists", "a/b:1"));
}

TEST(PodmanWords, EndWithTheImageAndTheHoldersOption) {
  const auto words = words_to_start(wish());
  ASSERT_GE(words.size(), 3u);
  EXPECT_THAT(std::vector(words.end() - 3, words.end()),
              ElementsAre("--entrypoint=/.dtlaunch-holder", "localhost/solver:1", "--hold"));
}

TEST(PodmanWords, RemoveTheContainerAtItsEndAndFetchNothing) {
  EXPECT_THAT(words_to_start(wish()), Contains("--rm"));
  EXPECT_THAT(words_to_start(wish()), Contains("--pull=never"));
}

TEST(PodmanWords, ShareMemoryAndFoldersUnderTheirNames) {
  const auto words = words_to_start(wish());
  EXPECT_THAT(words, Contains("--mount=type=bind,source=/dev/shm,destination=/dev/shm"));
  EXPECT_THAT(words, Contains("--mount=type=bind,source=/home/me/work,destination=/home/me/work"));
  EXPECT_THAT(words, Contains("--mount=type=bind,source=/usr/bin/dtagent,"
                              "destination=/.dtlaunch-holder,ro=true"));
}

TEST(PodmanWords, QuoteCommasAndQuotesOfFolders) {
  ContainerWish odd = wish();
  odd.folders = {"/data/a,b \"c\""};
  EXPECT_THAT(words_to_start(odd), Contains("--mount=type=bind,\"source=/data/a,b \"\"c\"\"\","
                                            "\"destination=/data/a,b \"\"c\"\"\""));
}

TEST(PodmanWords, StayWithinTheLimitsOfTheUser) {
  EXPECT_THAT(words_to_start(wish()), Contains("--ulimit=nofile=512:512"));
  EXPECT_THAT(words_to_start(wish()), Contains("--ulimit=nproc=4096:4096"));
}

// Other users can read command lines.
TEST(PodmanWords, CarryNoVariables) {
  EXPECT_THAT(words_to_start(wish()), Not(Contains(StartsWith("--env"))));
}

}  // namespace
}  // namespace dtl::podman_words_test
