#include "launcher/request/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "tests/support/folders.h"

namespace dtl::job_file_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string error_of(const std::string& text) {
  try {
    parse_job_file(text, "job.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  return "no error";
}

TEST(JobFile, DescribesAWholeJob) {
  const JobFile job = parse_job_file(R"toml(
program = "python3"
arguments = ["train.py", "--lr", "1e-4"]
ranks = 4
ranks_per_node = 2
oversubscribe = true
working_directory = "/srv/work"
timeout = 90
report = "out/report.json"
label = true

[environment]
HF_HOME = "/srv/hf"
DEBUG = 1

[hosts]
file = "hosts"

[pinning]
enabled = false
threads = 3
)toml",
                                     "jobs/job.toml");
  EXPECT_THAT(job.command, ElementsAre("python3", "train.py", "--lr", "1e-4"));
  EXPECT_THAT(job.environment, ElementsAre(Pair("HF_HOME", "/srv/hf"), Pair("DEBUG", "1")));
  EXPECT_EQ(job.said.line.hostfile, "jobs/hosts");
  EXPECT_EQ(job.said.program.ranks, 4);
  EXPECT_EQ(job.said.line.placement.ranks_per_node, 2);
  EXPECT_TRUE(job.said.line.placement.oversubscribe);
  EXPECT_EQ(job.said.line.working_directory, "/srv/work");
  EXPECT_EQ(job.said.line.ending.timeout, std::chrono::seconds(90));
  EXPECT_EQ(job.said.line.reporting.report, "out/report.json");
  EXPECT_TRUE(job.said.line.shown.prepend_rank);
  EXPECT_FALSE(job.pin);
  EXPECT_EQ(job.threads, 3);
}

TEST(JobFile, DescribesSeveralPrograms) {
  const JobFile job = parse_job_file(R"toml(
nodes = 2
rank_map = "0,(1,2,2)"
skip_launch_node = true
interface = "eth1"
inherit = "list:HOME,LANG"
compat = ["ompi", "horovod"]
grace = 3
launcher = "fork"
port_range = "4000:4009"
preload = ["jemalloc", "iomp"]

[pinning]
bind_to = "core"
map_by = "socket"
memory = "bind"
comm_cores = 0

[[programs]]
program = "python3"
arguments = ["serve.py"]
working_directory = "w"

[[programs]]
program = "dttrain"
ranks = 4
inherit = "none"
environment = { LR = 0.5 }
)toml",
                                     "jobs/job.toml");
  EXPECT_EQ(job.said.line.placement.nodes, 2);
  EXPECT_THAT(job.said.line.placement.rank_map, ElementsAre(0, 1, 1, 2, 2));
  EXPECT_TRUE(job.said.line.placement.skip_launch_host);
  EXPECT_EQ(job.said.line.network.interface, "eth1");
  EXPECT_THAT(job.inheritance->names, ElementsAre("HOME", "LANG"));
  EXPECT_THAT(job.said.line.environment.compat, ElementsAre(Dialect::kOpenMpi, Dialect::kHorovod));
  EXPECT_EQ(job.said.line.ending.grace, std::chrono::seconds(3));
  EXPECT_TRUE(job.said.line.starting.agent_start->is_fork());
  EXPECT_EQ(job.said.line.network.ports.low, 4000);
  EXPECT_THAT(job.said.line.environment.preload, ElementsAre(Preload::kJemalloc, Preload::kIomp));
  EXPECT_EQ(job.said.line.pinning.bind_to, "core");
  EXPECT_EQ(job.said.line.pinning.map_by, "socket");
  EXPECT_EQ(job.said.line.pinning.memory_bind, "bind");
  EXPECT_EQ(job.said.line.pinning.comm_cores, 0);
  ASSERT_EQ(job.programs.size(), 2u);
  EXPECT_THAT(job.programs[0].command, ElementsAre("python3", "serve.py"));
  EXPECT_EQ(job.programs[0].working_directory, "jobs/w");
  EXPECT_FALSE(job.programs[0].ranks || job.programs[0].inheritance);
  EXPECT_EQ(job.programs[1].ranks, 4);
  EXPECT_TRUE(job.programs[1].inheritance);
  EXPECT_THAT(job.programs[1].set, ElementsAre(Pair("LR", "0.5")));
}

