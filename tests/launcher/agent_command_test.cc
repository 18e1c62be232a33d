#include "launcher/agents/agent_command.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "launcher/agents/push.h"

namespace dtl::agent_command_test {
namespace {

using testing::HasSubstr;

Bundles small_bundles() {
  return {
      {{"x86_64", "0.1.0-0123456789abcdef", {{"dtagent", "12345", "aa"}, {"dtguard", "6", "bb"}}},
       {"pdp11", "0.1.0-fedcba9876543210", {{"dtagent", "1234567", "cc"}, {"dtguard", "6", "dd"}}}},
      "/opt/libexec/dtlaunch"};
}

// csh expands ! and ends quotes at a newline; fish interprets \ in single quotes.
void expect_safe_for_any_shell(const std::string& command) {
  const std::string kPrefix = "exec sh -c '";
  ASSERT_TRUE(command.starts_with(kPrefix) && command.ends_with("'")) << command;
  const std::string script = command.substr(kPrefix.size(), command.size() - kPrefix.size() - 1);
  EXPECT_EQ(script.find_first_of("'!\\\n"), std::string::npos) << script;
}

TEST(AgentCommand, MeansTheSameToEveryLoginShell) {
  expect_safe_for_any_shell(agent_command("/opt/bin/dtagent", "--stdio"));
  expect_safe_for_any_shell(
      push_command("/opt/bin/dtagent", small_bundles(), "00ff", AfterPush::kServe));
  expect_safe_for_any_shell(
      push_command("/opt/bin/dtagent", small_bundles(), "00ff", AfterPush::kSayWhere));
  expect_safe_for_any_shell(remove_command());
}

TEST(AgentCommand, PromisesEveryFileOfTheBundle) {
  const std::string command =
      push_command("/opt/bin/dtagent", small_bundles(), "00ff", AfterPush::kServe);
  EXPECT_THAT(command, HasSubstr("x86_64) N=0.1.0-0123456789abcdef B=5 H=aa F=\" dtagent dtguard\" "
                                 "P=\" dtagent:5:aa dtguard:1:bb\";;"));
  EXPECT_THAT(command, HasSubstr("pdp11) N=0.1.0-fedcba9876543210 B=7 H=cc "));
}

TEST(AgentCommand, RefusesPathsThatAShellWouldRead) {
  EXPECT_THROW(check_agent_path("/opt/my programs/dtagent"), Error);
  EXPECT_THROW(check_agent_path("bin/dtagent"), Error);
  EXPECT_NO_THROW(check_agent_path("/opt/x-1.2/bin/dtagent"));
}

// A home directory with a fake dtagent that prints its arguments.
class HostsShell : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/dtl-agent-command-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    program_ = install(folder_ + "/bin");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string install(const std::string& folder, const std::string& text = "echo ran $1") {
    std::filesystem::create_directories(folder);
    for (const char* name : {"/dtagent", "/dtguard"}) {
      std::ofstream(folder + name) << "#!/bin/sh\n" << text << "\n";
      ::chmod((folder + name).c_str(), 0755);
    }
    return folder + "/dtagent";
  }
  struct Said {
    std::string text;
    int status = 0;
  };
  // as: a command that runs it as another user; optional.
  Said run(const std::string& command, const std::string& as = "") const {
    const std::string line =
        "export PATH=/usr/bin:/bin XDG_CACHE_HOME=" + folder_ + "/cache; { " +
        (as.empty() ? command : as + " " + command.substr(std::string("exec ").size())) +
        "; } 2>&1";
    FILE* output = ::popen(line.c_str(), "r");
    Said said;
    for (int c = 0; (c = ::fgetc(output)) != EOF;) said.text += static_cast<char>(c);
    const int status = ::pclose(output);
    said.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return said;
  }
  void expect_refused(const std::string& why) const {
    const Said said = run(agent_command(program_, "--stdio"));
    EXPECT_EQ(said.status, 126);
    EXPECT_EQ(said.text, std::string(kRefusal) + program_ + ": " + why + "\n");
  }

  std::string folder_, program_;
};

TEST_F(HostsShell, SaysWhichFolderTheUserMayNotEnter) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can become another user, and enters every folder itself";
  const std::string nobody = "setpriv --reuid 65534 --clear-groups";
  ::chmod((folder_ + "/bin").c_str(), 0700);
  for (const char* shut : {"", "/bin"}) {
    ::chmod(folder_.c_str(), *shut == '\0' ? 0700 : 0755);
    const Said said = run(agent_command(program_, "--stdio"), nobody);
    EXPECT_EQ(said.status, 126);
    EXPECT_EQ(said.text, std::string(kShutFolder) + folder_ + shut + "\n");
  }
  ::chmod((folder_ + "/bin").c_str(), 0755);
  EXPECT_EQ(run(agent_command(program_, "--stdio"), nobody).text, "ran --stdio\n");
  EXPECT_EQ(run(agent_command(folder_ + "/nothing/dtagent", "--stdio"), nobody).status, 127);
}

