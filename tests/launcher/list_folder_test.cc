// Which files of a folder would travel, with a real git.
#include "launcher/sync/list_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "launcher/streams/host_talk.h"

namespace dtl::list_folder_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ListFolder : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/list_folder_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    wish_ = {"--sync " + folder_, folder_};
    wish_.most_bytes = 1000;
    wish_.most_entries = 20;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void file(const std::string& name, const std::string& text = "x") {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text;
  }
  void git(const std::string& words, const std::string& below = "") {
    const std::string command = "git -C " + one_shell_word(folder_ + "/" + below) +
                                " -c user.name=a -c user.email=a@b -c protocol.file.allow=always " +
                                words + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const FolderEntry& entry : list_folder(wish_).entries) all.push_back(entry.path);
    return all;
  }
  std::string refusal() const {
    try {
      list_folder(wish_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  std::string folder_;
  ListingWish wish_;
};

TEST_F(ListFolder, TakesEverythingWithoutGit) {
  file("b", "12345");
  file("a/with blank/and\nline end");
  ASSERT_EQ(::chmod((folder_ + "/b").c_str(), 0750), 0);
  std::filesystem::create_directories(folder_ + "/empty/one");
  std::filesystem::create_symlink("b", folder_ + "/link");
  const ListedFolder listed = list_folder(wish_);
  EXPECT_THAT(paths(), ElementsAre("a/with blank/and\nline end", "b", "empty/one", "link"));
  EXPECT_EQ(listed.entries[1].mode, 0750U);
  EXPECT_EQ(listed.entries[1].bytes, 5U);
  EXPECT_EQ(listed.entries[2].kind, EntryKind::kEmptyFolder);
  EXPECT_EQ(listed.entries[3].target, "b");
  EXPECT_EQ(listed.bytes, 6U);
  EXPECT_FALSE(listed.by_git);
  EXPECT_THAT(listed.notices, IsEmpty());
}

TEST_F(ListFolder, LetsGitDecide) {
  git("init");
  file(".gitignore", "*.pt\ndata/\n");
  file("train.py");
  file("gone.py");
  git("add .");
  git("commit -m one");
  file("new file\n.py");
  file("model.pt");
  file("data/big");
  std::filesystem::remove(folder_ + "/gone.py");
  EXPECT_TRUE(list_folder(wish_).by_git);
  EXPECT_THAT(paths(), ElementsAre(".gitignore", "new file\n.py", "train.py"));
}

TEST_F(ListFolder, TakesAFolderWithinAGitTree) {
  git("init");
  file("top.py");
  file("part/a.py");
  git("add .");
  wish_.folder += "/part";
  EXPECT_THAT(paths(), ElementsAre("a.py"));
  // All of it is ignored, so whoever names it means everything.
  file(".gitignore", "ignored/\n");
  file("ignored/a");
  wish_.folder = folder_ + "/ignored";
  EXPECT_THAT(paths(), ElementsAre("a"));
  EXPECT_FALSE(list_folder(wish_).by_git);
}

TEST_F(ListFolder, LooksIntoSubmodulesAndClones) {
  file("library/x.py");
  git("init", "library");
  git("add .", "library");
  git("commit -m one", "library");
  file("library/ignored.pt");
  file("library/.gitignore", "*.pt");
  git("init");
  git("submodule add ./library module");
  EXPECT_THAT(paths(),
              ElementsAre(".gitmodules", "library/.gitignore", "library/x.py", "module/x.py"));
}

TEST_F(ListFolder, LeavesOutWhatHasItsOwnList) {
  file(".venv/pyvenv.cfg");
  file("a");
  file(".dtlaunch-sync/record");
  file(".dtlaunch-proof.1.a.b");
  wish_.skipped = {".venv"};
  EXPECT_THAT(paths(), ElementsAre("a"));
}

TEST_F(ListFolder, TellsOfLinksThatLeadOutAndOfPipes) {
  std::filesystem::create_symlink("/data", folder_ + "/data");
  std::filesystem::create_symlink("../up", folder_ + "/up");
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(paths(), ElementsAre("data", "up"));
  const ListedFolder listed = list_folder(wish_);
  ASSERT_EQ(listed.notices.size(), 2U);
  EXPECT_THAT(listed.notices[0], HasSubstr("data -> /data"));
  EXPECT_THAT(listed.notices[0], HasSubstr("up -> ../up"));
  EXPECT_THAT(listed.notices[1], HasSubstr(": pipe"));
}

TEST_F(ListFolder, RefusesTooMuchWithTheLargestFolders) {
  file("small/a");
  file("data/big", std::string(900, 'x'));
  file("runs/log", std::string(200, 'x'));
  EXPECT_THAT(refusal(), HasSubstr("the largest: data (1 kB, 1 file), runs (1 kB, 1 file), "
                                   "small (1 kB, 1 file)"));
  wish_.most_bytes = 1101;
  EXPECT_EQ(paths().size(), 3U);
  wish_.most_bytes = 5000;
  for (int i = 0; i < 18; ++i) file("many/" + std::to_string(i));
  EXPECT_THAT(refusal(), HasSubstr("21 files, more than"));
  EXPECT_THAT(refusal(), HasSubstr("the largest: many (1 kB, 18 files)"));
}

TEST_F(ListFolder, RefusesWhatItCannotRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  file("secret");
  ASSERT_EQ(::chmod((folder_ + "/secret").c_str(), 0), 0);
  EXPECT_THAT(refusal(), HasSubstr("/secret: cannot read: Permission denied"));
}

TEST(SyncTalk, FindsAnswersBehindNoise) {
  std::string received =
      "Welcome!\n\nDTLAUNCH-SYNC want 0-3,7\n\nDTLAUNCH-SYNC at\n\nDTLAUNCH-SYNC do";
  const auto want = take_answer(received, kSyncMarker);
  ASSERT_TRUE(want);
  EXPECT_EQ(want->word, "want");
  EXPECT_EQ(want->rest, "0-3,7");
  const auto at = take_answer(received, kSyncMarker);
  ASSERT_TRUE(at);
  EXPECT_EQ(at->word, "at");
  EXPECT_FALSE(take_answer(received, kSyncMarker));
  received += "ne /a folder/b\n";
  const auto done = take_answer(received, kSyncMarker);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->rest, "/a folder/b");
}

}  // namespace
}  // namespace dtl::list_folder_test
