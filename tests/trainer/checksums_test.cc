#include "trainer/checkpoint/checksums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/files/new_file.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_folder.h"

namespace dtl::trainer::checksums_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void make_checkpoint(const TemporaryFolder& folder, int step) {
  PartialCheckpoint partial(folder.path(), step);
  write_file_atomically(partial.path() + "/model.safetensors", std::string(3 << 20, 'm'));
  write_file_atomically(partial.path() + "/training_state.json", "{}\n");
  partial.commit();
}

void flip_a_bit(const std::string& path) {
  std::string bytes = read_file(path, 1 << 24);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  write_file_atomically(path, bytes);
}

TEST(Checksums, NameEveryFileWithAFlippedBit) {
  for (const std::string name : {"model.safetensors", "training_state.json", "checksums.txt"}) {
    const TemporaryFolder folder;
    make_checkpoint(folder, 5);
    const std::string checkpoint = folder.file("checkpoint-5");
    ASSERT_EQ(find_damage(checkpoint), std::nullopt);
    flip_a_bit(checkpoint + "/" + name);
    EXPECT_NE(find_damage(checkpoint), std::nullopt) << name;
    if (name != "checksums.txt") {
      EXPECT_THAT(*find_damage(checkpoint), HasSubstr(name + ": its checksum is "));
    }
  }
}

TEST(Checksums, NameFilesThatAreMissingOrCutShort) {
  const TemporaryFolder folder;
  make_checkpoint(folder, 5);
  folder.write("checkpoint-5/training_state.json", "{");
  EXPECT_EQ(find_damage(folder.file("checkpoint-5")),
            "training_state.json: it has 1 bytes and had 3");
  std::filesystem::remove(folder.file("checkpoint-5/training_state.json"));
  EXPECT_EQ(find_damage(folder.file("checkpoint-5")),
            "training_state.json: No such file or directory");
}

TEST(Checksums, ThatLackALineAreDamagedAndAddedFilesAreNot) {
  const TemporaryFolder folder;
  make_checkpoint(folder, 5);
  folder.write("checkpoint-5/notes.txt", "mine");
  EXPECT_EQ(find_damage(folder.file("checkpoint-5")), std::nullopt);
  const std::string list = folder.file("checkpoint-5/checksums.txt");
  std::string text = read_file(list, 1 << 20);
  text.resize(text.rfind('\n', text.size() - 2) + 1);
  write_file_atomically(list, text);
  EXPECT_EQ(find_damage(folder.file("checkpoint-5")),
            "checksums.txt: it was changed after it was written");
}

TEST(Checksums, LeadToNoFileElsewhereAndWaitForNoPipe) {
  const TemporaryFolder folder;
  const std::string first = "1 files, CRC-32C and size of each\n";
  folder.write("checksums.txt", first + "00000000 0 /dev/zero\n");
  EXPECT_EQ(find_damage(folder.path()), "checksums.txt: '/dev/zero' is not a file of this folder");
  folder.write("checksums.txt", first + "00000000 0 pipe\n");
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(find_damage(folder.path()), "pipe: it is not a file");
}

TEST(Checksums, AreNotAskedOfOlderVersions) {
  const TemporaryFolder folder;
  make_checkpoint(folder, 5);
  std::filesystem::remove(folder.file("checkpoint-5/checksums.txt"));
  flip_a_bit(folder.file("checkpoint-5/model.safetensors"));
  EXPECT_EQ(find_damage(folder.file("checkpoint-5")), std::nullopt);
}

TEST(Checksums, TheCheckpointBeforeADamagedOneIsUsed) {
  const TemporaryFolder folder;
  for (const int step : {5, 10, 15}) make_checkpoint(folder, step);
  flip_a_bit(folder.file("checkpoint-15/model.safetensors"));
  std::vector<std::string> damaged;
  EXPECT_EQ(last_sound_checkpoint(folder.path(), damaged), folder.file("checkpoint-10"));
  EXPECT_THAT(damaged,
              ElementsAre(AllOf(
                  HasSubstr("checkpoint-15: damaged checkpoint: model.safetensors: its checksum"),
                  HasSubstr("checkpoint-15.damaged"))));
  EXPECT_EQ(find_last_checkpoint(folder.path()), folder.file("checkpoint-10"));
  EXPECT_TRUE(std::filesystem::exists(folder.file("checkpoint-15.damaged")));
}

std::string obstacle(const std::string& folder) {
  const std::optional<Obstacle> found = find_obstacle(folder);
  return !found ? "none" : (found->damaged ? "damaged: " : "") + found->reason;
}

TEST(Obstacle, TellsDamageFromWhatIsNoCheckpoint) {
  const TemporaryFolder folder;
  make_checkpoint(folder, 5);
  const std::string checkpoint = folder.file("checkpoint-5");
  EXPECT_EQ(obstacle(checkpoint), "none");
  flip_a_bit(checkpoint + "/model.safetensors");
  EXPECT_THAT(obstacle(checkpoint), HasSubstr("damaged: model.safetensors: its checksum is"));
  std::filesystem::remove(checkpoint + "/checksums.txt");
  EXPECT_THAT(obstacle(checkpoint), HasSubstr("damaged: " + checkpoint + "/training_state.json"));
  std::filesystem::remove(checkpoint + "/training_state.json");
  EXPECT_EQ(obstacle(checkpoint), "it has no training_state.json: not a checkpoint of dttrain");
  std::filesystem::create_directory(folder.file("checkpoint-6"));
  EXPECT_EQ(obstacle(folder.file("checkpoint-6")), "it is empty");
  EXPECT_EQ(obstacle(folder.file("checkpoint-7")), "there is no such folder");
}

TEST(Checkpoints, ThatAreNoneArePassedOverAndStay) {
  const TemporaryFolder folder;
  make_checkpoint(folder, 5);
  std::filesystem::create_directory(folder.file("checkpoint-9999"));
  std::vector<std::string> passed;
  EXPECT_EQ(last_sound_checkpoint(folder.path(), passed), folder.file("checkpoint-5"));
  EXPECT_THAT(passed, ElementsAre(HasSubstr("checkpoint-9999: skipped: it is empty")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("checkpoint-9999")));
}

TEST(Checkpoints, AreFoundNearWhatIsNone) {
  const TemporaryFolder folder;
  for (const int step : {5, 10, 15}) make_checkpoint(folder, step);
  flip_a_bit(folder.file("checkpoint-10/model.safetensors"));
  EXPECT_EQ(sound_checkpoint_near(folder.file("checkpoint-15")), folder.file("checkpoint-5"));
  EXPECT_EQ(sound_checkpoint_near(folder.file("checkpoint-99/")), folder.file("checkpoint-15"));
  EXPECT_EQ(sound_checkpoint_near(folder.path()), folder.file("checkpoint-15"));
  EXPECT_EQ(sound_checkpoint_near(folder.file("checkpoint-5")), std::nullopt);
  EXPECT_TRUE(std::filesystem::exists(folder.file("checkpoint-10")));
}

TEST(OutputFolder, OfAnUnfinishedRunIsKnown) {
  const TemporaryFolder folder;
  EXPECT_FALSE(is_unfinished(folder.path()));
  mark_unfinished(folder.path());
  EXPECT_TRUE(is_unfinished(folder.path()));
  mark_finished(folder.path());
  EXPECT_FALSE(is_unfinished(folder.path()));
}

}  // namespace
}  // namespace dtl::trainer::checksums_test
