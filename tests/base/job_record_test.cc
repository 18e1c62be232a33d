#include "base/machine/job_record.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>

#include "base/error.h"
#include "base/host_name.h"
#include "base/machine/process_handle.h"
#include "base/machine/runtime_folder.h"
#include "base/machine/unix_socket.h"

namespace dtl::job_record_test {
namespace {

class Records : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/dtl-records-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

JobRecord example() {
  JobRecord record;
  record.role = "launcher";
  record.job_id = "00112233aabbccdd";
  record.process = identify(::getpid());
  record.host = record.launcher_host = "login";
  record.hosts = "node1,node2";
  record.command = "python3 train.py";
  record.tags = {"nightly", "run=7"};
  record.ranks = 4;
  record.since = 1700000000;
  record.state = "running";
  record.detached = true;
  return record;
}

TEST_F(Records, ComeBackAsTheyWereWritten) {
  const JobRecord record = example();
  ASSERT_TRUE(write_record(record_path(folder_, record), record));
  const auto files = read_records(folder_);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(to_text(files[0].record), to_text(record));
  EXPECT_EQ(files[0].record.tags, record.tags);
}

TEST_F(Records, KeepAValueOnOneLine) {
  JobRecord record = example();
  record.command = "sh -c 'a\nstate ended'\x1b[2J";
  const auto read = parse_job_record(to_text(record));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->command, "sh -c 'a\\nstate ended'\\x1b[2J");
  EXPECT_EQ(read->state, "running");
}

TEST_F(Records, AreSkippedWithoutAJobOrAProcess) {
  EXPECT_FALSE(parse_job_record(""));
  EXPECT_FALSE(parse_job_record("job 00112233aabbccdd\n"));
  EXPECT_FALSE(parse_job_record("job ../../etc\nprocess 1:1:x\n"));
}

TEST(ProcessId, TellsAProcessFromALaterOneWithItsNumber) {
  ProcessId self = identify(::getpid());
  EXPECT_TRUE(is_running(self));
  EXPECT_TRUE(ProcessHandle(self).valid());
  self.start_time += 1;
  EXPECT_FALSE(is_running(self));
  EXPECT_FALSE(ProcessHandle(self).valid());
}

TEST(ProcessId, IsNotAliveOnAnotherMachine) {
  ProcessId self = identify(::getpid());
  self.space = "another-boot";
  EXPECT_FALSE(is_running(self));
}

TEST(ProcessId, SurvivesItsText) {
  const ProcessId self = identify(::getpid());
  const auto read = parse_process_id(to_text(self));
  ASSERT_TRUE(read);
  EXPECT_TRUE(is_running(*read));
  EXPECT_FALSE(parse_process_id("1:2"));
}

// Makes the folder open to all, whatever the umask is.
void make_open_folder(const std::string& path) {
  ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
}

TEST_F(Records, PrivateFoldersAreRefusedWhenOthersCanEnter) {
  const std::string open = folder_ + "/open";
  make_open_folder(open);
  EXPECT_THROW(make_private_folder(open), Error);
  const std::string link = folder_ + "/link";
  ASSERT_EQ(::symlink("/root", link.c_str()), 0);
  EXPECT_THROW(make_private_folder(link), Error);
  make_private_folder(folder_ + "/a/b");
  EXPECT_TRUE(is_private_folder(folder_ + "/a/b"));
}

// Sets the environment of a login, and restores it at the end.
class Surrounded {
 public:
  Surrounded(const char* name, const std::string& value) : name_(name) {
    const char* before = ::getenv(name);
    if (before != nullptr) before_ = before;
    value.empty() ? ::unsetenv(name) : ::setenv(name, value.c_str(), 1);
  }
  ~Surrounded() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Surrounded(const Surrounded&) = delete;
  Surrounded& operator=(const Surrounded&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST_F(Records, LieInTheFolderOfTheSession) {
  const Surrounded session("XDG_RUNTIME_DIR", folder_);
  EXPECT_EQ(runtime_folder(), folder_ + "/dtlaunch");
  EXPECT_EQ(runtime_folders().at(0), folder_ + "/dtlaunch");
}

TEST_F(Records, LieElsewhereWhereTheSessionsFolderWillNotDo) {
  const Surrounded state("XDG_STATE_HOME", folder_ + "/state");
  make_open_folder(folder_ + "/open");
  {
    const Surrounded session("XDG_RUNTIME_DIR", folder_ + "/open");
    EXPECT_FALSE(runtime_folder().starts_with(folder_ + "/open"));
  }
  const std::string deep = folder_ + "/" + std::string(107 - folder_.size(), 'd');
  make_private_folder(deep);
  const Surrounded session("XDG_RUNTIME_DIR", deep);
  EXPECT_FALSE(runtime_folder().starts_with(deep)) << "no socket can have so long a path";
}

TEST_F(Records, LieBelowTheHomeWithoutASession) {
  const Surrounded session("XDG_RUNTIME_DIR", ""), state("XDG_STATE_HOME", "");
  const Surrounded home("HOME", folder_);
  if (is_private_folder("/run/user/" + std::to_string(::geteuid()))) GTEST_SKIP() << "a session";
  const std::string expected = folder_ + "/.local/state/dtlaunch/run-" + own_host_name();
  if (expected.size() + 25 > 107) GTEST_SKIP() << "the host's name is too long for a socket";
  EXPECT_EQ(runtime_folder(), expected);
  EXPECT_TRUE(is_private_folder(expected));
  EXPECT_EQ(runtime_problem(), "");
}

TEST_F(Records, HaveASocketForTheConnectionsAndForEachJobOfAScheduler) {
  const Surrounded session("XDG_RUNTIME_DIR", folder_);
  const std::string own = runtime_folder() + "/";
  for (const std::string& job : {std::string(), std::string("4711")}) {
    std::ofstream(own + holder_socket(job)) << "";
  }
  std::ofstream(own + kServiceSocket) << "";
  const std::vector<std::string> all = holder_sockets();  // of other places too
  EXPECT_EQ(std::count(all.begin(), all.end(), own + "up.socket"), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), own + "up-4711.socket"), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), own + kServiceSocket), 0);
}