TEST_F(HostsShell, RunsWhatIsTheUsersOwn) {
  EXPECT_EQ(run(agent_command(program_, "--stdio")).text, "ran --stdio\n");
  std::filesystem::create_symlink(folder_ + "/bin", folder_ + "/link");
  EXPECT_EQ(run(agent_command(folder_ + "/link/dtagent", "--idle")).text, "ran --idle\n");
  EXPECT_EQ(run(agent_command(folder_ + "/nothing", "--idle")).status, 127);
}

TEST_F(HostsShell, DoesNotRunWhatEverybodyMayWrite) {
  ::chmod(program_.c_str(), 0757);
  expect_refused("everybody may write " + program_);
  ::chmod(program_.c_str(), 0755);
  ::chmod((folder_ + "/bin").c_str(), 0777);
  expect_refused("everybody may write " + folder_ + "/bin");
  ::chmod((folder_ + "/bin").c_str(), 0755);
  ::chmod((folder_ + "/bin/dtguard").c_str(), 0757);
  expect_refused("everybody may write " + folder_ + "/bin/dtguard");
}

TEST_F(HostsShell, DoesNotRunWhatBelongsToAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown(program_.c_str(), 1000, 0), 0);
  expect_refused(program_ + " belongs to user 1000");
  ASSERT_EQ(::chown(program_.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(folder_.c_str(), 1000, 0), 0);
  expect_refused(folder_ + " belongs to user 1000");
  ASSERT_EQ(::chown(folder_.c_str(), 0, 50), 0);
  ::chmod(folder_.c_str(), 0775);
  expect_refused("group 50 may write " + folder_);
}

TEST_F(HostsShell, PassesByWhatItRefusesForOneThatIsSafe) {
  ::chmod(program_.c_str(), 0757);
  const std::string other = install(folder_ + "/other");
  const std::string path = "PATH=$PATH:" + folder_ + "/other; ";
  EXPECT_EQ(run(path + agent_command(program_, "--stdio")).text, "ran --stdio\n");
  ::chmod(other.c_str(), 0757);
  EXPECT_EQ(run(path + agent_command(program_, "--stdio")).status, 126);
}

TEST_F(HostsShell, RunsAPushOnlyWhileItIsAsItWasSent) {
  const auto bundles = load_bundles(folder_ + "/bin", false);
  const std::string pushed = install(folder_ + "/cache/dtlaunch/" + bundles->all[0].name);
  const std::string nowhere = folder_ + "/nothing/dtagent";
  EXPECT_EQ(run(agent_command(nowhere, "--stdio")).text, "ran --stdio\n");
  std::ofstream(pushed, std::ios::app) << "# one more line\n";
  const Said damaged = run(agent_command(nowhere, "--stdio"));
  EXPECT_EQ(damaged.status, 126);
  EXPECT_EQ(damaged.text, std::string(kDamaged) + pushed + "\n");
  const Said asked =
      run("</dev/null " + push_command(nowhere, *bundles, "00ff", AfterPush::kServe));
  EXPECT_THAT(asked.text, HasSubstr("DTLAUNCH-PUSH want "));
}

TEST_F(HostsShell, KnowsAPushThatHasAServerOfPmix) {
  std::ofstream(folder_ + "/bin/dtpmix") << "server";
  const auto bundles = load_bundles(folder_ + "/bin", false);
  ASSERT_EQ(bundles->all[0].files.size(), 3u);
  EXPECT_EQ(bundles->all[0].files[2].name, "dtpmix");
  const std::string pushed = install(folder_ + "/cache/dtlaunch/" + bundles->all[0].name);
  const std::string server = pushed.substr(0, pushed.rfind('/')) + "/dtpmix";
  std::ofstream(server) << "server";
  const std::string nowhere = folder_ + "/nothing/dtagent";
  EXPECT_EQ(run(agent_command(nowhere, "--stdio")).text, "ran --stdio\n");
  std::ofstream(server) << "another";
  EXPECT_EQ(run(agent_command(nowhere, "--stdio")).status, 126);
}

// Hosts of several architectures may share a home directory.
TEST_F(HostsShell, PassesByAPushThatDoesNotRunHere) {
  install(folder_ + "/bin", "exit 126");
  const std::string other = load_bundles(folder_ + "/bin", false)->all[0].name;
  install(folder_ + "/cache/dtlaunch/" + other, "exit 126");
  const std::string nowhere = folder_ + "/nothing/dtagent";
  EXPECT_EQ(run(agent_command(nowhere, "--stdio")).status, 127);
}

