#include "base/machine/python_version.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dtl::python_version_test {
namespace {

namespace fs = std::filesystem;

class PythonVersion : public ::testing::Test {
 protected:
  PythonVersion() {
    char pattern[] = "/tmp/dtl-python-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    fs::create_directories(folder_ + "/bin");
    fs::create_directories(folder_ + "/venv/bin");
  }
  ~PythonVersion() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  std::string path() const { return folder_ + "/bin"; }

  std::string folder_;
};

TEST_F(PythonVersion, IsInTheNameOfTheFileBehindTheLinks) {
  file("bin/python3.11", "");
  fs::create_symlink("python3.11", folder_ + "/bin/python3");
  fs::create_symlink(folder_ + "/bin/python3", folder_ + "/venv/bin/python");
  EXPECT_EQ(python_version("python3", path()), "3.11");
  EXPECT_EQ(python_version(folder_ + "/venv/bin/python", ""), "3.11");
}

TEST_F(PythonVersion, IsInTheConfigurationOfAnEnvironmentOfCopies) {
  const std::string python = file("venv/bin/python", "");
  EXPECT_EQ(python_version(python, ""), "");
  file("venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.4\n");
  EXPECT_EQ(python_version(python, ""), "3.12");
  file("venv/pyvenv.cfg", "version_info = 3.9.2.final.0\n");
  EXPECT_EQ(python_version(python, ""), "3.9");
  file("venv/pyvenv.cfg", "version\n= \nversion = three\n");
  EXPECT_EQ(python_version(python, ""), "");
}

TEST_F(PythonVersion, IsUnknownForWhatIsNotThereOrHasNoVersion) {
  EXPECT_EQ(python_version("python3", path()), "");
  EXPECT_EQ(python_version("/nonexistent/python3", ""), "");
  file("bin/python3", "");
  EXPECT_EQ(python_version("python3", path()), "");
}

TEST_F(PythonVersion, IsAskedOfThePythonThatAProgramRuns) {
  EXPECT_EQ(python_of("python3", path()), "python3");
  EXPECT_EQ(python_of("/venv/bin/python3.11", path()), "/venv/bin/python3.11");
  file("bin/direct", "#!/venv/bin/python3\nimport torch\n");
  EXPECT_EQ(python_of("direct", path()), "/venv/bin/python3");
  EXPECT_EQ(python_of(file("train.py", "#!/usr/bin/env python3\n"), ""), "python3");
  EXPECT_EQ(python_of(file("split.py", "#! /usr/bin/env -S python3 -u\r\n"), ""), "python3");
}

TEST_F(PythonVersion, IsNotAskedOfOtherPrograms) {
  EXPECT_EQ(python_of("absent", path()), "");
  EXPECT_EQ(python_of("python3-config", path()), "");
  EXPECT_EQ(python_of(file("bin/tool",
                           "\x7f"
                           "ELF"),
                      ""),
            "");
  EXPECT_EQ(python_of(file("bin/shell", "#!/bin/sh\npython3 x\n"), ""), "");
  EXPECT_EQ(python_of(file("bin/empty", "#!\n"), ""), "");
}

}  // namespace
}  // namespace dtl::python_version_test
