// Copies of a folder, by its list: what arrives, what is removed, and what a killed sync leaves.
#include "agent/entrance/folder_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"

namespace dtl::folder_copy_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr std::int64_t kTime = 1'700'000'000'123'456'789;
constexpr const char* kOdd = "a file with\na line end";

// What a launcher has.
struct Original {
  FolderList entries;
  std::map<std::string, std::string> texts;

  void file(const std::string& path, const std::string& text, unsigned mode = 0644,
            std::int64_t time = kTime) {
    entries.push_back({EntryKind::kFile, path, mode, text.size(), time});
    texts[path] = text;
  }
  void link(const std::string& path, const std::string& target) {
    entries.push_back({EntryKind::kLink, path, 0, 0, 0, target});
  }
  void empty(const std::string& path) { entries.push_back({EntryKind::kEmptyFolder, path}); }
};

class FolderCopyTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/folder_copy_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    root_ = folder_ + "/copy";
    fs::create_directory(root_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Takes the missing files; the paths that were sent.
  std::vector<std::string> take_missing(FolderCopy& copy, const Original& from) {
    std::vector<std::string> sent;
    for (const std::size_t index : copy.missing(from.entries, [] {})) {
      const FolderEntry& entry = from.entries[index];
      const std::string& text = from.texts.at(entry.path);
      std::size_t at = 0;
      copy.take(entry, index, [&](char* room, std::size_t bytes) {
        std::copy_n(text.data() + at, bytes, room);
        at += bytes;
      });
      sent.push_back(entry.path);
    }
    return sent;
  }
  std::vector<std::string> sync(const Original& from) {
    FolderCopy copy(root_);
    EXPECT_TRUE(copy.lock());
    const std::vector<std::string> sent = take_missing(copy, from);
    copy.put_in_place(from.entries, [] {});
    return sent;
  }
  std::string refusal(const Original& from) {
    try {
      sync(from);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kCannotWrite);
      return error.what();
    }
    return "no error";
  }
  std::string text(const std::string& path) const {
    std::ostringstream all;
    all << std::ifstream(root_ + "/" + path).rdbuf();
    return all.str();
  }
  void write(const std::string& path, const std::string& bytes) const {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << bytes;
  }
  // All paths but those of dtlaunch itself.
  std::vector<std::string> there() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      const std::string path = entry.path().string().substr(root_.size() + 1);
      if (!path.starts_with(kSyncFolder)) all.push_back(path);
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  std::string folder_, root_;
};