TEST_F(HostsShell, AsksForTheProgramsOfItsArchitecture) {
  const std::string nowhere = folder_ + "/nothing/dtagent";
  const auto command = [&](const char* host) {
    std::filesystem::create_directories(folder_ + "/tools");
    std::ofstream(folder_ + "/tools/uname") << "#!/bin/sh\necho " << host << "\n";
    ::chmod((folder_ + "/tools/uname").c_str(), 0755);
    return "PATH=" + folder_ + "/tools:$PATH; </dev/null " +
           push_command(nowhere, small_bundles(), "00ff", AfterPush::kServe);
  };
  const Said asked = run(command("pdp11"));
  EXPECT_THAT(asked.text, HasSubstr("DTLAUNCH-PUSH want pdp11 " + folder_ + "/cache/dtlaunch\n"));
  // Nothing has come, and nothing stays.
  EXPECT_EQ(asked.status, 73);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/cache/dtlaunch"));
  const Said refused = run(command("vax"));
  EXPECT_THAT(refused.text, HasSubstr("DTLAUNCH-PUSH want vax "));
  EXPECT_EQ(refused.status, 78);
}

TEST_F(HostsShell, AsksForAPushInThePlaceOfWhatOthersCanWrite) {
  const auto bundles = load_bundles(folder_ + "/bin", false);
  const std::string pushed = install(folder_ + "/cache/dtlaunch/" + bundles->all[0].name);
  const std::string command =
      push_command(folder_ + "/nothing/dtagent", *bundles, "00ff", AfterPush::kSayWhere);
  EXPECT_THAT(run("</dev/null " + command).text, HasSubstr("DTLAUNCH-PUSH there "));
  ::chmod(pushed.c_str(), 0757);
  EXPECT_THAT(run("</dev/null " + command).text, HasSubstr("DTLAUNCH-PUSH want "));
}

TEST_F(HostsShell, FindsTheProgramsOfOtherArchitectures) {
  const std::string place = folder_ + "/libexec/dtlaunch";
  install(place + "/pdp11", "echo other");
  install(place + "/vax");
  std::filesystem::remove(place + "/vax/dtguard");
  std::filesystem::create_directories(place + "/names");
  const auto bundles = load_bundles(folder_ + "/bin", false);
  ASSERT_EQ(bundles->all.size(), 2u);
  const Bundle* other = bundles->find("pdp11");
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->files[0].bytes, "#!/bin/sh\necho other\n");
  EXPECT_NE(other->name, bundles->all[0].name);
  EXPECT_EQ(bundles->find("vax"), nullptr);
  EXPECT_EQ(bundles->missing_program("vax"), place + "/vax/dtguard");
  EXPECT_EQ(load_bundles(folder_ + "/bin", false)->missing_program("m68k"),
            place + "/m68k/dtagent");
}

TEST_F(HostsShell, SaysWhereProgramsOfAnArchitectureBelong) {
  Bundles bundles = small_bundles();
  bundles.elsewhere = folder_;
  Host host;
  host.name = "node5";
  const std::string built = no_programs_for("aarch64", host, bundles).what();
  EXPECT_THAT(built, HasSubstr("cannot push dtagent: the host is aarch64, dtlaunch is x86_64, and "
                               "there is no " +
                               folder_ + "/aarch64/dtagent. Try: mkdir -p " + folder_ +
                               "/aarch64 && tar -xzf dtlaunch-"));
  EXPECT_THAT(no_programs_for("vax", host, bundles).what(), HasSubstr("built on node5"));
}

// Where hosts feed each other, the launcher's lines say where dtagent is. Nobody listens on port 1.
TEST_F(HostsShell, AsksAgainIfAHostDoesNotGiveItDtagent) {
  const auto bundles = load_bundles(folder_ + "/bin", false);
  std::ofstream(folder_ + "/input") << "from 127.0.0.1 1 00ff\nhere\n"
                                    << bundles->all[0].files[0].bytes;
  const Said said = run("<" + folder_ + "/input " +
                        push_command(folder_ + "/nothing/dtagent", *bundles, "00ff",
                                     AfterPush::kSayWhere, "peers=20000-20009"));
  EXPECT_THAT(said.text, testing::MatchesRegex("\nDTLAUNCH-PUSH fetches\n"
                                               "\nDTLAUNCH-PUSH want [^\n]*\n"
                                               "\nDTLAUNCH-PUSH failed\n"
                                               "ran --receive\n"
                                               "\nDTLAUNCH-PUSH there [^\n]*\n"));
  EXPECT_EQ(said.status, 0);
}

TEST(Trainer, IsTheProgramOfThatNameAlone) {
  EXPECT_TRUE(runs_pushed_trainer({"dttrain", "--demo"}));
  EXPECT_FALSE(runs_pushed_trainer({"/opt/dttrain"}));
  EXPECT_FALSE(runs_pushed_trainer({}));
}

}  // namespace
}  // namespace dtl::agent_command_test
