#include "base/machine/find_program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace dtl::find_program_test {
namespace {

class FindProgram : public testing::Test {
 protected:
  FindProgram() {
    std::string name = testing::TempDir() + "/programs.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    for (const char* part : {"a", "b"}) std::filesystem::create_directory(folder_ + "/" + part);
  }
  ~FindProgram() override { std::filesystem::remove_all(folder_); }

  void file(const std::string& name, mode_t mode) const {
    std::ofstream(folder_ + "/" + name) << "#!/bin/sh\n";
    ::chmod((folder_ + "/" + name).c_str(), mode);
  }
  std::optional<std::string> find(const std::string& name) const {
    return find_program(name, folder_ + "/a:" + folder_ + "/b");
  }

  std::string folder_;
};

TEST_F(FindProgram, TakesTheFirstFolderThatHasIt) {
  file("a/p", 0755);
  file("b/p", 0755);
  file("b/q", 0755);
  EXPECT_EQ(find("p"), folder_ + "/a/p");
  EXPECT_EQ(find("q"), folder_ + "/b/q");
  EXPECT_EQ(find("r"), std::nullopt);
}

TEST_F(FindProgram, PassesFoldersAndFilesThatCannotRun) {
  std::filesystem::create_directory(folder_ + "/a/p");
  file("b/p", 0755);
  EXPECT_EQ(find("p"), folder_ + "/b/p");
  file("a/data", 0644);
  EXPECT_EQ(find("data"), std::nullopt);
}

TEST_F(FindProgram, DoesNotLookInRelativeFolders) {
  file("a/p", 0755);
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  EXPECT_EQ(find_program("p", "a::."), std::nullopt);
  std::filesystem::current_path(here);
}

TEST_F(FindProgram, NamesTheNearestThatCanBeExecuted) {
  file("a/hostname", 0755);
  file("b/hostnam3", 0644);
  const std::string path = folder_ + "/none:" + folder_ + "/a:" + folder_ + "/b";
  EXPECT_EQ(nearest_program("hostnam", path), "hostname");
  EXPECT_EQ(nearest_program("stranger", path), "");
  EXPECT_EQ(nearest_program("hos", path), "");
}

}  // namespace
}  // namespace dtl::find_program_test
