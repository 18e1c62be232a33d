#include "launcher/options/foreign_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/error.h"
#include "launcher/options/command_line.h"
#include "launcher/options/environment_options.h"
#include "tests/support/folders.h"

#include "plan/schedulers/grid_engine.h"
#include "plan/schedulers/lsf.h"
#include "plan/schedulers/pbs.h"
#include "plan/schedulers/slurm.h"

namespace dtl::foreign_options_test {
namespace {

using Words = std::vector<std::string>;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string refusal(const Words& words) {
  try {
    parse_command_line(words);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "accepted";
}

// A value that is valid for our equivalent of `option`.
std::string value_for(const ForeignOption& option) {
  return option.text.find("iface") != std::string_view::npos ? "eth0" : "2";
}

TEST(Foreign, EverySpellingIsUnderstoodOrRefusedWithAReason) {
  for (const ForeignOption& option : foreign_options()) {
    for (const std::string_view name : option.names) {
      Words words = {"--" + std::string(name)};
      if (option.values > 0) words.push_back(value_for(option));
      words.push_back("prog");
      if (option.kind == ForeignKind::kRefused) {
        EXPECT_THAT(refusal(words), HasSubstr(std::string(option.text))) << name;
        EXPECT_THAT(refusal(words), HasSubstr("Try: " + std::string(option.hint))) << name;
        continue;
      }
      const CommandLine line = parse_command_line(words);
      EXPECT_EQ(line.programs[0].command.back(), "prog") << name;
      EXPECT_EQ(line.notes.size(), option.kind == ForeignKind::kIgnored ? 1u : 0u) << name;
    }
  }
}

TEST(Foreign, EverySpellingIsInTheManPage) {
  std::ifstream file(test::source_path("man/dtlaunch.1"));
  const std::string page(std::istreambuf_iterator<char>(file), {});
  for (const ForeignOption& option : foreign_options()) {
    for (const std::string_view name : option.names) {
      EXPECT_THAT(page, HasSubstr("Li -" + std::string(name))) << name;
    }
  }
  for (const ForeignVariable& variable : foreign_variables()) {
    EXPECT_THAT(page, HasSubstr("Ev " + std::string(variable.name)));
  }
}

TEST(Foreign, OpenMpisLinesMeanTheSame) {
  const CommandLine line = parse_command_line(
      {"-H", "a:2,b:2", "-c", "4", "--npernode", "2", "--mca", "btl_tcp_if_include", "eth1",
       "--mca", "btl", "tcp,self", "--allow-run-as-root", "-wd", "/tmp", "prog"});
  EXPECT_EQ(line.hosts, "a:2,b:2");
  EXPECT_EQ(line.placement.ranks, 4);
  EXPECT_EQ(line.placement.ranks_per_node, 2);
  EXPECT_EQ(line.network.interface, "eth1");
  EXPECT_EQ(line.programs[0].working_directory, "/tmp");
  EXPECT_EQ(line.notes.size(), 1u);
  const Variables expected = {{"OMPI_MCA_btl", "tcp,self"}};
  EXPECT_EQ(line.environment.set, expected);
  EXPECT_TRUE(
      parse_command_line({"--mca", "rmaps_base_oversubscribe", "1", "a"}).placement.oversubscribe);
  EXPECT_FALSE(
      parse_command_line({"--mca", "rmaps_base_oversubscribe", "0", "a"}).placement.oversubscribe);
  EXPECT_THAT(refusal({"--mca", "no_such_thing", "1", "a"}), HasSubstr("no_such_thing"));
}

TEST(Foreign, TorchrunsWordsAreKnownAsSuch) {
  EXPECT_TRUE(parse_command_line({"--nproc_per_node", "2", "s.py"}).as_torchrun);
  EXPECT_TRUE(parse_command_line({"--standalone", "-np", "2", "s.py"}).as_torchrun);
  EXPECT_FALSE(parse_command_line({"-np", "2", "s.py"}).as_torchrun);
  EXPECT_FALSE(parse_command_line({"--nproc-per-node=2", "--no-python", "s.py"}).as_torchrun);
}

TEST(Foreign, WordsMayBeRepeatedWhereTheySayNoMore) {
  EXPECT_EQ(parse_command_line({"-host", "a:2", "-host", "b", "p"}).hosts, "a:2,b");
  EXPECT_TRUE(parse_command_line({"-prepend-rank", "-l", "p"}).shown.prepend_rank);
  EXPECT_EQ(parse_command_line({"-print-rank-map", "p"}).verbosity, 1);
  // Open MPI shows the map and runs the job.
  EXPECT_EQ(parse_command_line({"--display-map", "p"}).verbosity, 1);
  EXPECT_FALSE(parse_command_line({"--display-map", "p"}).dry_run);
  EXPECT_TRUE(parse_command_line({"--do-not-launch", "p"}).dry_run);
  EXPECT_EQ(parse_command_line({"--use-env", "p"}).notes.size(), 1U);
  EXPECT_THAT(refusal({"-gpath", "/x", "p"}), HasSubstr("-genv PATH"));
}

TEST(Foreign, TorchrunsLinesMeanTheSame) {
  const CommandLine line =
      parse_command_line({"--nnodes=2", "--nproc_per_node", "4", "--master_port=29501",
                          "--max_restarts", "3", "-m", "pkg.train", "--lr", "1"});
  EXPECT_EQ(line.placement.nodes, 2);
  EXPECT_EQ(line.placement.ranks_per_node, 4);
  EXPECT_THAT(line.environment.set, ElementsAre(Pair("MASTER_PORT", "29501")));
  EXPECT_THAT(line.programs[0].command, ElementsAre("python3", "-m", "pkg.train", "--lr", "1"));
  EXPECT_EQ(line.restarts.max, 3);
  EXPECT_EQ(parse_command_line({"--nnodes", "2:2", "--nproc-per-node=auto", "a"}).placement.nodes,
            2);
  EXPECT_FALSE(parse_command_line({"--nproc-per-node=CPU", "a"}).placement.ranks_per_node);
  EXPECT_THAT(refusal({"--nproc-per-node", "gpu", "a"}), HasSubstr("runs jobs on CPUs"));
  const CommandLine some = parse_command_line({"--nnodes", "1:4", "a"});
  ASSERT_TRUE(some.placement.node_range);
  EXPECT_EQ(some.placement.node_range->least, 1);
  EXPECT_EQ(some.placement.node_range->most, 4);
  EXPECT_FALSE(some.placement.nodes);
  EXPECT_THAT(refusal({"--nnodes", "4:1", "a"}), HasSubstr("begins above its end"));
  EXPECT_THAT(refusal({"-np", "1:x", "a"}), HasSubstr("not MIN:MAX"));
  EXPECT_THAT(refusal({"-np", "1:2", "a", ":", "b"}), HasSubstr("a fixed number of ranks"));
  EXPECT_THAT(refusal({"--discover", "a", "-f", "b", "c"}),
              HasSubstr("--discover a: -hostfile names hosts as well"));
  EXPECT_EQ(parse_command_line({"--node_rank", "0", "a"}).programs[0].command, Words{"a"});
  EXPECT_THAT(refusal({"--node_rank=1", "a"}), HasSubstr("the ranks of all hosts"));
}

TEST(Foreign, TorchrunsMeetingPointIsLeftOut) {
  const auto with = [](const std::string& nodes, const std::string& host) {
    return Words{"--nproc_per_node",
                 "4",
                 "--nnodes",
                 nodes,
                 "--rdzv-id",
                 "1",
                 "--rdzv-backend",
                 "c10d",
                 "--rdzv-endpoint",
                 host + ":29400",
                 "--rdzv_conf",
                 "timeout=9",
                 "s.py"};
  };
  const CommandLine line = parse_command_line(with("1", "localhost"));
  EXPECT_TRUE(line.as_torchrun);
  EXPECT_EQ(line.notes.size(), 4U);
  EXPECT_EQ(line.placement.ranks_per_node, 4);
  EXPECT_EQ(parse_command_line(with("2", "n1")).placement.nodes, 2);
  // Each node would start its own job.
  EXPECT_THAT(refusal(with("1:4", "n1")), HasSubstr("-f FILE with the nodes"));
  Words named = with("1:4", "n1");
  named.insert(named.begin(), {"-hosts", "n1,n2"});
  EXPECT_EQ(parse_command_line(named).placement.node_range->most, 4);
}

TEST(Foreign, OptionsWithoutTheirValueTakeNoOption) {
  const CommandLine line = parse_command_line({"-tune", "-n", "2", "a"});
  EXPECT_EQ(line.placement.ranks, 2);
  EXPECT_EQ(line.programs[0].command, Words{"a"});
}

TEST(Foreign, ParametersOfOpenMpiMayBeGlobalOrOfAPart) {
  for (const char* option : {"--mca", "--gmca", "--prtemca", "-MCA"}) {
    EXPECT_EQ(parse_command_line({option, "btl_tcp_if_include", "eth1", "a"}).network.interface,
              "eth1");
  }
  EXPECT_THAT(refusal({"--mca", "plm_rsh_args", "-p 22", "a"}), HasSubstr("~/.ssh/config"));
  EXPECT_THAT(refusal({"--mca", "mca_base_env_list", "A;B", "a"}), HasSubstr("-x A -x B=1"));
}

TEST(Cli, ReadsHowAgentsStart) {
  EXPECT_TRUE(parse_command_line({"-launcher", "ssh", "p"}).starting.agent_start->is_ssh());
  EXPECT_TRUE(parse_command_line({"-bootstrap=fork", "p"}).starting.agent_start->is_fork());
  EXPECT_FALSE(parse_command_line({"p"}).starting.agent_start);
  EXPECT_EQ(parse_command_line({"-launcher", "lsf", "p"}).starting.agent_start->starter,
            kLsf.starter);
  EXPECT_EQ(parse_command_line({"-launcher", "qrsh", "p"}).starting.agent_start->starter,
            kGridEngine.starter);
  EXPECT_THAT(refusal({"-launcher", "slurm", "p"}),
              HasSubstr("srun is the default in jobs of Slurm. Try: -launcher srun"));
  EXPECT_EQ(parse_command_line({"-launcher", "srun", "p"}).starting.agent_start->starter,
            kSlurm.starter);
  EXPECT_EQ(parse_command_line({"-launcher", "pbs", "p"}).starting.agent_start->starter,
            kPbs.starter);
  EXPECT_EQ(parse_command_line({"-launcher", "tmrsh", "p"}).starting.agent_start->starter,
            kPbs.starter);
  EXPECT_EQ(parse_command_line({"-launcher", "tmrsh", "p"}).starting.agent_start->program, 0u);
  EXPECT_EQ(parse_command_line({"-bootstrap", "pbs_tmrsh", "p"}).starting.agent_start->starter,
            kPbs.starter);
  EXPECT_EQ(parse_command_line({"-bootstrap", "pbs_tmrsh", "p"}).starting.agent_start->program, 0u);
  EXPECT_EQ(parse_command_line({"-bootstrap", "pbsdsh", "p"}).starting.agent_start->starter,
            kPbs.starter);
  EXPECT_EQ(parse_command_line({"-bootstrap", "pbsdsh", "p"}).starting.agent_start->program, 1u);
  EXPECT_THAT(refusal({"-launcher", "rsh", "p"}),
              HasSubstr("not a way to start agents (ssh, fork, "));
  EXPECT_EQ(parse_command_line({"-launcher-exec", "/usr/bin/ssh", "p"}).programs[0].command,
            Words{"p"});
}

TEST(Cli, ReadsARangeOfPorts) {
  for (const char* text : {"20000:20099", "20000-20099"}) {
    const auto ports = parse_command_line({"--port-range", text, "p"}).network.ports;
    EXPECT_EQ(ports.low, 20000);
    EXPECT_EQ(ports.high, 20099);
  }
  for (const char* text : {"2", "5:5", "0:9", "1:65536", ":", "a:b", "1:2:3"}) {
    EXPECT_THAT(refusal({"--port-range", text, "p"}), HasSubstr("not a range of TCP ports"))
        << text;
  }
}

std::string refusal_of(const Variables& environment) {
  try {
    parse_command_line({"p"}, environment);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST(Foreign, BadValuesOfVariablesNameTheVariable) {
  EXPECT_THAT(refusal_of({{"MPIEXEC_TIMEOUT", "soon"}}),
              AllOf(HasSubstr("MPIEXEC_TIMEOUT=soon: "), HasSubstr("not a number of seconds")));
  EXPECT_THAT(refusal_of({{"MPIEXEC_PORT_RANGE", "9"}}), HasSubstr("MPIEXEC_PORT_RANGE=9: "));
}

// A site's settings for every job must not prevent a run here.
TEST(Foreign, VariablesOfTheSiteAreLeftOutWithAWarning) {
  const Variables environment = {{"HYDRA_LAUNCHER", "slurm"},
                                 {"HYDRA_LAUNCHER_EXEC", "/x/kubexec.sh"},
                                 {"I_MPI_HYDRA_BOOTSTRAP_EXEC", "/usr/bin/ssh"},
                                 {"OMPI_MCA_plm_rsh_agent", "/x/agent"},
                                 {"OMPI_MCA_btl", "tcp,self"},
                                 {"OMPI_MCA_rmaps_base_mapping_policy", "seq"},
                                 {"OMPI_MCA_unheard_of", "1"},
                                 {"HYDRA_DEBUG", "0"}};
  const CommandLine line = parse_command_line({"p"}, environment);
  EXPECT_FALSE(line.starting.agent_start);
  EXPECT_EQ(line.verbosity, 0);
  EXPECT_THAT(line.warnings,
              testing::UnorderedElementsAre(
                  HasSubstr("HYDRA_LAUNCHER=slurm: left out: a scheduler, not a way"),
                  HasSubstr("HYDRA_LAUNCHER_EXEC=/x/kubexec.sh: left out"),
                  HasSubstr("OMPI_MCA_rmaps_base_mapping_policy=seq: left out"),
                  HasSubstr("OMPI_MCA_plm_rsh_agent=/x/agent: left out")));
  // Open MPI's own business: its ranks inherit it.
  EXPECT_THAT(line.notes, testing::Not(testing::Contains(HasSubstr("OMPI_MCA_unheard_of"))));
  EXPECT_THAT(parse_command_line({"-launcher", "ssh", "p"}, {environment[0]}).warnings,
              testing::IsEmpty());
}

TEST(Foreign, AStarterOfPbsIsForJobsOfPbs) {
  const CommandLine outside = parse_command_line({"p"}, {{"I_MPI_HYDRA_BOOTSTRAP", "pbsdsh"}});
  EXPECT_FALSE(outside.starting.agent_start);
  EXPECT_THAT(outside.warnings,
              testing::ElementsAre(
                  HasSubstr("I_MPI_HYDRA_BOOTSTRAP=pbsdsh: left out: this is not a job of PBS")));
  EXPECT_EQ(parse_command_line({"p"}, {{"PBS_NODEFILE", "/n"}, {"HYDRA_LAUNCHER", "pbs"}})
                .starting.agent_start->starter,
            kPbs.starter);
}

TEST(Foreign, VariablesOfOpenMpiMeanWhatItsOptionsDo) {
  const CommandLine line = parse_command_line(
      {"p"}, {{"OMPI_MCA_oob_tcp_dynamic_ipv4_ports", "4000-4009"}, {"HYDRA_DEBUG", "1"}});
  EXPECT_EQ(line.network.ports.high, 4009);
  EXPECT_EQ(line.verbosity, 1);
}

TEST(Foreign, VariablesStandForOptionsThatTheLineDoesNotHave) {
  const Variables environment = {{"HYDRA_HOST_FILE", "h"},
                                 {"I_MPI_PERHOST", "2"},
                                 {"HYDRA_IFACE", "eth0"},
                                 {"MPIEXEC_TIMEOUT", "5"}};
  const CommandLine line = parse_command_line({"-iface", "eth1", "a"}, environment);
  EXPECT_EQ(line.hostfile, "h");
  EXPECT_EQ(line.placement.ranks_per_node, 2);
  EXPECT_EQ(line.network.interface, "eth1");
  EXPECT_EQ(line.ending.timeout, std::chrono::milliseconds(5000));
  EXPECT_EQ(parse_command_line({"-hosts", "x", "a"}, environment).hostfile, "");
  EXPECT_EQ(parse_command_line({"a"}, {{"I_MPI_PERHOST", "allcores"}}).placement.ranks_per_node,
            std::nullopt);
}

}  // namespace
}  // namespace dtl::foreign_options_test
