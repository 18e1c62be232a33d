#include "agent/jobs/log_follower.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/error.h"
#include "base/machine/job_record.h"

namespace dtl::log_follower_test {
namespace {

namespace fs = std::filesystem;

class LogFollowerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/dtl-follow-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    record_.role = "launcher";
    record_.job_id = "00112233aabbccdd";
    record_.process = identify(::getpid());
    write_record(folder_ + "/" + kKeptRecord, record_);
    output_ = make_pipe();
    input_ = make_pipe();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void append(const std::string& text) { std::ofstream(folder_ + "/log", std::ios::app) << text; }
  void rotate() { fs::rename(folder_ + "/log", folder_ + "/log.1"); }
  std::string sent(LogFollower& follower) {
    follower.send(output_.write_end.get());
    set_nonblocking(output_.read_end.get());
    char text[4096];
    const ssize_t size = ::read(output_.read_end.get(), text, sizeof text);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
  }

  std::string folder_;
  JobRecord record_;
  Pipe output_, input_;
};

TEST_F(LogFollowerTest, SendsTheOlderFileFirst) {
  append("old ");
  rotate();
  append("new");
  LogFollower follower(folder_);
  EXPECT_EQ(sent(follower), "old new");
  EXPECT_EQ(sent(follower), "");
}

TEST_F(LogFollowerTest, GoesOnAcrossARotation) {
  append("a");
  LogFollower follower(folder_);
  EXPECT_EQ(sent(follower), "a");
  append("b");
  rotate();
  append("c");
  EXPECT_TRUE(follower.wait(input_.read_end.get()));
  EXPECT_EQ(sent(follower), "bc");
}

TEST_F(LogFollowerTest, GoesOnAcrossTwoRotationsBetweenTwoReads) {
  append("a");
  LogFollower follower(folder_);
  EXPECT_EQ(sent(follower), "a");
  append("b");
  rotate();
  append("c");
  rotate();
  append("d");
  EXPECT_EQ(sent(follower), "bcd");
  EXPECT_EQ(sent(follower), "");
}

TEST_F(LogFollowerTest, GoesOnFromAPlaceAlsoBeyondARotation) {
  append("abc");
  LogPlace place;
  {
    LogFollower follower(folder_);
    place = follower.place();
    EXPECT_EQ(sent(follower), "abc");
  }
  place.offset += 2;
  append("d");
  LogFollower same(folder_);
  ASSERT_TRUE(same.go_on_from(place));
  EXPECT_EQ(sent(same), "cd");
  rotate();
  append("efg");
  LogFollower behind(folder_);
  ASSERT_TRUE(behind.go_on_from(place)) << "in the older file";
  EXPECT_EQ(sent(behind), "cdefg");
  place.offset = 5;  // a place read past the rotation counts like this
  LogFollower beyond(folder_);
  ASSERT_TRUE(beyond.go_on_from(place));
  EXPECT_EQ(sent(beyond), "fg");
}

TEST_F(LogFollowerTest, SaysWhenAPlaceIsNoMoreAndSendsWhatThereIs) {
  append("abc");
  LogPlace place = LogFollower(folder_).place();
  rotate();
  append("def");
  rotate();
  append("ghi");
  LogFollower follower(folder_);
  EXPECT_FALSE(follower.go_on_from(place));
  EXPECT_EQ(sent(follower), "defghi");
  place = follower.place();
  place.offset = 4;
  EXPECT_FALSE(follower.go_on_from(place)) << "behind the end of all";
  EXPECT_EQ(sent(follower), "defghi");
}

// These files mostly have equal birth times and adjacent inodes.
TEST_F(LogFollowerTest, TellsFilesOfOneMomentApart) {
  std::map<ino_t, std::string> files;
  for (int i = 0; i < 200; ++i) {
    const std::string path = folder_ + "/" + std::to_string(i);
    const Fd made(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    struct stat status {};
    ASSERT_EQ(::fstat(made.get(), &status), 0);
    files[status.st_ino] = path;
  }
  std::set<std::uint64_t> seen;
  for (const auto& [inode, path] : files) {
    fs::rename(path, folder_ + "/log");
    seen.insert(LogFollower(folder_).place().file);
    fs::rename(folder_ + "/log", path);
  }
  EXPECT_EQ(seen.size(), files.size());
}

TEST_F(LogFollowerTest, ReadsPlaces) {
  const auto place = parse_place("12:34");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->file, 12u);
  EXPECT_EQ(place->offset, 34u);
  for (const char* wrong : {"", "12", "12:", "a:b", "1:2:3", "-1:2"}) {
    EXPECT_FALSE(parse_place(wrong)) << wrong;
  }
}

TEST_F(LogFollowerTest, SkipsWhatIsThere) {
  append("a");
  LogFollower follower(folder_);
  follower.skip();
  append("b");
  EXPECT_EQ(sent(follower), "b");
}

TEST_F(LogFollowerTest, EndsWithTheLauncherAfterItsLastWords) {
  const pid_t launcher = ::fork();
  if (launcher == 0) ::_exit(0);
  record_.process = identify(launcher);
  write_record(folder_ + "/" + kKeptRecord, record_);
  ::waitpid(launcher, nullptr, 0);
  append("last words");
  LogFollower follower(folder_);
  EXPECT_TRUE(follower.wait(input_.read_end.get()));
  EXPECT_EQ(sent(follower), "last words");
  EXPECT_FALSE(follower.wait(input_.read_end.get()));
}

TEST_F(LogFollowerTest, EndsWhenNobodyListensAnyMore) {
  append("a");
  LogFollower follower(folder_);
  input_.write_end.reset();
  EXPECT_FALSE(follower.wait(input_.read_end.get()));
}

TEST_F(LogFollowerTest, SaysWhenThereIsNoLog) {
  EXPECT_THROW(LogFollower follower(folder_), Error);
}

}  // namespace
}  // namespace dtl::log_follower_test
