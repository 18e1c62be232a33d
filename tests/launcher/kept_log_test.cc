#include "launcher/report/kept_log.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace dtl::kept_log_test {
namespace {

LogEntry output(int rank, const std::string& bytes) {
  LogEntry entry;
  entry.kind = LogEntry::Kind::kStdout;
  entry.rank = rank;
  entry.bytes = bytes;
  return entry;
}

std::string to_text(const LogEntry& entry) {
  return header_of(entry) + entry.bytes;
}

std::vector<std::string> read_all(const std::string& text, std::size_t piece) {
  LogReader reader;
  std::vector<std::string> entries;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    reader.feed(std::string_view(text).substr(at, piece));
    while (const auto entry = reader.next()) entries.push_back(to_text(*entry));
  }
  return entries;
}

TEST(KeptLog, EntriesComeBackHoweverTheyAreCut) {
  LogEntry error = output(7, "o0 5\n");
  error.kind = LogEntry::Kind::kStderr;
  LogEntry said;
  said.bytes = "two\nlines";
  LogEntry ended;
  ended.kind = LogEntry::Kind::kEnded;
  ended.status = 3;
  const std::vector<std::string> wanted = {to_text(output(0, "a\n")), to_text(error),
                                           to_text(output(12, "")), to_text(said), to_text(ended)};
  std::string text;
  for (const std::string& entry : wanted) text += entry;
  for (const std::size_t piece : {1u, 2u, 5u, 1000u}) EXPECT_EQ(read_all(text, piece), wanted);
}

TEST(KeptLog, RefusesWhatIsNoLog) {
  for (const char* text : {"hello world\n", "o3\n", "o3 -1\n", "o99999999 1\n", "o1 99999999999\n",
                           "\n", "a line without an end that is longer than any header could be"}) {
    LogReader reader;
    reader.feed(text);
    EXPECT_THROW(reader.next(), Error) << text;
  }
}

TEST(KeptLog, ReadsOrRefusesWhateverItIsGiven) {
  std::mt19937 random(1);
  const std::string good = to_text(output(3, "some text\n")) + to_text(output(11, "more\n"));
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (unsigned change = 0; change <= round % 4u; ++change) {
      text[random() % text.size()] = "0123456789oesx \n-"[random() % 17];
    }
    LogReader reader;
    std::size_t taken = 0;
    try {
      reader.feed(text);
      while (const auto entry = reader.next()) taken += entry->bytes.size();
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kBadInput);
    }
    EXPECT_LE(taken, text.size());
  }
}

class KeptLogFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/dtl-log-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(KeptLogFiles, AreForTheirUserAlone) {
  KeptLog log(folder_);
  struct stat status {};
  ASSERT_EQ(::stat((folder_ + "/log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(KeptLogFiles, KeepTheNewestOutputInBoundedSpace) {
  KeptLog log(folder_, 100);
  for (int i = 0; i < 50; ++i) log.add(output(0, std::to_string(i) + " twenty bytes more\n"));
  EXPECT_LE(std::filesystem::file_size(folder_ + "/log"), 100u);
  EXPECT_LE(std::filesystem::file_size(folder_ + "/log.1"), 100u);
  const std::string kept = read_file(folder_ + "/log.1", 1000) + read_file(folder_ + "/log", 1000);
  const auto entries = read_all(kept, 1000);
  ASSERT_GE(entries.size(), 4u);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto number = std::to_string(50 - entries.size() + i);
    EXPECT_EQ(entries[i], to_text(output(0, number + " twenty bytes more\n")));
  }
}

TEST_F(KeptLogFiles, SayWhereOutputIsLostAndWhy) {
  KeptLog log(folder_, 1);
  log.add(output(0, "fits as the first entry\n"));
  std::filesystem::remove_all(folder_);
  log.add(output(0, "nowhere "));
  log.add(output(0, "to go\n"));
  std::filesystem::create_directory(folder_);
  log.add(output(0, "here again\n"));
  const auto entries = read_all(read_file(folder_ + "/log.1", 1000), 1000);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0], "s 59\n14 bytes of output are lost here: No such file or directory");
}

}  // namespace
}  // namespace dtl::kept_log_test
