#include "launcher/job_request.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/fd.h"

namespace dtl {
namespace {

class JobRequestTest : public ::testing::Test {
 protected:
  JobRequestTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "job-request-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  }
  ~JobRequestTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // A job file as the user names it: seen from where the test runs.
  std::string job_file(const std::string& text) {
    write_file_atomically((folder_ / "job.toml").string(), text);
    return std::filesystem::relative(folder_ / "job.toml").string();
  }

  Surroundings here() const { return {{}, std::filesystem::current_path().string(), "/opt"}; }

  std::filesystem::path folder_;
};

TEST_F(JobRequestTest, MakesTheJobFilesWorkingDirectoryAbsolute) {
  CommandLine line;
  line.job_file = job_file("program = \"true\"\nworking_directory = \"w\"\n");
  EXPECT_EQ(describe_job(line, here()).request.working_directory, (folder_ / "w").string());
}

TEST_F(JobRequestTest, LetsTheCommandLineWin) {
  CommandLine line;
  line.job_file = job_file(
      "program = \"true\"\nranks = 4\nworking_directory = \"w\"\n[environment]\nA = \"file\"\n");
  line.ranks = 2;
  line.working_directory = "/srv";
  line.set = {{"A", "line"}};
  const Request request = describe_job(line, here()).request;
  EXPECT_EQ(request.ranks, 2);
  EXPECT_EQ(request.working_directory, "/srv");
  EXPECT_EQ(request.set.back(), (Variables::value_type{"A", "line"}));
}

}  // namespace
}  // namespace dtl