TEST_F(Records, SocketsAreOfThisUserAlone) {
  const std::string path = folder_ + "/socket";
  EXPECT_FALSE(connect_unix(path).valid());
  {
    const Fd listener = listen_unix(path);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    EXPECT_TRUE(connect_unix(path).valid());
    EXPECT_THROW(listen_unix(path), Error);
  }
  EXPECT_FALSE(connect_unix(path).valid()) << "stale";
  EXPECT_TRUE(listen_unix(path).valid()) << "replaces a stale socket";
}

TEST_F(Records, SocketsOfAnotherUserAreNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  const std::string path = folder_ + "/socket";
  const Fd listener = listen_unix(path);
  ::chmod(folder_.c_str(), 0777);
  ::chmod(path.c_str(), 0777);
  const pid_t other = ::fork();
  if (other == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    ::_exit(connect_unix(path).valid() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, 0) << "root's socket answers nobody";
}

TEST_F(Records, OfAJobAreDeadWhenOneOfItsProcessesWasKilledAndNoneRuns) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  const ProcessId ended = identify(child);
  ::waitpid(child, nullptr, 0);
  const auto file = [](const char* job, const ProcessId& process) {
    RecordFile made{"", example()};
    made.record.job_id = job;
    made.record.process = process;
    return made;
  };
  const ProcessId alive = identify(::getpid());
  ProcessId elsewhere = ended;  // from another boot, or another container with the same folder
  elsewhere.space = "another";
  EXPECT_EQ(dead_jobs({}), std::set<std::string>());
  EXPECT_EQ(dead_jobs({file("a", ended), file("b", alive), file("c", elsewhere)}),
            std::set<std::string>{"a"});
  EXPECT_EQ(dead_jobs({file("a", ended), file("a", alive)}), std::set<std::string>());
  EXPECT_EQ(dead_jobs({file("a", ended), file("a", elsewhere)}), std::set<std::string>());
}

}  // namespace
}  // namespace dtl::job_record_test