TEST(JobFile, RefusesProgramsThatSayNothingOrTooMuch) {
  EXPECT_EQ(error_of("[[programs]]\nranks = 2"),
            "job.toml:1: programs.0: it names no program. Try: program = \"python3\"");
  EXPECT_EQ(error_of("program = \"a\"\n[[programs]]\nprogram = \"b\""),
            "job.toml:2: programs: there are programs in [[programs]] and outside. "
            "Try: all of them in [[programs]]");
  EXPECT_EQ(error_of("ranks = 2\n[[programs]]\nprogram = \"b\""),
            "job.toml:1: ranks = 2: each of [[programs]] has its own ranks. "
            "Try: ranks = N in each of [[programs]]");
  EXPECT_EQ(error_of("[[programs]]\nprogram = \"b\"\nrank = 2"),
            "job.toml:3: unknown key 'programs.0.rank'. Try: programs.0.ranks");
  EXPECT_EQ(error_of("[[programs]]\nprogram = \"b\"\ntags = [\"a\"]"),
            "job.toml:3: unknown key 'programs.0.tags'. Try: tags, above the first [table]");
  EXPECT_EQ(error_of("[hosts]\nlist = [\"a\"]\nranks = 2"),
            "job.toml:3: unknown key 'hosts.ranks'. Try: ranks, above the first [table]");
  EXPECT_EQ(error_of("tags = [\"a b\"]"),
            "job.toml:1: tags: 'a b' is not a tag (letters, digits and ._:/@+=-; a letter or "
            "digit first). Try: tags = [\"nightly\", \"run=7\"]");
  EXPECT_THAT(error_of("notice_signal = \"KILL\""), EndsWith("Try: notice_signal = \"USR1\""));
  EXPECT_EQ(error_of("[[programs]]\nprogram = \"b\"\nranks = 0"),
            "job.toml:3: programs.0.ranks = 0: too small (1 to 65535). Try: ranks = 1");
}

TEST(JobFile, TellsErrorsOfTheCommandLinesWordsWithTheirPlace) {
  EXPECT_EQ(error_of("\nrank_map = \"0,x\""),
            "job.toml:2: rank_map = \"0,x\": 'x' is not understood. "
            "Try: rank_map = \"0,0,1\"");
  EXPECT_EQ(error_of("compat = [\"horovd\"]"),
            "job.toml:1: compat: unknown launcher 'horovd'. Try: compat = [\"horovod\"]");
  EXPECT_EQ(error_of("port_range = \"9\""),
            "job.toml:1: port_range = \"9\": not a range of TCP ports (1 to 65535). "
            "Try: port_range = \"20000:20099\"");
  EXPECT_EQ(error_of("inherit = \"some\""),
            "job.toml:1: inherit = \"some\": not all, none or list:A,B. "
            "Try: inherit = \"list:A,B\"");
}

TEST(JobFile, SaysNothingUnasked) {
  const JobFile job = parse_job_file("pinning.enabled = true", "dtlaunch.toml");
  EXPECT_TRUE(job.command.empty());
  EXPECT_TRUE(job.pin);
  EXPECT_FALSE(!job.options.empty());
}

TEST(JobFile, IsRefusedWhenEmptyAndWithTheOldNameOfAKey) {
  EXPECT_EQ(error_of("# nothing\n"), "job.toml:1: the file is empty. Try: dtlaunch help job-file");
  EXPECT_EQ(error_of("engine = \"slurm\""),
            "job.toml:1: engine = \"slurm\": the key is called scheduler. "
            "Try: scheduler = \"slurm\"");
  EXPECT_THAT(error_of("engine = \"tcp\""),
              AllOf(HasSubstr("the key is called scheduler, and tcp is not a scheduler"),
                    EndsWith("Try: dtlaunch help job-file")));
}

TEST(JobFile, TurnsTrainerSettingsIntoFlagsOfDttrain) {
  const std::string trainer =
      "[trainer]\nmodel_name_or_path = \"tiny\"\ndo_train = true\nfp16 = false\n"
      "learning_rate = 5e-5\nmax_steps = 100\n";
  const auto flags = ElementsAre("dttrain", "--model_name_or_path", "tiny", "--do_train",
                                 "--learning_rate", "5e-05", "--max_steps", "100");
  EXPECT_THAT(parse_job_file(trainer, "f").command, flags);
  EXPECT_THAT(parse_job_file("program = \"dttrain\"\n" + trainer, "f").command, flags);
  EXPECT_THAT(parse_job_file("arguments = [\"--demo\"]\n[trainer]\nseed = 1", "f").command,
              ElementsAre("dttrain", "--demo", "--seed", "1"));
}

TEST(JobFile, RefusesTrainerSettingsForAnotherProgram) {
  EXPECT_EQ(error_of("program = \"python3\"\n[trainer]\nseed = 1"),
            "job.toml:2: trainer: [trainer] is for dttrain, and program is 'python3'. "
            "Try: arguments = [...]");
}

TEST(JobFile, TakesAListOfHosts) {
  const JobFile job = parse_job_file("[hosts]\nlist = [\"a:2\", \"n[01-02]\"]\n", "job.toml");
  ASSERT_EQ(job.hosts.size(), 3u);
  EXPECT_EQ(job.hosts[0].name, "a");
  EXPECT_EQ(job.hosts[0].slots, 2);
  EXPECT_EQ(job.hosts[2].name, "n02");
  EXPECT_EQ(job.hosts[2].where, "job.toml:2");
}

