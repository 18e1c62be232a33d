#include "launcher/ssh/known_hosts_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "launcher/ssh/known_hosts_files.h"

namespace dtl::known_hosts_index_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> found(const KnownHostsIndex& index, const std::string& host) {
  std::vector<std::string> places;
  for (const KnownHostsLine& line : index.about(host)) places.push_back(line.where);
  return places;
}

TEST(KnownHostsIndex, FindsNamesPatternsAndHashesInTheOrderOfTheFile) {
  // The third line is `ssh-keygen -H` of "node1".
  const KnownHostsIndex index(
      "node1,10.0.0.1 k\nnode* k\n|1|AAECAwQFBgcICQoLDA0ODxAREhM=|mFkKXp7gYYtwrI9fxvaW8ybOwwo= k\n"
      "NODE1,node1 k\n*,!node1 k\nother k\n",
      "f");
  EXPECT_THAT(found(index, "node1"), ElementsAre("f:1", "f:2", "f:3", "f:4"));
  EXPECT_THAT(found(index, "10.0.0.1"), ElementsAre("f:1", "f:5"));
  EXPECT_THAT(found(index, "node2"), ElementsAre("f:2", "f:5"));
}

TEST(KnownHostsIndex, TakesDamagedHashesForNobodys) {
  const KnownHostsIndex index(
      "|1| k\n|1|AAEC|mFkKXp7gYYtwrI9fxvaW8ybOwwo= k\n|2|AAECAwQFBgcICQoLDA0ODxAREhM=|"
      "mFkKXp7gYYtwrI9fxvaW8ybOwwo= k\n|1|AAECAwQFBgcICQoLDA0ODxAREhM=|mFkKXp7gYYtwrI9fxvaW8ybOwwo "
      "k\n",
      "f");
  EXPECT_THAT(found(index, "node1"), IsEmpty());
}

TEST(KnownHostsFiles, ReadAFileAgainWhenItHasChanged) {
  const std::string path = testing::TempDir() + "known_hosts." + std::to_string(::getpid());
  std::ofstream(path) << "node1 old\n";
  KnownHostsFiles files;
  const auto keys = [&] {
    std::vector<std::string> all;
    for (const KnownHostsLine& line : files.about({path + ".none", path}, "node1")) {
      all.push_back(line.key);
    }
    return all;
  };
  EXPECT_THAT(keys(), ElementsAre("old"));
  std::ofstream(path, std::ios::app) << "node1 new\n";
  EXPECT_THAT(keys(), ElementsAre("old", "new"));
  std::remove(path.c_str());
  EXPECT_THAT(keys(), IsEmpty());
}

}  // namespace
}  // namespace dtl::known_hosts_index_test
