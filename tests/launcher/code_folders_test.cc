#include "launcher/request/code_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "launcher/request/job_request.h"

namespace dtl::code_folders_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class CodeFoldersTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/code_folders_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    top_ = name;
    fs::create_directories(top_ + "/project/part");
    around_.environment = {{"PATH", "/usr/bin"}, {"PYTHONHOME", "/x"}};
    around_.working_directory = top_ + "/project";
    around_.program_directory = "/opt/dtlaunch/bin";
  }
  void TearDown() override { fs::remove_all(top_); }

  JobSettings describe(const std::vector<std::string>& words) {
    return describe_job(read_job_inputs(parse_command_line(words), around_), around_);
  }
  std::string refusal(const std::vector<std::string>& words) {
    try {
      describe(words);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kUsage);
      return error.what();
    }
    return "no error";
  }
  std::string ranks_folder(const std::vector<std::string>& words) {
    return describe(words).request.programs[0].working_directory;
  }
  // As venv makes it, of a Python that is one in name only.
  std::string make_venv(const std::string& folder) {
    fs::create_directories(folder + "/bin");
    fs::create_directories(top_ + "/base");
    const std::string python = top_ + "/base/python3.11";
    std::ofstream(python) << "#!/bin/sh\n";
    fs::permissions(python, fs::perms::owner_all);
    fs::create_symlink(python, folder + "/bin/python");
    std::ofstream(folder + "/pyvenv.cfg") << "home = " << top_ << "/base\nversion = 3.11.2\n";
    return folder;
  }
  static std::string variable(const JobSettings& settings, const std::string& name) {
    std::string found = "not set";
    for (const auto& [each, value] : settings.request.environment.inherited) {
      if (each == name) found = value;
    }
    return found;
  }

  std::string top_;
  Surroundings around_;
};

TEST_F(CodeFoldersTest, StartsRanksInTheFolderOrWhereInItDtlaunchIs) {
  const std::string work = top_ + "/project";
  EXPECT_EQ(describe({"--sync", ".", "a"}).folders.synced, work);
  EXPECT_EQ(ranks_folder({"--sync", ".", "a"}), work);
  EXPECT_EQ(ranks_folder({"--sync", "..", "a"}), work);
  EXPECT_EQ(ranks_folder({"--sync", "part/", "a"}), work + "/part");
  EXPECT_EQ(ranks_folder({"--sync", "part", "-wdir", "/srv", "a"}), "/srv");
  EXPECT_EQ(ranks_folder({"--sync", "part", "-gwdir", "part", "a"}), work + "/part");
}

TEST_F(CodeFoldersTest, RefusesWhatIsNoFolder) {
  EXPECT_THAT(refusal({"--sync", "nosuch", "a"}), HasSubstr("--sync nosuch: not a folder"));
  EXPECT_THAT(refusal({"--sync", "/", "a"}), HasSubstr("the whole file system"));
}

TEST_F(CodeFoldersTest, PutsTheEnvironmentFirst) {
  const std::string venv = make_venv(top_ + "/project/env");
  const JobSettings settings = describe({"--venv", "env", "python3", "a.py"});
  EXPECT_EQ(settings.folders.venv, venv);
  EXPECT_EQ(settings.folders.python, top_ + "/base/python3.11");
  EXPECT_EQ(settings.folders.python_version, "3.11");
  EXPECT_EQ(variable(settings, "VIRTUAL_ENV"), venv);
  EXPECT_THAT(variable(settings, "PATH"), testing::StartsWith(venv + "/bin:/usr/bin"));
  EXPECT_EQ(variable(settings, "PYTHONHOME"), "not set");
}

TEST_F(CodeFoldersTest, FindsTheActiveEnvironmentOrTheUsualOne) {
  EXPECT_THAT(refusal({"--venv", "auto", "a"}), HasSubstr("--venv auto: no environment is active"));
  make_venv(top_ + "/project/part/.venv");
  EXPECT_EQ(describe({"--sync", "part", "--venv", "auto", "a"}).folders.venv,
            top_ + "/project/part/.venv");
  fs::create_directories(top_ + "/active/bin");
  around_.environment.emplace_back("VIRTUAL_ENV", top_ + "/active");
  EXPECT_THAT(refusal({"--venv", "auto", "a"}),
              HasSubstr("not a virtual environment: " + top_ + "/active"));
}

}  // namespace
}  // namespace dtl::code_folders_test
