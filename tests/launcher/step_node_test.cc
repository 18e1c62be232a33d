// How a node that a scheduler has started waits for the first one.
#include "launcher/schedulers/step_node.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/machine/runtime_folder.h"

namespace dtl::step_node_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kSoon = 20s;
constexpr int kThrown = 99;

class WaitingNode : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/dtl-step-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ::setenv("XDG_STATE_HOME", name.c_str(), 1);
    place_ = runtime_subfolder("steps") + "/a-job";
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) wait_in_child();
    const auto until = std::chrono::steady_clock::now() + kSoon;
    while (!fs::exists(place_) && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
    ASSERT_TRUE(fs::exists(place_));
  }
  void TearDown() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::unsetenv("XDG_STATE_HOME");
    fs::remove_all(folder_);
  }

  [[noreturn]] static void wait_in_child() {
    SchedulerEvidence evidence;
    evidence.job_id = "a-job";
    int status = kThrown;
    try {
      status = wait_for_first_node(evidence, kSoon);
    } catch (const Error&) {
    }
    ::_exit(status);
  }
  // Sends them so that all arrive at the same moment.
  void send(std::initializer_list<int> signals) const {
    int status = 0;
    ::kill(child_, SIGSTOP);
    ::waitpid(child_, &status, WUNTRACED);
    for (const int signal : signals) ::kill(child_, signal);
    ::kill(child_, SIGCONT);
  }
  int status() {
    int status = 0;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string folder_, place_;
  pid_t child_ = -1;
};

TEST_F(WaitingNode, EndsForSigtermWithANoticeBesideIt) {
  send({SIGTERM, SIGUSR1, SIGUSR2});
  EXPECT_EQ(status(), 128 + SIGTERM);
}

TEST_F(WaitingNode, WaitsOnAfterANotice) {
  send({SIGUSR1});
  send({SIGUSR2});
  send({SIGINT});
  EXPECT_EQ(status(), 128 + SIGINT);
}

}  // namespace
}  // namespace dtl::step_node_test
