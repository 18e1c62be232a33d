#include "trainer/files/folder_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "tests/trainer/temporary_folder.h"

namespace dtl::trainer::folder_lock_test {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& folder) {
  try {
    const FolderLock lock(folder);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kCannotWrite);
    return error.what();
  }
  return "";
}

TEST(FolderLock, SaysThatTheFolderIsAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model", "");
  EXPECT_EQ(refusal(path), path + ": cannot write the output: it is a file, not a folder. " +
                               "Try: --output_dir " + path + "-out");
}

TEST(FolderLock, IsHeldByOneAndSaysByWhom) {
  const TemporaryFolder folder;
  const std::string output = folder.file("a/new/one");
  std::optional<FolderLock> lock(output);
  const std::string text = refusal(output);
  EXPECT_THAT(text, HasSubstr(output + ": cannot write the output: another run writes there: pid " +
                              std::to_string(::getpid()) + " on " + own_host_name() + " since 20"));
  lock.reset();
  EXPECT_TRUE(std::filesystem::is_empty(output));
  EXPECT_EQ(refusal(output), "");
}

TEST(FolderLock, OfAKilledHolderIsFree) {
  const TemporaryFolder folder;
  Pipe ready = make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(folder.path());
    write_all(ready.write_end.get(), "x");
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready.read_end.get(), &byte, 1), 1);
  EXPECT_THAT(refusal(folder.path()), HasSubstr("pid " + std::to_string(child)));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(std::filesystem::exists(folder.file(kLockFile)));
  EXPECT_EQ(refusal(folder.path()), "");
}

// As ranks whose launcher was killed: they end, but not at once.
TEST(FolderLock, WaitsForAHolderThatEnds) {
  const TemporaryFolder folder;
  Pipe ready = make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(folder.path());
    write_all(ready.write_end.get(), "x");
    ::poll(nullptr, 0, 300);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready.read_end.get(), &byte, 1), 1);
  EXPECT_EQ(refusal(folder.path()), "");
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

// What a holder has not written yet, or what is no line of ours, is no reason to let others in.
TEST(FolderLock, NeedsNoTextAndTrustsNone) {
  const TemporaryFolder folder;
  const FolderLock lock(folder.path());
  folder.write(kLockFile, "");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("another run writes there. Try: "));
  folder.write(kLockFile, "\033[2Jx\nsecond");
  const std::string text = refusal(folder.path());
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
  EXPECT_EQ(text.find("second"), std::string::npos) << text;
}

TEST(FolderLock, NamesTheFolderThatCannotBeWritten) {
  const TemporaryFolder folder;
  folder.write("plain", "a file");
  EXPECT_THAT(refusal(folder.file("plain")),
              HasSubstr(folder.file("plain") + ": cannot write the output: "));
}

}  // namespace
}  // namespace dtl::trainer::folder_lock_test
