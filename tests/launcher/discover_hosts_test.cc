#include "launcher/jobs/discover_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/fd.h"

namespace dtl::discover_hosts_test {
namespace {

using testing::HasSubstr;

std::string listed(const std::string& text) {
  std::string all;
  for (const Host& host : parse_discovered(text, "list")) {
    all += host.name + (host.slots ? ":" + std::to_string(*host.slots) : "") + " ";
  }
  return all;
}

std::string error_of(const std::string& what) {
  try {
    discover_hosts(what);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DiscoverHosts, ReadsHorovodsFormAndTheScriptOfAnMpiJob) {
  EXPECT_EQ(listed("a\nb:4\n"), "a b:4 ");
  EXPECT_EQ(listed("#!/bin/sh\necho j-worker-0.j.ns.svc:2\necho j-worker-1.j.ns.svc\n"),
            "j-worker-0.j.ns.svc:2 j-worker-1.j.ns.svc ");
  EXPECT_EQ(listed("a slots=3\n\n# none\n"), "a:3 ");
  EXPECT_THROW(parse_discovered("a b\n", "list"), Error);
  EXPECT_THROW(parse_discovered("\n", "list"), Error) << "without hosts";
}

TEST(DiscoverHosts, RunsACommandAndReadsAFile) {
  EXPECT_EQ(discover_hosts("printf 'a\\nb:2\\n'").size(), 2U);
  EXPECT_THAT(error_of("echo a; exit 3"), HasSubstr("it ended with exit status 3"));
  EXPECT_THAT(error_of("no-such-command 2>/dev/null"), HasSubstr("exit status 127"));
  EXPECT_THAT(error_of("echo a; kill -9 $$"), HasSubstr("killed by SIGKILL"));
  EXPECT_THAT(error_of("yes"), HasSubstr("it prints more than"));
  const std::string path = std::filesystem::temp_directory_path() /
                           ("discover_hosts_test." + std::to_string(::getpid()));
  std::ofstream(path) << "a\nb\nc\n";
  EXPECT_EQ(discover_hosts(path).size(), 3U);
  std::filesystem::remove(path);
}

TEST(DiscoverHosts, RunsNoProgramThatOthersMayReplace) {
  namespace fs = std::filesystem;
  const fs::path open =
      fs::temp_directory_path() / ("discover_hosts_test.d." + std::to_string(::getpid()));
  const fs::path program = open / "inner" / "list.sh", link = open.string() + ".link";
  fs::create_directories(program.parent_path());
  std::ofstream(program) << "#!/bin/sh\necho a:4\n";
  fs::permissions(program, fs::perms::owner_all);
  fs::create_symlink(program, link);
  for (const fs::path& path : {program, link}) {
    fs::permissions(open, fs::perms::all);
    EXPECT_THAT(error_of(path.string()),
                HasSubstr("everybody may write the folder " + open.string()));
    fs::permissions(open, fs::perms::all | fs::perms::sticky_bit);
    EXPECT_EQ(discover_hosts(path.string()).size(), 1U);
  }
  fs::remove(link);
  fs::remove_all(open);
}

TEST(DiscoverHosts, RunsNoProgramThatOthersMayWrite) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("discover_hosts_test.sh." + std::to_string(::getpid()));
  std::ofstream(path) << "#!/bin/sh\necho a:4\n";
  using std::filesystem::perms;
  std::filesystem::permissions(path, perms::owner_all);
  const std::string alone = path.string(), with_arguments = alone + " --all; true";
  const std::string quoted = "\"" + alone + "\" 'x y'", escaped = "\\" + alone;
  EXPECT_EQ(discover_hosts(alone).size(), 1U);
  EXPECT_EQ(discover_hosts(with_arguments).size(), 1U);
  std::filesystem::permissions(path, perms::owner_all | perms::others_write);
  for (const std::string& command : {alone, with_arguments, quoted, escaped}) {
    EXPECT_THAT(error_of(command), HasSubstr("everybody may write this program of --discover"));
  }
  if (::geteuid() == 0) {
    std::filesystem::permissions(path, perms::owner_all);
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    EXPECT_THAT(error_of(alone), HasSubstr("belongs to another user (65534)"));
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
    const std::string link = alone + ".link";
    std::filesystem::create_symlink(path, link);
    EXPECT_EQ(discover_hosts(link).size(), 1U);
    ASSERT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
    EXPECT_THAT(error_of(link), HasSubstr("belongs to another user (65534)"));
    std::filesystem::remove(link);
  }
  std::filesystem::remove(path);
}

TEST(DiscoverHosts, GivesUpACommandThatIsNotWaitedForAnyLonger) {
  const Fd give_up(::eventfd(1, EFD_CLOEXEC));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(discover_hosts("sleep 60", give_up.get()).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(8));
}

}  // namespace
}  // namespace dtl::discover_hosts_test
