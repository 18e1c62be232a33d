// A real agent with a stand-in for dtpmix (tests/agent/stand_ins), whose behaviour is the name of
// the job's namespace.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include "agent_driver.h"
#include "tests/support/folders.h"

namespace dtl::pmix_link_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class PmixLinks : public ::testing::Test {
 protected:
  PmixLinks() {
    char pattern[] = "/tmp/dtl-pmix-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    for (const char* program : {"dtagent", "dtguard"}) {
      fs::copy_file(test::program_path(program), folder_ + "/" + program);
    }
    const fs::path build = fs::path(test::program_path("")).parent_path().parent_path();
    fs::copy_file(build / "tests/mpi/dtpmix", folder_ + "/dtpmix");
    fs::create_directory(folder_ + "/run");
    fs::permissions(folder_ + "/run", fs::perms::owner_all);
    ::setenv("XDG_RUNTIME_DIR", (folder_ + "/run").c_str(), 1);
  }
  ~PmixLinks() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    fs::remove_all(folder_);
  }

  // Two ranks here, and one on another node.
  static void serve(AgentDriver& agent, const std::string& how) {
    ServePmix job;
    job.space = how;
    job.hosts.push_back("here");
    job.hosts.push_back("there");
    for (const std::uint32_t node : {0u, 0u, 1u}) job.places.push_back({node, 0});
    agent.send(job);
  }
  static pid_t dtpmix_of(const AgentDriver& agent) {
    for (const pid_t child : children_of(agent.agent())) {
      if (process_name(child) == "dtpmix") return child;
    }
    return 0;
  }
  // The private folders of dtpmix.
  int folders_left() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder_ + "/run/dtlaunch")) {
      if (entry.path().filename().string().starts_with("pmix-")) ++count;
    }
    return count;
  }

  std::string folder_;
};

constexpr const char* kShow =
    "echo \"$PMIX_NAMESPACE $PMIX_RANK $PMIX_MCA_gds "
    "$OMPI_MCA_orte_local_daemon_uri\"";

TEST_F(PmixLinks, GiveRanksTheVariablesOfTheServer) {
  AgentDriver agent(folder_);
  serve(agent, "serves");
  agent.start_script(1, kShow);
  EXPECT_EQ(agent.expect_output(1, "\n"), "serves 1 hash 0.0;tcp://127.0.0.1:0\n");
}

TEST_F(PmixLinks, LeaveTheUsersParametersAlone) {
  AgentDriver agent(folder_);
  serve(agent, "serves");
  Start start;
  start.secret = std::string(32, 's');
  start.ranks.push_back(script_rank(0, kShow));
  for (const char* variable :
       {"PMIX_RANK=7", "PMIX_MCA_gds=mine", "OMPI_MCA_orte_local_daemon_uri=mine"}) {
    start.ranks[0].environment.added.push_back({0, variable});
  }
  agent.send(start);
  EXPECT_EQ(agent.expect_output(0, "\n"), "serves 0 mine mine\n");
}

TEST_F(PmixLinks, HoldRanksBackUntilTheServerIsReady) {
  AgentDriver agent(folder_);
  serve(agent, "late");
  Start start;
  start.secret = std::string(32, 's');
  start.ranks.push_back(script_rank(0, "cat; echo \"$PMIX_NAMESPACE\""));
  start.ranks[0].wants_stdin = true;
  agent.send(start);
  agent.send(Stdin{0, "input ", true});
  EXPECT_FALSE(agent.pump([&] { return agent.has<Started>(); }, milliseconds(300)));
  agent.send(PmixWanted{0, 1, 1});
  agent.expect<Started>();
  EXPECT_EQ(agent.expect_output(0, "\n"), "input late\n");
}

TEST_F(PmixLinks, StartNoRankAfterAStopBefore) {
  AgentDriver agent(folder_);
  serve(agent, "late");
  agent.start_script(0, "true");
  agent.send(Stop{});
  EXPECT_EQ(agent.expect<SpawnFailed>().stage, "stopped");
  EXPECT_EQ(agent.finish(), 0);
  EXPECT_EQ(folders_left(), 0);
}