TEST(JobFile, RefusesBadHosts) {
  EXPECT_EQ(error_of("hosts.list = [\"a\", \"b:0\"]"),
            "job.toml:1: hosts.list: '0' is too small (1 to 65535 slots). "
            "Try: host:2");
  EXPECT_EQ(error_of("hosts.list = []"),
            "job.toml:1: hosts.list: the list names no host. "
            "Try: hosts.list = [\"node01\", \"node02:2\"]");
  EXPECT_EQ(error_of("hosts.list = [\"\"]"),
            "job.toml:1: hosts.list: a host name is missing. "
            "Try: hosts.list = [\"node01\", \"node02:2\"]");
  EXPECT_EQ(error_of("[hosts]\nfile = \"h\"\nlist = [\"a\"]"),
            "job.toml:3: hosts.list: hosts.file names hosts as well. "
            "Try: hosts.list or hosts.file, not both");
}

TEST(JobFile, SeesRelativePathsFromItsOwnFolder) {
  const std::string text = "working_directory = \"w\"\nhosts.file = \"../h\"\n";
  const JobFile job = parse_job_file(text, "/srv/jobs/job.toml");
  EXPECT_EQ(job.said.line.hostfile, "/srv/jobs/../h");
  EXPECT_EQ(job.said.line.working_directory, "/srv/jobs/w");
  EXPECT_EQ(parse_job_file(text, "dtlaunch.toml").said.line.hostfile, "../h");
  EXPECT_EQ(parse_job_file("hosts.file = \"/etc/h\"", "a/b.toml").said.line.hostfile, "/etc/h");
}

TEST(JobFile, NamesUnknownKeysWithLineAndTheNearestOne) {
  EXPECT_EQ(error_of("ranks = 2\n\n[pinnning]\nenabled = true\n"),
            "job.toml:4: unknown key 'pinnning.enabled'. Try: pinning.enabled");
  EXPECT_EQ(error_of("rank_per_node = 2"),
            "job.toml:1: unknown key 'rank_per_node'. Try: ranks_per_node");
  EXPECT_EQ(error_of("threads = 2"), "job.toml:1: unknown key 'threads'. Try: pinning.threads");
}

TEST(JobFile, RefusesNumbersOutOfRange) {
  EXPECT_EQ(error_of("\nranks = 0"),
            "job.toml:2: ranks = 0: too small (1 to 65535). Try: dtlaunch --help");
  EXPECT_EQ(error_of("timeout = -5"),
            "job.toml:1: timeout = -5: too small (0.001 to 31622400 seconds). "
            "Try: dtlaunch help ending");
  EXPECT_EQ(error_of("ranks = \"4\""),
            "job.toml:1: ranks = \"4\": not a whole number. Try: ranks = 4");
  EXPECT_EQ(error_of("ranks = \"4:2\""),
            "job.toml:1: ranks = \"4:2\": the range begins above its end. "
            "Try: ranks = \"2:4\"");
  EXPECT_EQ(error_of("nodes = \"1:2\""), "no error");
  EXPECT_THAT(error_of("[hosts]\ndiscover = \"list\"\nlist = [\"a\"]"),
              testing::HasSubstr("hosts.discover = \"list\": the file names hosts as well"));
}

TEST(JobFile, EveryKeyOfTheTableIsInTheManPage) {
  std::ifstream file(test::source_path("man/dtlaunch.toml.5"));
  const std::string page(std::istreambuf_iterator<char>(file), {});
  int keys = 0;
  for (const Option& option : option_table().options()) {
    if (option.traits.key.empty()) continue;
    ++keys;
    const std::string key(option.traits.key.substr(option.traits.key.rfind('.') + 1));
    EXPECT_THAT(page, ::testing::ContainsRegex("\n[.]It Cm ([a-z_]+ , )*" + key + " ")) << key;
  }
  EXPECT_GT(keys, 15);
}

TEST(JobFile, RefusesNamesThatAreNone) {
  EXPECT_EQ(error_of("[environment]\n\"A B\" = 1"),
            "job.toml:1: environment: 'A B' is not the name of a variable. "
            "Try: NAME = \"VALUE\"");
  EXPECT_EQ(error_of("[trainer]\n\"a b\" = 1"),
            "job.toml:2:9: 'a b' is not the name of a setting. Try: max_steps = 100");
  EXPECT_EQ(error_of("program = \"\""),
            "job.toml:1: program = \"\": the value is empty. Try: dtlaunch help job-file");
}

}  // namespace
}  // namespace dtl::job_file_test
