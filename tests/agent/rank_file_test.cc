#include "agent/job/rank_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <list>
#include <sstream>
#include <string>

namespace dtl::rank_file_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class RankFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/dtl-rank-file-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  std::size_t open_here() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      count += fs::read_symlink(entry.path(), gone).string().starts_with(folder_) ? 1 : 0;
    }
    return count;
  }

  std::string folder_;
  OpenRankFiles open_;
};

TEST_F(RankFiles, OfManyRanksKeepEverythingAndFewAreOpen) {
  constexpr int kFiles = 3 * static_cast<int>(OpenRankFiles::kMost);
  std::list<RankFile> files;
  for (int i = 0; i < kFiles; ++i) {
    std::ofstream(folder_ + "/" + std::to_string(i)) << "of an earlier job, and longer\n";
    files.emplace_back(folder_ + "/" + std::to_string(i), open_);
  }
  for (const char* word : {"one\n", "two\n", "three\n"}) {
    for (RankFile& file : files) EXPECT_EQ(file.write(word, 0ms), std::nullopt);
    EXPECT_EQ(open_here(), OpenRankFiles::kMost);
  }
  for (int i = 0; i < kFiles; ++i) EXPECT_EQ(text_of(std::to_string(i)), "one\ntwo\nthree\n");
  files.clear();
  EXPECT_EQ(open_here(), 0u);
}

TEST_F(RankFiles, AreRotatedAlsoAfterTheyWereClosed) {
  RankFile file(folder_ + "/rank", open_);
  const std::string half(RankFile::kBytes / 2 + 1, 'a');
  EXPECT_EQ(file.write(half, 0ms), std::nullopt);
  file.close();
  EXPECT_EQ(file.write("b", 0ms), std::nullopt);
  EXPECT_EQ(fs::file_size(folder_ + "/rank"), half.size() + 1);
  EXPECT_EQ(file.write(half, 0ms), std::nullopt);
  EXPECT_EQ(fs::file_size(folder_ + "/rank"), half.size());
  EXPECT_EQ(fs::file_size(folder_ + "/rank.1"), half.size() + 1);
}

TEST_F(RankFiles, ThatCannotBeWrittenAreToldOnce) {
  RankFile file(folder_ + "/nowhere/rank", open_);
  const auto told = file.write("x", 0ms);
  ASSERT_TRUE(told.has_value());
  EXPECT_NE(told->find("No such file or directory"), std::string::npos);
  EXPECT_EQ(file.write("x", 1000ms), std::nullopt);
  EXPECT_TRUE(file.write("x", 61s).has_value());
}

}  // namespace
}  // namespace dtl::rank_file_test
