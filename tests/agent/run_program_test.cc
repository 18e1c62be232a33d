#include "agent/node/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

namespace dtl {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

TEST(RunProgram, ReturnsWhatTheProgramPrints) {
  const ProgramOutput ran = run_program({"/bin/echo", "hello"}, 10s, 100);
  EXPECT_EQ(ran.text, "hello\n");
  EXPECT_EQ(ran.problem, "");
}

TEST(RunProgram, SaysWhyItCannotRun) {
  EXPECT_THAT(run_program({"/no/such/program"}, 10s, 100).problem,
              HasSubstr("No such file or directory"));
}

// On a thread, as in the agent, where an exception would end the process.
TEST(RunProgram, SaysThatDescriptorsAreMissing) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  ProgramOutput ran;
  std::thread([&] { ran = run_program({"/bin/echo", "hello"}, 10s, 100); }).join();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(ran.problem, HasSubstr("Too many open files"));
}

}  // namespace
}  // namespace dtl