TEST_F(PmixLinks, PassMessagesOn) {
  AgentDriver agent(folder_);
  serve(agent, "serves");
  agent.start_script(0, "exit 5");
  agent.expect<Started>();
  agent.send(PmixWanted{1, 4, 9});
  const auto given = agent.expect<PmixGiven>();
  EXPECT_EQ(given.node, 4u);
  EXPECT_EQ(given.number, 9u);
  EXPECT_EQ(given.data, "data of 1");
  PmixFenced fenced;
  fenced.ranks.push_back(2);
  fenced.data = std::string(500'000, 'd');
  for (int i = 0; i < 20; ++i) agent.send(fenced);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(agent.expect<PmixFence>().data, fenced.data);
  // It hears how the rank has ended.
  EXPECT_EQ(agent.expect<MpiNews>().code, 5u);
}

TEST_F(PmixLinks, EndTheJobWhenTheServerFails) {
  for (const char* when : {"dies", "dies later", "talks"}) {
    AgentDriver agent(folder_);
    serve(agent, when);
    agent.start_script(0, "exec sleep 60");
    if (std::string(when) != "dies") {
      agent.expect<Started>();
      agent.send(PmixWanted{0, 1, 1});
    }
    const std::string expected = std::string(when) == "talks"
                                     ? "dtpmix: too much to do"
                                     : "dtpmix exited with status 3: dtpmix: cannot go on: "
                                       "no reason";
    EXPECT_EQ(agent.expect<Trouble>().text, expected);
    EXPECT_EQ(agent.await_exit(), 71);
    EXPECT_EQ(folders_left(), 0);
  }
}

// Of a shell that may load Open MPI: most do not.
TEST_F(PmixLinks, GoOnWithoutAServerThatNoProgramIsKnownToNeed) {
  const fs::path build = fs::path(test::program_path("")).parent_path().parent_path();
  for (const char* when : {"dies", "dies later"}) {
    AgentDriver agent(folder_);
    Examine examine;
    examine.parameters = {{"what", "libraries"},
                          {"PATH", "/bin"},
                          {"LD_LIBRARY_PATH", (build / "tests/mpi/lib").string()},
                          {"cwd", "/"},
                          {"mpi", "sh"},
                          {"pmix", "if_needed"}};
    agent.send(examine);
    EXPECT_EQ(agent.expect<Examined>().facts.at(0).value, "hidden Open MPI (libmpi.so.40)");
    serve(agent, when);
    agent.start_script(0, "read line; echo \"${PMIX_NAMESPACE-none}\"");
    if (std::string(when) == "dies later") {
      agent.expect<Started>();
      agent.send(PmixWanted{0, 1, 1});
    }
    EXPECT_EQ(agent.expect<Notice>().text,
              "dtpmix exited with status 3: dtpmix: cannot go on: no reason. Programs of Open MPI "
              "cannot start here");
    EXPECT_EQ(agent.expect_output(0, "\n"),
              std::string(when) == "dies" ? "none\n" : std::string(when) + "\n");
    EXPECT_EQ(agent.finish(), 0);
    EXPECT_EQ(folders_left(), 0);
  }
}

TEST_F(PmixLinks, EndTheJobWhenTheServerIsKilledOrMissing) {
  {
    AgentDriver agent(folder_);
    serve(agent, "serves");
    agent.start_script(0, "exec sleep 60");
    agent.expect<Started>();
    ::kill(dtpmix_of(agent), SIGTERM);  // not for it
    ::kill(dtpmix_of(agent), SIGKILL);
    EXPECT_EQ(agent.expect<Trouble>().text, "dtpmix was killed by SIGKILL");
    EXPECT_EQ(agent.await_exit(), 71);
  }
  fs::remove(folder_ + "/dtpmix");
  AgentDriver agent(folder_);
  serve(agent, "serves");
  EXPECT_EQ(agent.expect<Trouble>().text,
            folder_ + "/dtpmix: cannot start: No such file or directory");
  EXPECT_EQ(agent.await_exit(), 71);
  EXPECT_EQ(folders_left(), 0);
}

TEST_F(PmixLinks, LeaveNothing) {
  for (const char* how : {"serves", "stubborn"}) {
    AgentDriver agent(folder_);
    serve(agent, how);
    agent.start_script(0, "true");
    agent.expect<Exited>();
    const pid_t dtpmix = dtpmix_of(agent);
    EXPECT_TRUE(is_alive(dtpmix));
    EXPECT_EQ(folders_left(), 1);
    agent.send(Finish{});
    EXPECT_EQ(agent.expect<Finished>().killed, 0u);
    EXPECT_EQ(agent.await_exit(), 0);
    EXPECT_FALSE(is_alive(dtpmix));
    EXPECT_EQ(folders_left(), 0);
  }
}

TEST_F(PmixLinks, OfAKilledAgentLeaveOnlyWhatCleanRemoves) {
  // Of no other test: files of a job that runs here stay.
  AgentDriver agent(folder_, "00112233aabb0001");
  serve(agent, "stubborn");
  agent.start_script(0, "exec sleep 60");
  agent.expect<Started>();
  const pid_t dtpmix = dtpmix_of(agent);
  ::kill(agent.agent(), SIGKILL);
  EXPECT_EQ(agent.await_exit(), 71);  // the keeper ends what is left
  EXPECT_FALSE(is_alive(dtpmix));
  EXPECT_EQ(std::system((folder_ + "/dtagent --clean >" + folder_ + "/said").c_str()), 0);
  EXPECT_EQ(folders_left(), 0);
}

}  // namespace
}  // namespace dtl::pmix_link_test
