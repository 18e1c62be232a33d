#include "trainer/checkpoint/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/new_file.h"
#include "tests/trainer/temporary_folder.h"

namespace dtl::trainer::checkpoint_folder_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void make(const TemporaryFolder& folder, std::int64_t step, const std::string& text = "whole") {
  PartialCheckpoint partial(folder.path(), step);
  write_file_atomically(partial.path() + "/file", text);
  partial.commit();
}

std::set<std::string> names_in(const TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.insert(entry.path().filename());
  }
  return names;
}

TEST(CheckpointFolder, IsFoundByTheHighestStep) {
  const TemporaryFolder folder;
  EXPECT_EQ(find_last_checkpoint(folder.path()), std::nullopt);
  EXPECT_EQ(find_last_checkpoint(folder.file("missing")), std::nullopt);
  for (const std::int64_t step : {9, 10, 100, 20}) make(folder, step);
  folder.write("checkpoint-500", "a file");
  for (const char* name : {"checkpoint-", "checkpoint-7x", "checkpoint-999.partial-3", "runs"}) {
    std::filesystem::create_directory(folder.file(name));
  }
  EXPECT_EQ(find_last_checkpoint(folder.path()), folder.file("checkpoint-100"));
}

TEST(CheckpointFolder, TellsItsStep) {
  EXPECT_EQ(checkpoint_step("a/checkpoint-12"), 12);
  EXPECT_EQ(checkpoint_step("a/checkpoint-12/"), 12);
  EXPECT_EQ(checkpoint_step("checkpoint-0"), 0);
  EXPECT_EQ(checkpoint_step("a/checkpoint-12.partial-4"), std::nullopt);
  EXPECT_EQ(checkpoint_step(""), std::nullopt);
}

TEST(CheckpointFolder, AppearsOnlyWhenItIsWhole) {
  const TemporaryFolder folder;
  {
    PartialCheckpoint partial(folder.path(), 3);
    write_file_atomically(partial.path() + "/file", "x");
    EXPECT_EQ(find_last_checkpoint(folder.path()), std::nullopt);
  }
  EXPECT_TRUE(names_in(folder).empty());
  make(folder, 3);
  EXPECT_THAT(names_in(folder), ElementsAre("checkpoint-3"));
}

TEST(CheckpointFolder, TakesThePlaceOfAnOlderOne) {
  const TemporaryFolder folder;
  make(folder, 3, "old");
  folder.write("checkpoint-3/other", "old");
  make(folder, 3, "new");
  EXPECT_THAT(names_in(folder), ElementsAre("checkpoint-3"));
  EXPECT_EQ(read_file(folder.file("checkpoint-3/file"), 99), "new");
  EXPECT_FALSE(std::filesystem::exists(folder.file("checkpoint-3/other")));
}

TEST(CheckpointFolder, OfAKilledRunIsNotFoundAndThenRemoved) {
  const TemporaryFolder folder;
  make(folder, 3);
  const pid_t child = ::fork();
  if (child == 0) {
    PartialCheckpoint partial(folder.path(), 4);
    write_file_atomically(partial.path() + "/model.safetensors", "half");
    ::_exit(0);  // as by SIGKILL: no destructor
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(names_in(folder).size(), 2U);
  EXPECT_EQ(find_last_checkpoint(folder.path()), folder.file("checkpoint-3"));
  remove_partial_checkpoints(folder.path());
  EXPECT_THAT(names_in(folder), ElementsAre("checkpoint-3"));
}

TEST(OldCheckpoints, AreRemovedButForTheNewestAndTheBest) {
  const auto kept = [](std::int64_t limit, std::int64_t best) {
    const TemporaryFolder folder;
    for (const std::int64_t step : {10, 20, 30, 100}) make(folder, step);
    const std::string name = "checkpoint-" + std::to_string(best);
    remove_old_checkpoints(folder.path(), limit, best == 0 ? "" : folder.file(name), 100);
    std::set<std::int64_t> steps;
    for (const std::string& left : names_in(folder)) steps.insert(*checkpoint_step(left));
    return steps;
  };
  EXPECT_THAT(kept(0, 0), ElementsAre(10, 20, 30, 100));
  EXPECT_THAT(kept(9, 0), ElementsAre(10, 20, 30, 100));
  EXPECT_THAT(kept(2, 0), ElementsAre(30, 100));
  EXPECT_THAT(kept(2, 10), ElementsAre(10, 100));
  EXPECT_THAT(kept(3, 10), ElementsAre(10, 30, 100));
  EXPECT_THAT(kept(1, 0), ElementsAre(100));
  EXPECT_THAT(kept(1, 100), ElementsAre(100));
  EXPECT_THAT(kept(1, 20), ElementsAre(20, 100));
}

// An older run in the same folder went further, and another program has checkpoints there, too.
TEST(OldCheckpoints, AreThoseOfAnOlderRunFirstAndNoForeignOnes) {
  const TemporaryFolder folder;
  for (const std::int64_t step : {10, 20, 500}) make(folder, step);
  std::filesystem::create_directory(folder.file("checkpoint-9999"));
  remove_old_checkpoints(folder.path(), 2, "", 20);
  EXPECT_THAT(names_in(folder), ElementsAre("checkpoint-10", "checkpoint-20", "checkpoint-9999"));
  remove_old_checkpoints(folder.path(), 1, "", 20);
  EXPECT_THAT(names_in(folder), ElementsAre("checkpoint-20", "checkpoint-9999"));
}

TEST(CheckpointFolder, NamesWhatCannotBeWritten) {
  const TemporaryFolder folder;
  folder.write("plain", "a file");
  try {
    const PartialCheckpoint half(folder.file("plain"), 1);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kCannotWrite);
    EXPECT_THAT(error.what(), HasSubstr(folder.file("plain/checkpoint-1.partial-")));
  }
}

}  // namespace
}  // namespace dtl::trainer::checkpoint_folder_test
