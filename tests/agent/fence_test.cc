// What dtagent --fence answers when it gets no time to look.
#include "agent/jobs/fence.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/machine/runtime_folder.h"

namespace dtl::fence_test {
namespace {

constexpr const char* kJob = "00112233aabbccdd";

class FenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/dtl-fence-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ::setenv("XDG_STATE_HOME", name.c_str(), 1);
  }
  void TearDown() override {
    for (const pid_t pid : children_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    ::unsetenv("XDG_STATE_HOME");
    std::filesystem::remove_all(folder_);
  }

  template <class Body>
  pid_t start(const Body& body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      body();
      ::_exit(0);
    }
    children_.push_back(pid);
    return pid;
  }
  // A process with the job in its environment.
  pid_t start_rank() {
    return start([] {
      std::string job = std::string("DTLAUNCH_JOB=") + kJob;
      char* const environment[] = {job.data(), nullptr};
      ::execle("/bin/sleep", "sleep", "600", nullptr, environment);
    });
  }
  // Stands for an agent: writes a byte when it is told to end, and does not end.
  void start_agent(const Pipe& told) {
    JobRecord record;
    record.role = "agent";
    record.job_id = kJob;
    record.process = identify(start([&] {
      sigset_t set;
      ::sigemptyset(&set);
      ::sigaddset(&set, SIGTERM);
      int number = 0;
      while (::sigwait(&set, &number) == 0) write_all(told.write_end.get(), "!");
    }));
    ASSERT_TRUE(write_record(record_path(runtime_subfolder("jobs"), record), record));
  }

  std::string folder_;
  std::vector<pid_t> children_;
};

std::string read_to_end(const Fd& from) {
  std::string text;
  char piece[256];
  for (ssize_t size = 0; (size = ::read(from.get(), piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(size));
  }
  return text;
}

TEST_F(FenceTest, IsNotCleanWithoutALook) {
  sigset_t set, before;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, &before);  // in the agent from its start
  const Pipe told = make_pipe();
  start_agent(told);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  start_rank();
  Pipe answer = make_pipe();
  const pid_t fence = start([&] {
    ::dup2(answer.write_end.get(), STDOUT_FILENO);
    fence_job(kJob);
  });
  answer.write_end.reset();
  // Stopped while it waits for the agent, until its time has passed.
  pollfd agent{told.read_end.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&agent, 1, 20'000), 1);
  ::kill(fence, SIGSTOP);
  std::this_thread::sleep_for(kFenceAnswer);
  ::kill(fence, SIGCONT);
  EXPECT_EQ(read_to_end(answer.read_end).find("clean"), std::string::npos);
}

}  // namespace
}  // namespace dtl::fence_test
