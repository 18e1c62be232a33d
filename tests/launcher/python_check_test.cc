#include "launcher/session/python_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/launcher/session_fixture.h"

namespace dtl::python_check_test {
namespace {

using namespace testing_support;
using testing::HasSubstr;

// This host's Python 3.11, the only program on PATH.
class OwnPython {
 public:
  OwnPython() {
    char pattern[] = "/tmp/dtl-python-XXXXXX";
    folder = ::mkdtemp(pattern);
    std::ofstream(folder + "/python3.11") << "";
    std::filesystem::permissions(folder + "/python3.11", std::filesystem::perms::owner_all);
    std::filesystem::create_symlink("python3.11", folder + "/python3");
  }
  ~OwnPython() { std::filesystem::remove_all(folder); }

  std::string folder;
};

Request python_job(const OwnPython& own) {
  Request request;
  request.programs[0].command = {"python3", "train.py"};
  request.programs[0].working_directory = "/";
  request.environment.inherited = {{"PATH", own.folder}, {"VIRTUAL_ENV", "/venv"}};
  return request;
}

std::vector<std::string> names_of(const PythonCheck& check) {
  std::vector<std::string> names;
  for (const Fact& fact : check.parameters()) names.push_back(fact.name + "=" + fact.value);
  return names;
}

TEST(PythonCheck, AsksForTheEnvironmentAndThePythonOfPythonPrograms) {
  const OwnPython own;
  const Request request = python_job(own);
  EXPECT_THAT(names_of(PythonCheck(request)),
              testing::ElementsAre("directory=/venv", "PATH=" + own.folder, "python=python3"));
}

TEST(PythonCheck, AsksNothingOfOtherProgramsWithoutAnEnvironment) {
  const OwnPython own;
  Request request = python_job(own);
  request.programs[0].command = {"/bin/sh"};
  request.environment.inherited.pop_back();
  EXPECT_THAT(names_of(PythonCheck(request)), testing::IsEmpty());
}

TEST(PythonCheck, SaysInOneLineWhatDiffersWhere) {
  const OwnPython own;
  PythonCheck check(python_job(own));
  check.hear("n1", {{{"directory", "/venv"}, {"python", "3.11"}}});
  EXPECT_EQ(check.notice(), std::nullopt);
  check.hear("old", {});
  EXPECT_EQ(check.notice(), std::nullopt);
  check.hear("n2", {{{"directory", ""}, {"python", "3.9"}}});
  check.hear("n3", {{{"directory", ""}, {"python", ""}}});
  EXPECT_EQ(check.notice(),
            "the hosts' Python differs: /venv (VIRTUAL_ENV) is missing on n2, n3; "
            "python3 is Python 3.11 here and 3.9 on n2");
}

TEST_F(SessionTest, SaysOnWhichHostsTheVirtualEnvironmentIsMissing) {
  request_.environment.inherited = {{"VIRTUAL_ENV", "/venv"}};
  for (const char* name : {"n1", "n2"}) {
    const bool has_it = std::string(name) == "n1";
    agents_[name].behaviour = healthy(
        [](const RankSpec& spec, Connection& connection) { exit_with(connection, spec.rank, 0); },
        [has_it](const Message& message, Connection& connection) {
          if (std::holds_alternative<Examine>(message)) {
            connection.send(Examined{{{"directory", has_it ? "/venv" : ""}}});
          }
          return true;
        });
  }
  EXPECT_EQ(run().job.outcome->exit_status, 0);
  EXPECT_THAT(errors_, HasSubstr("dtlaunch: the hosts' Python differs: /venv (VIRTUAL_ENV) is "
                                 "missing on n2\n"));
}

}  // namespace
}  // namespace dtl::python_check_test
