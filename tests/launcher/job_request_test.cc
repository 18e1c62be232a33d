#include "launcher/request/job_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "plan/request/hostfile.h"

namespace dtl::job_request_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class JobRequestTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/job_request_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    around_.environment = {{"PATH", "/usr/bin"}, {"HOME", "/root"}, {"SSH_TTY", "/dev/pts/1"}};
    around_.working_directory = folder_;
    around_.program_directory = "/opt/dtlaunch/bin";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  JobSettings describe(std::vector<std::string> words) {
    return describe_job(read_job_inputs(parse_command_line(words), around_), around_);
  }
  static std::vector<std::string> names(const std::vector<Host>& hosts) {
    std::vector<std::string> all;
    for (const Host& host : hosts) all.push_back(host.name);
    return all;
  }

  std::string folder_;
  Surroundings around_;
};

TEST_F(JobRequestTest, RunsOnThisMachineWithoutHosts) {
  const JobSettings settings = describe({"-np", "2", "prog", "-x"});
  EXPECT_TRUE(settings.request.hosts.empty());
  EXPECT_THAT(settings.request.programs[0].command, ElementsAre("prog", "-x"));
  EXPECT_EQ(settings.request.programs[0].working_directory, folder_);
  EXPECT_THAT(settings.notices, IsEmpty());
}

TEST_F(JobRequestTest, HasRanksWaitForHostsThatAreLookedFor) {
  const auto silence = [&](std::vector<std::string> words) {
    for (const auto& [name, value] : describe(words).request.environment.inherited)
      if (name == "DTRING_SILENCE") return value;
    return std::string();
  };
  EXPECT_EQ(silence({"-hosts", "a", "p"}), "");
  EXPECT_EQ(silence({"-hosts", "a", "--reconnect", "60", "p"}), "140");
  around_.environment.emplace_back("DTRING_SILENCE", "7");
  EXPECT_EQ(silence({"-hosts", "a", "--reconnect", "60", "p"}), "7");
}

TEST_F(JobRequestTest, EncryptsAndSaysOfWhichProgramsItKnowsNothing) {
  const JobSettings ours = describe({"--encrypt", "-np", "2", "/opt/bin/dttrain", "--demo"});
  EXPECT_THAT(ours.request.environment.set, ElementsAre(Pair("DTRING_ENCRYPT", "1")));
  EXPECT_THAT(ours.notices, IsEmpty());
  const JobSettings other = describe({"--encrypt", "dttrain", ":", "python3", "run.py"});
  EXPECT_THAT(other.notices, ElementsAre(HasSubstr("--encrypt covers what libdtring carries; what "
                                                   "python3 sends by itself")));
  const JobSettings by_file =
      describe({"-c", file("job.toml", "program = \"dttrain\"\nencrypt = true\n")});
  EXPECT_THAT(by_file.request.environment.set, ElementsAre(Pair("DTRING_ENCRYPT", "1")));
  EXPECT_THROW(describe({"--encrypt", "-genv", "DTRING_ENCRYPT", "0", "dttrain"}), Error);
}

TEST_F(JobRequestTest, ForwardsTheEnvironmentAndItsOwnFolderLast) {
  EXPECT_THAT(describe({"prog"}).request.environment.inherited,
              testing::UnorderedElementsAre(Pair("PATH", "/usr/bin:/opt/dtlaunch/bin"),
                                            Pair("HOME", "/root")));
}

TEST_F(JobRequestTest, PassesOnWhatItIsTold) {
  around_.environment = {{"A", "1"}, {"B", "2"}, {"DISPLAY", ":0"}};
  const std::pair<std::string, std::string> path = {
      "PATH", "/usr/local/bin:/usr/bin:/bin:/opt/dtlaunch/bin"};
  EXPECT_THAT(describe({"-genvnone", "p"}).request.environment.inherited, ElementsAre(path));
  EXPECT_THAT(describe({"-genvlist", "A, DISPLAY", "p"}).request.environment.inherited,
              ElementsAre(Pair("A", "1"), Pair("DISPLAY", ":0"), path));
  const Request request =
      describe({"-x", "DISPLAY", "-x", "C=3", "a", ":", "-envnone", "b"}).request;
  EXPECT_THAT(request.environment.inherited, ElementsAre(Pair("A", "1"), Pair("B", "2"), path));
  EXPECT_THAT(request.programs[0].set,
              testing::UnorderedElementsAre(Pair("C", "3"), Pair("DISPLAY", ":0")));
  EXPECT_FALSE(request.programs[0].inherited);
  EXPECT_THAT(*request.programs[1].inherited, ElementsAre(path));
  around_.environment.emplace_back("HYDRA_ENV", "list:B");
  EXPECT_THAT(describe({"p"}).request.environment.inherited, ElementsAre(Pair("B", "2"), path));
}

