#include "agent/job/rank_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <list>
#include <optional>
#include <sstream>
#include <string>

namespace dtl::rank_file_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr uid_t kAnother = 65534;  // nobody

class RankFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/dtl-rank-file-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    parent_ = name;
    folder_ = parent_ + "/job";
    kept_.emplace(parent_, "job");
    kept_->open();
  }
  void TearDown() override { fs::remove_all(parent_); }

  std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  std::size_t open_here() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      count += fs::read_symlink(entry.path(), gone).string().starts_with(folder_ + "/") ? 1 : 0;
    }
    return count;
  }

  std::string parent_, folder_;
  std::optional<RankFolder> kept_;
  OpenRankFiles open_;
};

TEST_F(RankFiles, OfManyRanksKeepEverythingAndFewAreOpen) {
  constexpr int kFiles = 3 * static_cast<int>(OpenRankFiles::kMost);
  std::list<RankFile> files;
  for (int i = 0; i < kFiles; ++i) {
    std::ofstream(folder_ + "/" + std::to_string(i)) << "of an earlier job, and longer\n";
    files.emplace_back(*kept_, std::to_string(i), open_);
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
  RankFile file(*kept_, "rank", open_);
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
  RankFile file(*kept_, "nowhere/rank", open_);
  const auto told = file.write("x", 0ms);
  ASSERT_TRUE(told.has_value());
  EXPECT_NE(told->find("No such file or directory"), std::string::npos);
  EXPECT_EQ(file.write("x", 1000ms), std::nullopt);
  EXPECT_TRUE(file.write("x", 61s).has_value());
}

// The owner of the parent folder may rename this folder and put a link in its place.
TEST_F(RankFiles, GoToTheFolderThatWasOpenedWhateverTakesItsPlace) {
  RankFile file(*kept_, "rank", open_);
  EXPECT_EQ(file.write("one\n", 0ms), std::nullopt);
  file.close();
  fs::rename(folder_, parent_ + "/moved");
  fs::create_directory(parent_ + "/elsewhere");
  fs::create_symlink(parent_ + "/elsewhere", folder_);
  EXPECT_EQ(file.write("two\n", 0ms), std::nullopt);
  EXPECT_EQ(file.write(std::string(RankFile::kBytes, 'a'), 0ms), std::nullopt);
  EXPECT_TRUE(fs::is_empty(parent_ + "/elsewhere"));
  EXPECT_EQ(text_of("../moved/rank.1"), "one\ntwo\n");
}

TEST_F(RankFiles, AreNotWrittenThroughALinkInThePlaceOfTheirFolder) {
  fs::create_directory(parent_ + "/elsewhere");
  fs::create_symlink(parent_ + "/elsewhere", parent_ + "/linked");
  RankFolder linked(parent_, "linked");
  RankFile file(linked, "rank", open_);
  EXPECT_THAT(file.write("x", 0ms).value_or(""),
              HasSubstr("/linked: cannot keep output: it is a link; the job goes"));
  EXPECT_TRUE(fs::is_empty(parent_ + "/elsewhere"));
}

TEST_F(RankFiles, SayThatAFileIsInThePlaceOfTheirFolder) {
  std::ofstream(parent_ + "/file") << "x";
  RankFolder place(parent_, "file"), below(parent_ + "/file", "job");
  RankFile file(place, "rank", open_), deeper(below, "rank", open_);
  EXPECT_THAT(file.write("x", 0ms).value_or(""),
              HasSubstr("/file: cannot keep output: it is not a folder; the job"));
  EXPECT_THAT(deeper.write("x", 0ms).value_or(""), HasSubstr("Not a directory; the job"));
}

TEST_F(RankFiles, AreNotWrittenWhereOthersMayWrite) {
  fs::permissions(folder_, fs::perms::all);
  RankFolder open_to_all(parent_, "job");
  RankFile file(open_to_all, "rank", open_);
  EXPECT_THAT(file.write("x", 0ms).value_or(""),
              HasSubstr("/job: cannot keep output: others may write there"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(RankFiles, FollowLinksOfTheirUserAlone) {
  fs::create_directory(parent_ + "/large");
  fs::create_symlink("large", parent_ + "/logs");
  fs::create_symlink(parent_ + "/logs/deep/../deep", parent_ + "/more");
  RankFolder through(parent_ + "/more/restart-1", "job");
  RankFile file(through, "rank", open_);
  EXPECT_EQ(file.write("x", 0ms), std::nullopt);
  EXPECT_TRUE(fs::is_regular_file(parent_ + "/large/deep/restart-1/job/rank"));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user";
  ASSERT_EQ(::lchown((parent_ + "/logs").c_str(), kAnother, kAnother), 0);
  RankFolder others(parent_ + "/more/restart-2", "job");
  RankFile none(others, "rank", open_);
  EXPECT_THAT(none.write("x", 0ms).value_or(""),
              HasSubstr("/logs: cannot keep output: it is a link of another user (65534)"));
  EXPECT_FALSE(fs::exists(parent_ + "/large/deep/restart-2"));
}

TEST_F(RankFiles, AreNotWrittenIntoAFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a folder of another user";
  ASSERT_EQ(::chown(folder_.c_str(), kAnother, kAnother), 0);
  RankFolder others(parent_, "job");
  RankFile file(others, "rank", open_);
  EXPECT_THAT(file.write("x", 0ms).value_or(""),
              HasSubstr("/job: cannot keep output: it belongs to another user (65534)"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace dtl::rank_file_test
