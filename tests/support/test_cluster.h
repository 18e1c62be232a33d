#pragma once
// TestCluster: hosts of tests/cluster for one GoogleTest program. The program moves into the first
// host: its files, network and home are then node1's. Ends with the object, or with the program if
// that crashes. Create it before any thread.

#include <sys/types.h>

#include <string>

#include "base/fd.h"

namespace dtl::testing {

struct CommandResult {
  int status = -1;
  std::string output;  // standard output and standard error
};

class TestCluster {
 public:
  // Arguments of `cluster up`, e.g. "2 --rate 1mbit".
  explicit TestCluster(const std::string& up_arguments);
  ~TestCluster();
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  // False if this machine cannot make namespaces: the test should GTEST_SKIP() << reason().
  bool available() const { return available_; }
  const std::string& reason() const { return reason_; }

  // A shell command on a host. The text must not contain newlines.
  CommandResult on(const std::string& host, const std::string& command);
  // `cluster WORDS`, e.g. "cut node2".
  CommandResult cluster(const std::string& words);

 private:
  CommandResult ask(const std::string& line);

  Fd controller_;  // to a process outside the hosts that runs the cluster's commands
  pid_t pid_ = 0;
  bool available_ = false;
  std::string reason_;
};

}  // namespace dtl::testing