TEST_F(JobRequestTest, NamesTheLineOfABadInterface) {
  const std::string hosts = file("hosts", "a\nb iface=10.0.0.0/99\n");
  try {
    describe({"-f", hosts, "p"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    EXPECT_THAT(error.what(), testing::StartsWith(hosts + ":2:1: iface=10.0.0.0/99: "));
  }
}

TEST_F(JobRequestTest, LeavesTheLaunchingHostOut) {
  EXPECT_THAT(names(describe({"-hosts", "localhost,far", "-nolocal", "p"}).request.hosts),
              ElementsAre("far"));
  EXPECT_THROW(describe({"-hosts", "localhost", "-skip-launch-node", "p"}), Error);
}

TEST_F(JobRequestTest, TakesTheFirstHostsOnly) {
  EXPECT_THAT(names(describe({"-hosts", "a,b,c", "--nnodes", "2", "p"}).request.hosts),
              ElementsAre("a", "b"));
  EXPECT_THROW(describe({"-hosts", "a", "--nnodes", "2", "p"}), Error);
}

TEST_F(JobRequestTest, PutsEachProgramOnItsOwnHosts) {
  const Request request =
      describe({"-host", "a", "-n", "2", "x", ":", "-host", "b:1,c,a", "-n", "4", "y"}).request;
  EXPECT_THAT(names(request.hosts), ElementsAre("a", "b", "c"));
  EXPECT_THAT(request.placement.rank_map, ElementsAre(0, 0, 1, 2, 0, 1));
  EXPECT_EQ(request.placement.ranks, 6);
  EXPECT_EQ(request.programs[1].ranks, 4);
  // Only the first program's hosts are those of the job.
  EXPECT_THAT(describe({"-hosts", "a:1,b:1", "x", ":", "y"}).request.placement.rank_map, IsEmpty());
  const std::string programs = file("programs", "-host b:2 x\n-host a y\n");
  CommandLine line = parse_command_line({"-configfile", programs});
  add_program_file(line, "-host b:2 x\n-host a y\n", programs);
  const Request from_file = describe_job(read_job_inputs(line, around_), around_).request;
  EXPECT_THAT(names(from_file.hosts), ElementsAre("b", "a"));
  EXPECT_THAT(from_file.placement.rank_map, ElementsAre(0, 0, 1));
}

TEST_F(JobRequestTest, RefusesHostsOfOneProgramAlone) {
  const auto refusal = [&](const std::vector<std::string>& words) -> std::string {
    try {
      describe(words);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kUsage);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal({"x", ":", "-host", "b", "y"}), HasSubstr("another has none"));
  EXPECT_THAT(refusal({"-rr", "-host", "a", "x", ":", "-host", "b", "y"}),
              HasSubstr("another option says where ranks go as well"));
  EXPECT_THAT(refusal({"-host", "a", "x", ":", "-n", "3", "-host", "b:2", "y"}),
              HasSubstr("only 2 slots"));
}

TEST_F(JobRequestTest, MakesTheWorkingDirectoryAbsolute) {
  EXPECT_EQ(describe({"-wdir", "sub/x", "prog"}).request.programs[0].working_directory,
            folder_ + "/sub/x");
  EXPECT_EQ(describe({"-wdir", "/tmp", "prog"}).request.programs[0].working_directory, "/tmp");
  const Request two = describe({"-gwdir", "/srv", "a", ":", "-wdir", "/tmp", "b"}).request;
  EXPECT_EQ(two.programs[0].working_directory, "/srv");
  EXPECT_EQ(two.programs[1].working_directory, "/tmp");
}

TEST_F(JobRequestTest, RunsAScriptByPythonWhereTorchrunWould) {
  const std::string script = file("train.py", "print()");
  const auto command = [&](std::vector<std::string> words) {
    return describe(words).request.programs[0].command;
  };
  EXPECT_THAT(command({"--nproc-per-node", "1", script, "--lr", "1"}),
              ElementsAre("python3", "-u", script, "--lr", "1"));
  EXPECT_THAT(command({"--nproc-per-node", "1", "train.py"}),
              ElementsAre("python3", "-u", "train.py"));
  EXPECT_THAT(command({"-np", "1", script}), ElementsAre(script));
  EXPECT_THAT(command({"--nproc-per-node", "1", "--no-python", script}), ElementsAre(script));
  ASSERT_EQ(::chmod(script.c_str(), 0700), 0);
  EXPECT_THAT(command({"--nproc-per-node", "1", script}), ElementsAre(script));
}

TEST_F(JobRequestTest, SpeaksOnlyToTheHostsThatAJobNeeds) {
  const std::string hosts = file("hosts", "a:2\nb:2\nc:2\n");
  EXPECT_THAT(names(describe({"-f", hosts, "-np", "3", "p"}).request.hosts), ElementsAre("a", "b"));
  EXPECT_THAT(names(describe({"-f", hosts, "-np", "3", "-ppn", "1", "p"}).request.hosts),
              ElementsAre("a", "b", "c"));
  EXPECT_THAT(names(describe({"-f", hosts, "p"}).request.hosts), ElementsAre("a", "b", "c"));
  EXPECT_THAT(names(describe({"-hosts", "a,b:1,c", "-np", "1", "p"}).request.hosts),
              ElementsAre("a", "b", "c"));
  EXPECT_THAT(names(describe({"-f", hosts, "-rr", "-np", "2", "p"}).request.hosts),
              ElementsAre("a", "b"));
  EXPECT_THAT(names(describe({"-f", hosts, "-rankmap", "1,0,1", "p"}).request.hosts),
              ElementsAre("a", "b"));
}

TEST_F(JobRequestTest, SaysWhichVariableToPassThereIsNot) {
  const JobSettings settings = describe({"-x", "GONE", "p"});
  EXPECT_THAT(settings.notices, ElementsAre(HasSubstr("-x GONE")));
  EXPECT_THAT(settings.request.programs[0].set, IsEmpty());
}

TEST_F(JobRequestTest, RefusesAHydraEnvThatSaysNothing) {
  around_.environment.emplace_back("HYDRA_ENV", "some");
  EXPECT_THROW(describe({"p"}), Error);
  EXPECT_THAT(describe({"-genvnone", "p"}).request.environment.inherited,
              ElementsAre(Pair("PATH", testing::_)));
}

TEST_F(JobRequestTest, TakesProgramsAndPlacementFromTheJobFile) {
  const std::string path = file("job.toml", R"(
nodes = 2
ranks_per_node = 2
deal = 1
inherit = "none"
compat = ["ompi"]
interface = "eth1"
grace = 9
hosts.list = ["a", "b", "c"]
[[programs]]
program = "one"
ranks = 1
[[programs]]
program = "two"
ranks = 2
inherit = "all"
working_directory = "w"
[programs.environment]
WHO = "two"
)");
  const JobSettings settings = describe({"-c", path, "-genv", "A=1", "-env", "E", "5"});
  const Request& request = settings.request;
  ASSERT_EQ(request.programs.size(), 2u);
  EXPECT_THAT(request.programs[0].command, ElementsAre("one"));
  EXPECT_EQ(request.programs[0].ranks, 1);
  EXPECT_FALSE(request.programs[0].inherited);
  EXPECT_THAT(request.programs[0].set, ElementsAre(Pair("E", "5")));
  EXPECT_THAT(request.programs[1].command, ElementsAre("two"));
  EXPECT_EQ(request.programs[1].working_directory, folder_ + "/w");
  EXPECT_THAT(request.programs[1].set, ElementsAre(Pair("WHO", "two"), Pair("E", "5")));
  EXPECT_TRUE(request.programs[1].inherited);
  EXPECT_EQ(request.placement.ranks, 3);
  EXPECT_EQ(request.placement.deal, 1);
  EXPECT_EQ(request.network.interface, "eth1");
  EXPECT_THAT(request.environment.compat, ElementsAre(Dialect::kOpenMpi));
  EXPECT_EQ(settings.request.ending.grace, JobTime(9000));
  EXPECT_THAT(names(request.hosts), ElementsAre("a", "b"));
  EXPECT_THAT(request.environment.inherited, ElementsAre(Pair("PATH", testing::_)));
}

TEST_F(JobRequestTest, LetsTheCommandLineWinOverTheJobFilesPlacement) {
  const std::string path = file("job.toml",
                                "program = \"p\"\ndeal = 1\ninherit = \"none\"\n"
                                "compat = [\"ompi\"]\nhosts.list = [\"a:2\", \"b:2\"]\n");
  const Request request =
      describe({"-c", path, "-rankmap", "0,1,1", "-genvall", "--compat", "horovod"}).request;
  EXPECT_FALSE(request.placement.deal);
  EXPECT_THAT(request.placement.rank_map, ElementsAre(0, 1, 1));
  EXPECT_THAT(request.environment.compat, ElementsAre(Dialect::kHorovod));
  EXPECT_THAT(request.environment.inherited, testing::Contains(Pair("HOME", "/root")));
}

TEST_F(JobRequestTest, RefusesANumberOfRanksForSeveralPrograms) {
  const std::string path =
      file("job.toml", "[[programs]]\nprogram = \"a\"\n[[programs]]\nprogram = \"b\"\n");
  EXPECT_EQ(describe({"-c", path}).request.placement.ranks, 2);
  EXPECT_THROW(describe({"-c", path, "-np", "4"}), Error);
}

TEST_F(JobRequestTest, LetsTheCommandLineWinOverTheJobFile) {
  const std::string path = file("job.toml",
                                "program = \"sh\"\nranks = 2\ntimeout = 60\n"
                                "[environment]\nA = \"file\"\nB = \"file\"\n");
  const JobSettings settings =
      describe({"-c", path, "-np", "3", "--timeout", "5", "-genv", "A", "line"});
  EXPECT_THAT(settings.request.programs[0].command, ElementsAre("sh"));
  EXPECT_EQ(settings.request.placement.ranks, 3);
  EXPECT_EQ(settings.request.ending.timeout, JobTime(5000));
  EXPECT_THAT(settings.request.environment.set,
              ElementsAre(Pair("A", "file"), Pair("B", "file"), Pair("A", "line")));
}

// A job file's path is relative to dtlaunch's working directory, and so may be its directory.
TEST_F(JobRequestTest, MakesTheJobFilesWorkingDirectoryAbsolute) {
  const std::string path = file("job.toml", "program = \"true\"\nworking_directory = \"w\"\n");
  around_.working_directory = std::filesystem::current_path().string();
  const std::string relative = std::filesystem::relative(path).string();
  EXPECT_EQ(describe({"-c", relative}).request.programs[0].working_directory, folder_ + "/w");
}

TEST_F(JobRequestTest, RunsTheDemonstrationWhenThereIsNothingElse) {
  const std::string path = file("job.toml", "ranks = 2\n");
  const JobSettings settings = describe({"-c", path});
  EXPECT_THAT(settings.request.programs[0].command, ElementsAre("dttrain", "--demo"));
  EXPECT_THAT(settings.notices, ElementsAre(HasSubstr("demonstration")));
}

TEST_F(JobRequestTest, RunsNoDemonstrationForALineThatForgetsItsProgram) {
  const std::string path = file("job.toml", "ranks = 2\n");
  EXPECT_THAT(
      [&] {
        describe({"-c", path, "-env", "A=1"});
      },
      testing::ThrowsMessage<Error>(HasSubstr("-env: it is for one program")));
  CommandLine line = parse_command_line({"-c", path});
  line.given.push_back({"--detach", "submit"});
  EXPECT_THAT([&] { describe_job(read_job_inputs(line, around_), around_); },
              testing::ThrowsMessage<Error>(HasSubstr("submit: it needs a program")));
}

TEST_F(JobRequestTest, AJobOfNoFixedSizeTakesAsManyHostsAsItMay) {
  const JobSettings settings = describe({"-hosts", "a,b,c,d", "--nnodes", "2:3", "-ppn", "1", "p"});
  EXPECT_TRUE(settings.request.elastic);
  EXPECT_THAT(names(settings.request.hosts), ElementsAre("a", "b", "c"));
  EXPECT_THAT(names(settings.spares), ElementsAre("d"));
  EXPECT_EQ(settings.request.max_restarts(), 3) << "or losing a host would be the end";
  EXPECT_EQ(describe({"--nnodes", "1:3", "--max-restarts", "0", "p"}).request.max_restarts(), 0);
  const JobSettings ranks = describe({"-hosts", "a:2,b:2,c:2", "-np", "1:4", "p"});
  EXPECT_FALSE(ranks.request.placement.ranks);
  EXPECT_EQ(ranks.request.placement.rank_range->most, 4);
  EXPECT_THAT(names(ranks.request.hosts), ElementsAre("a", "b"));
  EXPECT_THAT(names(ranks.spares), ElementsAre("c"));
  EXPECT_FALSE(describe({"-hosts", "a,b", "--nnodes", "2", "p"}).request.elastic);
}

TEST_F(JobRequestTest, HostsMayComeFromACommand) {
  around_.discover = [](const std::string& what) {
    EXPECT_EQ(what, "list them");
    return parse_host_option("a:2,b:1");
  };
  const JobSettings settings = describe({"--discover", "list them", "p"});
  EXPECT_TRUE(settings.request.elastic);
  EXPECT_EQ(settings.discover, "list them");
  EXPECT_THAT(names(settings.request.hosts), ElementsAre("a", "b"));
  EXPECT_THROW(describe({"--discover", "list them", "--nnodes", "3:4", "p"}), Error);
  const std::string path = file("job.toml", "ranks = \"1:2\"\nhosts.discover = \"list them\"\n");
  EXPECT_EQ(describe({"-c", path, "p"}).request.placement.rank_range->most, 2);
  EXPECT_EQ(describe({"-c", path, "-hosts", "x,y", "p"}).discover, "") << "the line wins";
}

TEST_F(JobRequestTest, RefusesAFixedSizeBesideOneThatMayChange) {
  const auto reason = [&](std::vector<std::string> words) -> std::string {
    words.push_back("p");
    try {
      describe(words);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(reason({"-hosts", "a,b", "--nnodes", "1:2", "-np", "2"}),
              HasSubstr("-np 2 fixes the number of ranks"));
  EXPECT_THAT(reason({"-hosts", "a,b", "--nnodes", "1:2", "-np", "1:2"}),
              HasSubstr("bounds the ranks, and this the hosts"));
  EXPECT_THAT(reason({"-hosts", "a,b", "-np", "1:2", "--nnodes", "2"}),
              HasSubstr("--nnodes 2 fixes the number of hosts"));
  EXPECT_THAT(reason({"-hosts", "a,b", "-np", "1:2", "-rankmap", "0,1"}), HasSubstr("-rankmap"));
  EXPECT_THAT(reason({"-hosts", "a", "--nnodes", "2:3"}), HasSubstr("there is only 1 host"));
  EXPECT_THAT(reason({"-hosts", "a,b", "--nnodes", "2:3", "--spares", "1"}),
              HasSubstr("there is only 1 host beside the spare ones"));
}

TEST_F(JobRequestTest, NamesAMissingHostfile) {
  try {
    describe({"-f", folder_ + "/none", "prog"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr(folder_ + "/none"));
  }
}

TEST_F(JobRequestTest, GivesContainersOnlyTheVariablesThatAreNamed) {
  const JobSettings plain = describe({"--container", "image", "-x", "HOME", "prog"});
  EXPECT_THAT(plain.request.environment.inherited, IsEmpty());
  EXPECT_THAT(plain.request.programs[0].set, ElementsAre(Pair("HOME", "/root")));
  const JobSettings all = describe({"--container", "image", "-genvall", "prog"});
  EXPECT_THAT(all.request.environment.inherited,
              ElementsAre(Pair("PATH", "/usr/bin"), Pair("HOME", "/root")));
}

TEST_F(JobRequestTest, RefusesWhatOnlyHostsHaveForContainers) {
  EXPECT_THROW(describe({"--container", "image", "--pmi", "pmix", "prog"}), Error);
  EXPECT_THROW(describe({"--container", "image", "--preload", "jemalloc", "prog"}), Error);
}

}  // namespace
}  // namespace dtl::job_request_test