TEST_F(FolderCopyTest, BringsFilesLinksAndEmptyFolders) {
  Original from;
  from.file(kOdd, std::string(600'000, 'x'));
  from.file("bin/run", "#!/bin/sh\n", 0755);
  from.file("secret", "", 0600);
  from.link("deep/link", "../bin/run");
  from.empty("logs/of runs");
  EXPECT_THAT(sync(from), ElementsAre(kOdd, "bin/run", "secret"));
  EXPECT_THAT(there(), ElementsAre(kOdd, "bin", "bin/run", "deep", "deep/link", "logs",
                                   "logs/of runs", "secret"));
  EXPECT_EQ(text(kOdd), std::string(600'000, 'x'));
  EXPECT_EQ(text("deep/link"), "#!/bin/sh\n");
  struct stat status {};
  ASSERT_EQ(::stat((root_ + "/bin/run").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0755U);
  ASSERT_EQ(::stat((root_ + "/secret").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(FolderCopyTest, TakesOnlyWhatChanged) {
  Original from;
  from.file("a", "one");
  from.file("b", "two");
  from.link("c", "a");
  sync(from);
  EXPECT_THAT(sync(from), IsEmpty());
  Original next;
  next.file("a", "one", 0755);             // only the mode
  next.file("b", "TWO", 0644, kTime + 1);  // of the same size
  next.link("c", "b");
  EXPECT_THAT(sync(next), ElementsAre("b"));
  EXPECT_EQ(text("c"), "TWO");
  struct stat status {};
  ASSERT_EQ(::stat((root_ + "/a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0755U);
  // What somebody changed on the host comes back.
  write("a", "other");
  EXPECT_THAT(sync(next), ElementsAre("a"));
}

TEST_F(FolderCopyTest, RemovesOnlyWhatItHasBrought) {
  Original from;
  from.file("old/deep/file", "x");
  from.file("shared/brought", "x");
  from.link("link", "old");
  from.empty("empty");
  sync(from);
  write("shared/made by a rank", "y");
  write("old2/other", "y");
  Original next;
  next.file("new", "z");
  sync(next);
  EXPECT_THAT(there(), ElementsAre("new", "old2", "old2/other", "shared", "shared/made by a rank"));
  // What a rank made does not vanish when a file of that name was never brought.
  sync(from);
  sync(next);
  EXPECT_THAT(there(), ElementsAre("new", "old2", "old2/other", "shared", "shared/made by a rank"));
}

TEST_F(FolderCopyTest, LetsFilesFoldersAndLinksChangePlaces) {
  Original from;
  from.file("a", "x");
  from.file("b/inside", "x");
  from.link("c", "b");
  from.file("d/e/f", "x");
  sync(from);
  Original next;
  next.file("a/inside", "y");
  next.file("b", "y");
  next.file("c/inside", "y");
  next.link("d", "a");
  sync(next);
  EXPECT_THAT(there(), ElementsAre("a", "a/inside", "b", "c", "c/inside", "d"));
  EXPECT_EQ(text("b"), "y");
  EXPECT_TRUE(fs::is_symlink(root_ + "/d"));
  sync(from);
  EXPECT_THAT(there(), ElementsAre("a", "b", "b/inside", "c", "d", "d/e", "d/e/f"));
}

TEST_F(FolderCopyTest, NeverWritesThroughALink) {
  const std::string outside = folder_ + "/outside";
  fs::create_directory(outside);
  fs::create_directory_symlink(outside, root_ + "/data");
  Original from;
  from.file("data/x", "x");
  EXPECT_THAT(refusal(from), HasSubstr("/copy/data: a link is in the way"));
  EXPECT_TRUE(fs::is_empty(outside));
  // A link in place of a file is replaced.
  fs::remove(root_ + "/data");
  std::ofstream(outside + "/y") << "mine";
  fs::create_symlink(outside + "/y", root_ + "/y");
  Original file;
  file.file("y", "theirs");
  sync(file);
  EXPECT_EQ(text("y"), "theirs");
  std::ostringstream kept;
  kept << std::ifstream(outside + "/y").rdbuf();
  EXPECT_EQ(kept.str(), "mine");
}

TEST_F(FolderCopyTest, RemovesNothingBehindALink) {
  Original from;
  from.file("data/x", "x");
  sync(from);
  const std::string outside = folder_ + "/outside";
  fs::rename(root_ + "/data", outside);
  fs::create_directory_symlink(outside, root_ + "/data");
  Original next;
  next.file("a", "x");
  sync(next);
  EXPECT_TRUE(fs::exists(outside + "/x"));
}

TEST_F(FolderCopyTest, LeavesFoldersAndFilesOfOthersInTheWay) {
  write("a/mine", "x");
  write("b", "x");
  Original from;
  from.file("a", "y");
  EXPECT_THAT(refusal(from), HasSubstr("/copy/a: a folder is in the way"));
  Original next;
  next.file("b/c", "y");
  EXPECT_THAT(refusal(next), HasSubstr("/copy/b: a file is in the way"));
  Original last;
  last.empty("b");
  EXPECT_THAT(refusal(last), HasSubstr("/copy/b: a file is in the way"));
  EXPECT_THAT(there(), ElementsAre("a", "a/mine", "b"));
}

TEST_F(FolderCopyTest, LeavesNothingOfASyncThatEndsInTheMiddle) {
  Original from;
  from.file("a", "old");
  sync(from);
  Original next;
  next.file("a", "new!");
  next.file("b", "new!");
  {
    FolderCopy copy(root_);
    ASSERT_TRUE(copy.lock());
    take_missing(copy, next);
    EXPECT_EQ(text("a"), "old");
  }
  EXPECT_THAT(there(), ElementsAre("a"));
  EXPECT_FALSE(fs::exists(root_ + "/.dtlaunch-sync/new"));
  // One that was killed could not clean up; the next one does.
  write(".dtlaunch-sync/new/0", "half");
  EXPECT_THAT(sync(next), ElementsAre("a", "b"));
  EXPECT_EQ(text("a"), "new!");
  EXPECT_FALSE(fs::exists(root_ + "/.dtlaunch-sync/new"));
}

TEST_F(FolderCopyTest, IsLockedByOneAtATime) {
  FolderCopy one(root_), other(root_);
  EXPECT_TRUE(one.lock());
  EXPECT_FALSE(other.lock());
}

TEST_F(FolderCopyTest, TrustsNoRecordThatLeadsOut) {
  std::ofstream(folder_ + "/outside") << "x";
  write("mine", "x");
  const std::string record("../outside\0/etc/passwd\0mine/../../outside\0", 41);
  write(".dtlaunch-sync/record", record);
  Original from;
  from.file("a", "x");
  sync(from);
  EXPECT_TRUE(fs::exists(folder_ + "/outside"));
  EXPECT_THAT(there(), ElementsAre("a", "mine"));
}

}  // namespace
}  // namespace dtl::folder_copy_test
