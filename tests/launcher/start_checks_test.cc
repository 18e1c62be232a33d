#include "launcher/request/start_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace dtl::start_checks_test {
namespace {

namespace fs = std::filesystem;

class StartChecksTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/start_checks_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    top_ = name;
    for (const char* each : {"bin/trainit", "job/run", "job/plain.py"}) {
      const std::string path = top_ + "/" + each;
      fs::create_directories(fs::path(path).parent_path());
      std::ofstream(path) << "#!/bin/sh\n";
      fs::permissions(
          path, std::string(each) == "job/plain.py" ? fs::perms::owner_read : fs::perms::owner_all);
    }
  }
  void TearDown() override { fs::remove_all(top_); }

  // The message about a program with this PATH, "none" if it is accepted.
  std::string refusal(const std::string& program, const std::string& path, Exit status) {
    Request request;
    request.environment.inherited = {{"PATH", "/nowhere"}};
    request.environment.set = {{"PATH", path}};
    request.programs[0].command = {program};
    request.programs[0].working_directory = top_ + "/job";
    try {
      check_programs_here(request);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), status);
      return error.what();
    }
    return "none";
  }

  std::string top_;
};

TEST_F(StartChecksTest, LooksForANameOnThePathOfItsRanks) {
  const std::string path = top_ + "/bin";
  EXPECT_EQ(refusal("trainit", path, Exit::kNotFound), "none");
  EXPECT_EQ(refusal("trianit", path, Exit::kNotFound),
            "cannot run trianit: not found on PATH. Try: the same command with trainit");
  EXPECT_EQ(refusal("x", path, Exit::kNotFound),
            "cannot run x: not found on PATH. Try: echo $PATH");
  // Folders that ranks may search from elsewhere, and no PATH at all.
  EXPECT_EQ(refusal("x", path + ":.", Exit::kNotFound), "none");
  EXPECT_EQ(refusal("x", "", Exit::kNotFound), "none");
}

TEST_F(StartChecksTest, LooksForAPathInTheFolderOfItsRanks) {
  EXPECT_EQ(refusal("./run", "/bin", Exit::kNotFound), "none");
  EXPECT_EQ(refusal(top_ + "/job/run", "/bin", Exit::kNotFound), "none");
  EXPECT_EQ(refusal("./gone", "/bin", Exit::kNotFound),
            "cannot run ./gone: not found. Try: ls " + top_ + "/job/./");
  EXPECT_EQ(refusal("../job", "/bin", Exit::kNotExecutable),
            "cannot run ../job: it is a folder. Try: ls " + top_ + "/job/../job");
  EXPECT_EQ(refusal("./plain.py", "/bin", Exit::kNotExecutable),
            "cannot run ./plain.py: it is not executable. "
            "Try: the same command with python3 ./plain.py");
}

TEST_F(StartChecksTest, RefusesOutputThatCannotBeWritten) {
  OutputChoice shown;
  shown.outfile = top_ + "/job/%r/out";  // the folder is made for each rank
  Reporting reporting;
  reporting.report = top_ + "/report.json";
  EXPECT_NO_THROW(check_output_files(shown, reporting));
  reporting.metrics_file = reporting.report;
  EXPECT_THROW(check_output_files(shown, reporting), Error);
  reporting.metrics_file.clear();
  shown.outfile = top_ + "/gone/%r";
  EXPECT_THROW(check_output_files(shown, reporting), Error);
}

}  // namespace
}  // namespace dtl::start_checks_test
