#include "launcher/foreign_options.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "launcher/options.h"

namespace dtl {
namespace {

using enum ForeignKind;

constexpr std::string_view kNoMpi = "it tells an MPI library something, and there is none here";
constexpr std::string_view kAlways = "dtlaunch always does so";
constexpr std::string_view kPythonDebugger = "-n 1 gdb --args PROGRAM";

std::string plain_name(std::string_view spelled) {
  std::string name = to_lower(bare_name(spelled));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace

std::span<const ForeignOption> foreign_options() {
  static const std::vector<ForeignOption> kTable = {
      // where to run
      {{"host", "hostlist", "machines", "hosts-group"}, 1, kSame, "-hosts=%", ""},
      {{"npernode", "nproc-per-node", "slots"}, 1, kSame, "-ppn=%", ""},
      {{"pernode"}, 0, kSame, "-ppn=1", ""},
      {{"num-nodes"}, 1, kSame, "--nnodes=%", ""},
      {{"nooversubscribe", "no-oversubscribe"}, 0, kIgnored, kAlways, ""},
      {{"bynode"}, 0, kSame, "-rr", ""},
      {{"byslot", "byboard"}, 0, kIgnored, "ranks fill one host after the other", ""},
      {{"rankfile", "rf"}, 1, kRefused, "dtlaunch reads no rank files", "-rankmap 0,0,1"},
      {{"include", "exclude"},
       1,
       kRefused,
       "dtlaunch takes whole hosts",
       "-hosts a,b, or a line ^HOST in the hostfile"},
      {{"rmk"}, 1, kRefused, "dtlaunch takes its hosts from a hostfile", "-f FILE"},
      {{"standalone", "localonly", "local-only"},
       0,
       kIgnored,
       "without hosts a job runs on this machine",
       ""},
      {{"node-rank"}, 1, kRefused, "one dtlaunch starts the ranks of all hosts", "-f FILE"},
      {{"rdzv-backend", "rdzv-endpoint", "rdzv-conf"},
       1,
       kRefused,
       "dtlaunch finds the meeting point itself and tells the ranks",
       "leave it out"},
      {{"rdzv-id", "role"}, 1, kIgnored, "a job has an id of its own", ""},
      {{"master-addr"}, 1, kSame, "-genv=MASTER_ADDR=%", ""},
      {{"master-port"}, 1, kSame, "-genv=MASTER_PORT=%", ""},
      {{"local-addr"},
       1,
       kRefused,
       "dtlaunch proves which addresses reach each other",
       "--iface NAME or CIDR"},
      {{"max-restarts"},
       1,
       kRefused,
       "dtlaunch does not start failed ranks again",
       "leave it out; --max-restarts 0 is the default",
       "0"},
      {{"monitor-interval"}, 1, kIgnored, "ends are noticed at once, without an interval", ""},
      {{"start-method"}, 1, kIgnored, "every rank is a program of its own", ""},
      {{"num-gpus", "gpus-per-proc", "gpus-per-node", "gpu-subdevs-per-proc"},
       1,
       kRefused,
       "dtlaunch runs jobs on CPUs",
       "-ppn N"},
      {{"ssh-port"}, 1, kRefused, "a port belongs to a host", "port=N in the hostfile"},
      {{"i", "ssh-identity-file"},
       1,
       kRefused,
       "ssh's own settings say which key",
       "IdentityFile in ~/.ssh/config"},
      {{"allow-run-as-root"}, 0, kIgnored, "root may always run jobs", ""},
      {{"hetero-nodes", "novm"}, 0, kIgnored, "each node is asked what it is", ""},
      {{"order-nodes"}, 0, kIgnored, "ranks follow the order of the hostfile", ""},
      // how agents come to life
      {{"launcher-exec", "bootstrap-exec"},
       1,
       kRefused,
       "dtlaunch speaks ssh itself and runs no other program for it",
       "ProxyCommand in ~/.ssh/config",
       "ssh"},
      {{"bootstrap-exec-args"}, 1, kRefused, "dtlaunch speaks ssh itself", "~/.ssh/config"},
      {{"prefix"},
       1,
       kRefused,
       "dtagent is looked for beside dtlaunch's own path and on PATH",
       "--push, which brings it along"},
      {{"preload-binary", "s-preload-binary"},
       0,
       kRefused,
       "programs are not copied",
       "a shared folder"},
      {{"preload-files"}, 1, kRefused, "files are not copied", "a shared folder"},
      // what to run
      {{"wd", "cwd"}, 1, kSame, "-wdir=%", ""},
      {{"app"}, 1, kSame, "-configfile=%", ""},
      {{"path"}, 1, kRefused, "programs are looked for on PATH", "-genv PATH DIR:$PATH"},
      {{"umask"}, 1, kRefused, "ranks have the umask of the login", "sh -c 'umask 022; exec ...'"},
      {{"tmpdir"}, 1, kSame, "-genv=TMPDIR=%", ""},
      {{"no-python"}, 0, kIgnored, "a program is run as it is", ""},
      {{"module"}, 1, kSame, "-m=%", ""},
      {{"usize", "soft"}, 1, kIgnored, kNoMpi, ""},
      {{"am", "tune", "enable-x", "disable-x", "genvimpi"}, 1, kIgnored, kNoMpi, ""},
      {{"noconf", "nolocalconf"}, 0, kIgnored, "no file of settings is read unless named", ""},
      // how to pin ranks
      {{"bind-to-core", "bycore"}, 0, kSame, "-bind-to=core", ""},
      {{"bind-to-socket", "bysocket"}, 0, kSame, "-bind-to=socket", ""},
      {{"bind-to-none"}, 0, kSame, "-bind-to=none", ""},
      {{"npersocket"}, 1, kSame, "-map-by=ppr:%:socket", ""},
      {{"cpus-per-proc", "cpus-per-rank"}, 1, kSame, "-map-by=slot:PE=%", ""},
      {{"report-bindings"}, 0, kSame, "--verbose", ""},
      {{"bind-cores-to-rank"}, 0, kIgnored, kAlways, ""},
      {{"use-hwthread-cpus"},
       0,
       kRefused,
       "slots are physical cores",
       "-bind-to hwthread --oversubscribe"},
      {{"cpu-set", "cpu-list", "bind-core-list"},
       1,
       kRefused,
       "which CPUs a job may use is said by its affinity, cpuset or a list",
       "-genv I_MPI_PIN_PROCESSOR_LIST 0-7"},
      {{"rank-by", "ranker"}, 1, kRefused, "ranks are numbered in the order of hosts", "-rr"},
      {{"numa-binding"}, 1, kRefused, "that is about GPUs", "-bind-to numa"},
      {{"topolib"}, 1, kIgnored, "hwloc is always used", ""},
      // how to watch it
      {{"print-all-exitcodes"},
       0,
       kRefused,
       "the card names the first failure and folds the rest",
       "--report FILE has every exit status"},
      {{"output-from"}, 1, kSame, "--only=%", ""},
      {{"output-filename"}, 1, kSame, "--log-dir=%", ""},
      {{"s"}, 1, kSame, "--stdin=%", ""},
      {{"tee", "t"}, 1, kIgnored, "with --log-dir all output is kept and shown", ""},
      {{"redirects", "r"},
       1,
       kRefused,
       "output is kept or shown for all ranks alike",
       "--log-dir DIR --only none"},
      {{"local-ranks-filter"}, 1, kRefused, "ranks are those of the job", "--only RANKS"},
      {{"ordered-output"}, 0, kIgnored, "lines are never mixed", ""},
      {{"info"}, 0, kSame, "--version", ""},
      {{"q", "quiet"}, 0, kIgnored, "dtlaunch says nothing while all is well", ""},
      {{"display-map", "display-allocation", "display-devel-map", "do-not-launch", "donotlaunch"},
       0,
       kSame,
       "--dry-run",
       ""},
      {{"display", "rtos"}, 1, kRefused, "the plan can be shown without starting it", "--dry-run"},
      {{"report-pid", "report-uri", "output-proctable"},
       1,
       kRefused,
       "job ids take the place of pids",
       "--report FILE"},
      {{"xterm"}, 1, kRefused, "dtlaunch opens no windows", "--only RANKS"},
      {{"xml"}, 0, kRefused, "there is no XML", "--report FILE writes JSON"},
      {{"tv", "gdb", "gtool", "debug", "debugger"},
       0,
       kRefused,
       "dtlaunch starts no debuggers itself",
       kPythonDebugger},
      {{"trace", "t-trace", "check-mpi", "aps", "mps", "ilp64"},
       0,
       kRefused,
       "this is about an MPI library",
       "the tool in front of PROGRAM"},
      // how it ends
      {{"cleanup", "kill-on-bad-exit", "silent-abort", "enable-auto-cleanup"},
       0,
       kIgnored,
       kAlways,
       ""},
      {{"disable-auto-cleanup", "enable-recovery", "continuous"},
       0,
       kRefused,
       "the end of one rank by failure is the end of the job",
       "leave it out"},
      {{"ckpoint", "ckpoint-interval", "ckpoint-prefix", "ckpointlib", "restart"},
       1,
       kRefused,
       "processes are not checkpointed",
       "checkpoints of the training program"},
      {{"nameserver", "ompi-server"}, 1, kIgnored, kNoMpi, ""},
      {{"pmi-port"}, 0, kIgnored, kNoMpi, ""},
      {{"disable-hostname-propagation", "enable-hostname-propagation"}, 0, kIgnored, kNoMpi, ""},
  };
  return kTable;
}

const ForeignOption* find_foreign_option(std::string_view spelled) {
  const std::string name = plain_name(spelled);
  for (const ForeignOption& option : foreign_options()) {
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) {
      return &option;
    }
  }
  return nullptr;
}

const ForeignOption* find_mca_parameter(std::string_view key) {
  static const std::vector<ForeignOption> kTable = {
      {{"oob-tcp-dynamic-ipv4-ports"}, 1, kSame, "--port-range=%", ""},
      {{"btl-tcp-if-include", "oob-tcp-if-include"}, 1, kSame, "--iface=%", ""},
      {{"btl-tcp-if-exclude", "oob-tcp-if-exclude"}, 1, kSame, "--iface=^%", ""},
      {{"hwloc-base-binding-policy"}, 1, kSame, "-bind-to=%", ""},
      {{"rmaps-base-mapping-policy"}, 1, kSame, "-map-by=%", ""},
      {{"hwloc", "rmaps-base-cores", "rmaps-base-no"}, 1, kIgnored, kNoMpi, ""},
      {{"rmaps-base-oversubscribe"}, 1, kRefused, "the command line says it", "--oversubscribe"},
      {{"plm-rsh-agent", "plm-ssh-agent"},
       1,
       kRefused,
       "dtlaunch speaks ssh itself and runs no other program for it",
       "ProxyCommand in ~/.ssh/config",
       "ssh"},
      {{"orte-base-help-aggregate", "plm", "oob", "orte-keep-fqdn", "routed"},
       1,
       kIgnored,
       "dtlaunch starts agents in its own way",
       ""},
      {{"btl", "pml", "mtl", "coll", "osc", "op", "mpi", "opal", "topo", "io", "pmix", "ucx"},
       1,
       kIgnored,
       kNoMpi,
       ""},
  };
  const std::string name = plain_name(key);
  for (const ForeignOption& parameter : kTable) {
    for (const std::string_view prefix : parameter.names) {
      if (name == prefix || name.starts_with(std::string(prefix) + "-")) return &parameter;
    }
  }
  return nullptr;
}

std::span<const ForeignVariable> foreign_variables() {
  static constexpr ForeignVariable kTable[] = {
      {"I_MPI_HYDRA_HOST_FILE", "-hostfile=%"},
      {"HYDRA_HOST_FILE", "-hostfile=%"},
      {"I_MPI_HYDRA_HOSTS_GROUP", "-hosts=%"},
      {"I_MPI_PERHOST", "-ppn=%"},
      {"I_MPI_HYDRA_IFACE", "--iface=%"},
      {"HYDRA_IFACE", "--iface=%"},
      {"HYDRA_BINDING", "-bind-to=%"},
      {"HYDRA_MAPPING", "-map-by=%"},
      {"HYDRA_MEMBIND", "-membind=%"},
      {"OMPI_MCA_hwloc_base_binding_policy", "-bind-to=%"},
      {"OMPI_MCA_rmaps_base_mapping_policy", "-map-by=%"},
      {"MPIEXEC_TIMEOUT", "--timeout=%"},
      {"I_MPI_JOB_TIMEOUT", "--timeout=%"},
      {"MPIEXEC_PORT_RANGE", "--port-range=%"},
      {"MPICH_PORT_RANGE", "--port-range=%"},
      {"HYDRA_DEBUG", "--verbose"},
      {"I_MPI_HYDRA_DEBUG", "--verbose"},
      {"HYDRA_LAUNCHER", "-launcher=%", true},
      {"HYDRA_BOOTSTRAP", "-launcher=%", true},
      {"I_MPI_HYDRA_BOOTSTRAP", "-launcher=%", true},
      {"HYDRA_LAUNCHER_EXEC", "-launcher-exec=%", true},
      {"I_MPI_HYDRA_BOOTSTRAP_EXEC", "-launcher-exec=%", true},
      {"HYDRA_LAUNCHER_EXTRA_ARGS", "-bootstrap-exec-args=%", true},
      {"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-bootstrap-exec-args=%", true},
      {"HYDRA_RMK", "-rmk=%", true},
      {"I_MPI_HYDRA_RMK", "-rmk=%", true},
      {"HYDRA_TOPOLIB", "-topolib=%", true},
      {"I_MPI_HYDRA_TOPOLIB", "-topolib=%", true},
      {"HYDRA_HOSTNAME_PROPAGATION", "-enable-hostname-propagation", true},
      {"OMPI_MCA_btl_tcp_if_include", "--iface=%"},
      {"OMPI_MCA_btl_tcp_if_exclude", "--iface=^%"},
  };
  return kTable;
}

}  // namespace dtl
