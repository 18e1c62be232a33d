#include "agent/node/find_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dtl::find_files_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Pair;

class FindFiles : public ::testing::Test {
 protected:
  FindFiles() {
    char pattern[] = "/tmp/dtl-find-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~FindFiles() override { std::filesystem::remove_all(folder_); }

  void touch(const std::string& name) { std::ofstream(folder_ + "/" + name) << "x"; }

  std::string find(const std::string& kind, const std::string& name) {
    const Examined found =
        find_libraries({{{"what", "libraries"}, {"folder", folder_}, {kind, name}}}, folder_)
            .answer;
    EXPECT_EQ(found.facts.size(), 1u);
    EXPECT_EQ(found.facts.at(0).name, kind);
    return found.facts.at(0).value;
  }

  std::string folder_;
};

TEST_F(FindFiles, TakeTheNewestVersionOfALibraryWithoutItsPlainName) {
  touch("libdtl_test.so.2");
  touch("libdtl_test.so.10.1");
  touch("libdtl_test.so.9");
  touch("libdtl_test.so.old");
  touch("libdtl_tests.so");
  EXPECT_EQ(find("library", "libdtl_test.so"), folder_ + "/libdtl_test.so.10.1");
  touch("libdtl_test.so");
  EXPECT_EQ(find("library", "libdtl_test.so"), folder_ + "/libdtl_test.so");
}

TEST_F(FindFiles, SayWhenALibraryIsNowhere) {
  EXPECT_EQ(find("library", "libdtl_none.so"), "");
  EXPECT_EQ(find("file", "libdtl_none.so.1"), "");
  EXPECT_EQ(find("file", "/nonexistent/libdtl_none.so"), "");
}

TEST_F(FindFiles, TakeAPathAsItIsAndLookForABareName) {
  touch("libdtl_test.so.2");
  EXPECT_EQ(find("file", folder_ + "/libdtl_test.so.2"), folder_ + "/libdtl_test.so.2");
  EXPECT_EQ(find("file", "libdtl_test.so.2"), folder_ + "/libdtl_test.so.2");
}

TEST_F(FindFiles, SayWhichDirectoriesAndPythonsThereAre) {
  std::filesystem::create_directory(folder_ + "/bin");
  touch("bin/python3.11");
  std::filesystem::permissions(folder_ + "/bin/python3.11", std::filesystem::perms::owner_all);
  std::filesystem::create_symlink("python3.11", folder_ + "/bin/python3");
  const Examined found = find_libraries({{{"what", "libraries"},
                                          {"directory", folder_},
                                          {"directory", folder_ + "/none"},
                                          {"PATH", "/nonexistent:" + folder_ + "/bin"},
                                          {"python", "python3"},
                                          {"python", "python2"},
                                          {"unheard-of", "x"}}},
                                        folder_)
                             .answer;
  std::vector<std::pair<std::string, std::string>> facts;
  for (const Fact& fact : found.facts) facts.emplace_back(fact.name, fact.value);
  EXPECT_THAT(facts, ElementsAre(Pair("directory", folder_), Pair("directory", ""),
                                 Pair("python", "3.11"), Pair("python", "")));
}

TEST_F(FindFiles, LookInTheFoldersOfDebianAndOfOthers) {
  EXPECT_THAT(library_folders(), Contains("/usr/lib64"));
  EXPECT_THAT(library_folders(), Contains("/usr/local/lib"));
  EXPECT_THAT(library_folders(), Contains(EndsWith("/.local/lib")));
#if defined(__x86_64__)
  EXPECT_THAT(library_folders(), Contains("/usr/lib/x86_64-linux-gnu"));
#endif
}

}  // namespace
}  // namespace dtl::find_files_test
