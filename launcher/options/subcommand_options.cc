// Functions return the rows that several subcommands share, so that an option is the same
// everywhere.
#include "launcher/options/subcommand_options.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/options/foreign_words.h"
#include "launcher/options/option_values.h"
#include "launcher/options/trusted_file.h"
#include "plan/request/hostfile.h"

namespace dtl {
namespace {

using Sub = SubcommandOptions;
using Row = OptionRow<Sub>;

constexpr std::string_view kOptions = "Options";
constexpr double kMostIdleHours = 10000;
constexpr double kMostLookFor = 24.0 * 3600;              // seconds
constexpr double kLeastPeriod = 0.5, kMostPeriod = 3600;  // seconds
constexpr int kMaxPodCpus = 65536;
constexpr int kMostPodGrace = 7 * 24 * 3600;       // seconds
constexpr int kMostPodDeadline = 366 * 24 * 3600;  // seconds
constexpr int kMostPodRestarts = 1000;
constexpr int kMostForecastNodes = 10000;
constexpr double kLeastStep = 1e-6, kMostStep = 1e6;     // seconds
constexpr double kMostGradients = 1e7;                   // MB
constexpr double kLeastLink = 0.001, kMostLink = 10000;  // Gbit/s
constexpr double kLeastTrip = 0.1, kMostTrip = 1e6;      // microseconds

// The seconds of a job's --reconnect, without its key in a job file.
Target<Sub> look_for() {
  return {Takes::kValue, [](Sub& options, const std::string& text, const Option&) -> std::string {
            double value = 0;
            std::string wrong = read_real(text, 0, kMostLookFor, value);
            if (!wrong.empty()) return wrong;
            options.reconnect = std::chrono::milliseconds(std::llround(value * 1000));
            return {};
          }};
}

Row hostfile_row(std::string_view help) {
  return {
      kOptions, {"-f", "-machinefile", "-hostfile"}, "FILE", help, into::text<&Sub::hostfile>()};
}

Row hosts_row() {
  return {kOptions,
          {"-hosts"},
          "LIST",
          "the hosts themselves: node1,node2,n[01-04]",
          into::text<&Sub::host_list>()};
}

Row host_keys_row() {
  return {kOptions,
          {"--accept-new-host-keys"},
          "",
          "trust and remember hosts never seen before",
          into::flag<&Sub::accept_new_host_keys>()};
}

Row help_row() {
  return {kOptions, {"-h", "--help"}, "", "print this text", into::flag<&Sub::help>()};
}

Row label_row() {
  return {kOptions, {"-l"}, "", "put [rank] before each line", into::flag<&Sub::label>()};
}

Row reconnect_row() {
  return {kOptions,
          {"--reconnect"},
          "SECONDS",
          "if the connection is lost, keep trying the launcher's\nhost this long; default 60",
          look_for()};
}

Target<Sub> signal() {
  return {Takes::kValue, [](Sub& options, const std::string& text, const Option&) -> std::string {
            const auto number = signal_by_name(text);
            if (!number) return "not a signal (TERM, SIGUSR1, or 1 to 64)";
            options.signal = *number;
            return {};
          }};
}

Target<Sub> idle_hours() {
  return {Takes::kValue, [](Sub& options, const std::string& text, const Option&) {
            double hours = 0;
            std::string wrong = read_real(text, 0, kMostIdleHours, hours);
            // 0 hours would end the holder before the first launch.
            if (wrong.empty() && hours == 0) {
              wrong = fmt::format("too small (more than 0, up to {})", kMostIdleHours);
            }
            if (!wrong.empty()) return wrong;
            options.idle = std::chrono::seconds(std::llround(hours * 3600));
            return std::string();
          }};
}

// Adds a value to an option that may be given several times.
template <auto Member, auto Part = &Sub::kube>
Target<Sub> one_more() {
  return {Takes::kValue, [](Sub& options, const std::string& text, const Option&) {
            (options.*Part.*Member).push_back(text);
            return std::string();
          }};
}

// Sorted, each once. One node is always in the table.
Target<Sub> node_counts() {
  return {Takes::kValue, [](Sub& options, const std::string& text, const Option&) {
            std::set<int> counts;
            for (const std::string& word : split(text, ',')) {
              std::int64_t count = 0;
              std::string wrong = read_whole(word, 2, kMostForecastNodes, count);
              if (!wrong.empty()) return wrong;
              counts.insert(static_cast<int>(count));
            }
            options.forecast.nodes.assign(counts.begin(), counts.end());
            return std::string();
          }};
}

// clang-format off
std::vector<Row> doctor_rows() {
  return {
      hostfile_row("hostfile, one host per line; default: this machine"),
      hosts_row(),
      {kOptions, {"--iface"}, "NET[,NET]",
       "use only these networks, or all but these: ^docker0", into::text<&Sub::interface>()},
      host_keys_row(),
      {kOptions, {"--python"}, "PROGRAM", "Python that jobs use; default python3",
       into::text<&Sub::python>()},
      {kOptions, {"--quick"}, "", "skip the measurement of the links between hosts", into::flag<&Sub::quick>()},
      {kOptions, {"--json"}, "", "print findings and facts as JSON", into::flag<&Sub::json>()},
      {kOptions, {"--color"}, "auto|always|never", "colour errors and what to try; default auto: on a terminal",
       into::word<&Sub::color>()},
      {kOptions, {"-v", "--verbose"}, "", "also show checks that passed", into::count<&Sub::verbosity>(),
       {.repeatable = true}},
      help_row(),
  };
}

std::vector<Row> forecast_rows() {
  return {
      {kOptions, {"--from"}, "DIR", "output folder of a training with dttrain;\ngive it again to compare another training", one_more<&ForecastWords::from, &Sub::forecast>(), {.repeatable = true}},
      {kOptions, {"--step-seconds"}, "SECONDS", "instead of --from: time of a step on one node",
       into::real<&Sub::forecast, &ForecastWords::step_s>(kLeastStep, kMostStep)},
      {kOptions, {"--gradient-mb"}, "MB", "with --step-seconds: megabytes of gradients",
       into::real<&Sub::forecast, &ForecastWords::gradient_mb>(kLeastStep, kMostGradients)},
      {kOptions, {"--nodes"}, "N[,N]", "numbers of nodes; default 2,4,8, or up to the hosts given", node_counts()},
      hostfile_row("hostfile of the hosts whose links are measured"),
      hosts_row(),
      {kOptions, {"--link-gbit"}, "GBIT", "instead of hosts: rate of each link in Gbit/s",
       into::real<&Sub::forecast, &ForecastWords::link_gbits>(kLeastLink, kMostLink)},
      {kOptions, {"--link-us"}, "US", "round trip of a link in microseconds;\ndefault: measured, or 50",
       into::real<&Sub::forecast, &ForecastWords::link_us>(kLeastTrip, kMostTrip)},
      {kOptions, {"--iface"}, "NET[,NET]",
       "use only these networks, or all but these: ^docker0", into::text<&Sub::interface>()},
      host_keys_row(),
      {kOptions, {"--json"}, "", "print the forecast as JSON", into::flag<&Sub::json>()},
      help_row(),
  };
}

std::vector<Row> push_rows() {
  return {
      hostfile_row("hostfile, one host per line"),
      hosts_row(),
      {kOptions, {"--port-range"}, "LOW:HIGH", "hosts that feed others listen on these TCP ports only",
       into::parsed<parse_port_range, &Sub::ports>()},
      {kOptions, {"--remove"}, "", "remove what an earlier push copied", into::flag<&Sub::remove>()},
      host_keys_row(),
      help_row(),
  };
}

std::vector<Row> up_rows() {
  return {
      hostfile_row("hostfile; default in a Slurm job: its nodes"),
      hosts_row(),
      {kOptions, {"--idle"}, "HOURS", "end after this long without a launch; default 8", idle_hours()},
      {kOptions, {"--list"}, "", "show the connections that are open now", into::flag<&Sub::list>()},
      {kOptions, {"--json"}, "", "with --list: as JSON", into::flag<&Sub::json>()},
      host_keys_row(),
      help_row(),
  };
}

Target<Sub> pods() {
  return {Takes::kValue, [](Sub& options, const std::string& text, const Option&) {
            SizeRange range;
            std::string wrong = read_range(text, range);
            if (wrong.empty()) options.kube.nodes = range;
            return wrong;
          }};
}

std::vector<Row> kube_rows() {
  return {
      {kOptions, {"--kind"}, "pytorchjob|mpijob|trainjob|jobset|job", "the kind of object; job: a plain Kubernetes Job", into::word<&Sub::kube, &KubeWords::kind>()},
      {kOptions, {"--image"}, "IMAGE", "image of the pods", into::text<&Sub::kube, &KubeWords::image>()},
      {kOptions, {"--image-pull-policy"}, "Always|IfNotPresent|Never", "when nodes fetch the image;\n"
       "default: the cluster's policy", into::word<&Sub::kube, &KubeWords::pull_policy>()},
      {kOptions, {"--image-pull-secret"}, "NAME", "Secret with the login to the registry",
       one_more<&KubeWords::pull_secrets>(), {.repeatable = true}},
      {kOptions, {"--nodes"}, "N[:MAX]", "number of pods; with MAX: a PyTorchJob whose pods may\njoin and leave", pods()},
      {kOptions, {"-ppn"}, "N", "ranks per pod; default 1",
       into::whole<&Sub::kube, &KubeWords::ranks_per_node>(1, kMaxRanks)},
      {kOptions, {"--cpus"}, "N", "CPUs per pod",
       into::whole<&Sub::kube, &KubeWords::cpus>(1, kMaxPodCpus)},
      {kOptions, {"--memory"}, "AMOUNT", "memory per pod: 16Gi", into::text<&Sub::kube, &KubeWords::memory>()},
      {kOptions, {"--shm"}, "AMOUNT", "part of --memory for /dev/shm; default 1Gi",
       into::text<&Sub::kube, &KubeWords::shared_memory>()},
      {kOptions, {"--pvc"}, "CLAIM[:DIR]", "mount a PersistentVolumeClaim at DIR; default /data",
       one_more<&KubeWords::claims>(), {.repeatable = true}},
      {kOptions, {"--name"}, "NAME", "name of the job; default dtlaunch", into::text<&Sub::kube, &KubeWords::name>()},
      {kOptions, {"--namespace"}, "NAME", "namespace of the job; default: that of kubectl", into::text<&Sub::kube, &KubeWords::name_space>()},
      {kOptions, {"--label"}, "KEY=VALUE", "add a label to the job: kueue.x-k8s.io/queue-name=team-a",
       one_more<&KubeWords::labels>(), {.repeatable = true}},
      {kOptions, {"--node-selector"}, "KEY=VALUE", "run pods only on nodes with this label",
       one_more<&KubeWords::node_selector>(), {.repeatable = true}},
      {kOptions, {"--env"}, "NAME=VALUE", "set a variable in the pods; ranks inherit it",
       one_more<&KubeWords::environment>(), {.repeatable = true}},
      {kOptions, {"--active-deadline"}, "SECONDS", "end the job after this time",
       into::whole<&Sub::kube, &KubeWords::deadline_s>(1, kMostPodDeadline)},
      {kOptions, {"--grace"}, "SECONDS", "time between SIGTERM and SIGKILL of ranks; default 60;\nthe pod gets 15 s more",
       into::whole<&Sub::kube, &KubeWords::grace_s>(1, kMostPodGrace)},
      {kOptions, {"--restarts"}, "N", "how often the pods may restart; default 3",
       into::whole<&Sub::kube, &KubeWords::restarts>(0, kMostPodRestarts)},
      {kOptions, {"--token-secret"}, "NAME", "Secret that holds the token; default dtlaunch-token",
       into::text<&Sub::kube, &KubeWords::secret>()},
      {kOptions, {"-c", "--config"}, "FILE", "job file, as for dtlaunch itself",
       into::text<&Sub::kube, &KubeWords::job_file>()},
      {kOptions, {"--patch"}, "FILE", "apply this JSON merge patch to the manifest",
       one_more<&KubeWords::patches>(), {.repeatable = true}},
      help_row(),
  };
}

std::vector<Row> history_rows() {
  return {
      {kOptions, {"--since"}, "WHEN", "jobs that began since then: 2h, 3d, 2026-11-28,\n\"2026-11-28 14:00\"",
       into::text<&Sub::since>()},
      {kOptions, {"--failed"}, "", "jobs that failed or were lost", into::flag<&Sub::failed>()},
      {kOptions, {"-a", "--all"}, "", "all jobs; default: the newest 20", into::flag<&Sub::all>()},
      {kOptions, {"--json"}, "", "print the jobs as JSON", into::flag<&Sub::json>()},
      help_row(),
  };
}

std::vector<Row> show_rows() {
  return {
      {kOptions, {"--html"}, "FILE", "write a page about the job, with its curves, here",
       into::text<&Sub::html>()},
      {kOptions, {"--json"}, "", "print the record and the report as JSON", into::flag<&Sub::json>()},
      help_row(),
  };
}

// The rows that only one of the commands about jobs has.
std::vector<Row> own_rows(const std::string& name) {
  if (name == "ps") {
    return {{kOptions, {"-a", "--all"}, "", "also list jobs that have ended", into::flag<&Sub::all>()},
            {kOptions, {"--cores"}, "", "show which cores jobs of all users have, and free cores",
             into::flag<&Sub::cores>()},
            {kOptions, {"--json"}, "", "print what is known as JSON: dtlaunch-json(7)", into::flag<&Sub::json>()},
            {kOptions, {"-w", "--wide"}, "", "never shorten commands and lists",
             into::flag<&Sub::wide>()},
            {kOptions, {"-v", "--verbose"}, "", "also show each restart: what failed, where the job\n"
             "continued, the time lost", into::flag<&Sub::epochs>()}};
  }
  if (name == "logs") {
    return {{kOptions, {"-f", "--follow"}, "", "keep printing until the job ends", into::flag<&Sub::follow>()},
            {kOptions, {"--rank"}, "R", "show only this rank's output",
             into::whole<&Sub::rank>(0, kMaxRanks - 1)},
            label_row(), reconnect_row()};
  }
  if (name == "queue") {
    return {{kOptions, {"--json"}, "", "print the line as JSON", into::flag<&Sub::json>()},
            {kOptions, {"-w", "--wide"}, "", "never shorten lists and ids", into::flag<&Sub::wide>()}};
  }
  if (name == "attach") return {label_row(), reconnect_row()};
  if (name == "ask") {
    return {{kOptions, {"--native"}, "", "also run a debugger, which stops each rank briefly",
             into::flag<&Sub::native>()},
            {kOptions, {"--json"}, "", "print everything as JSON", into::flag<&Sub::json>()},
            {kOptions, {"-w", "--wide"}, "", "never shorten lines, even on a terminal",
             into::flag<&Sub::wide>()}};
  }
  if (name == "top") {
    return {{kOptions, {"--once"}, "", "print one page, measured for a second, and end", into::flag<&Sub::once>()},
            {kOptions, {"--period"}, "SECONDS", "from one page to the next; default 2, with --once 1",
             into::real<&Sub::period_s>(kLeastPeriod, kMostPeriod)},
            {kOptions, {"--json"}, "", "print JSON, a line each period; with --once, one object",
             into::flag<&Sub::json>()},
            {kOptions, {"-w", "--wide"}, "", "with --once: never shorten lines, even on a terminal",
             into::flag<&Sub::wide>()},
            {kOptions, {"--color"}, "auto|always|never", "colour stragglers and lost hosts; default auto: on a terminal",
             into::word<&Sub::color>()}};
  }
  if (name == "kill") {
    return {{kOptions, {"-s", "--signal"}, "SIGNAL", "send this signal; default TERM, which ends the job",
             signal()}};
  }
  return {};
}
// clang-format on

std::vector<Row> jobs_rows(const std::string& name) {
  std::vector<Row> rows = {hostfile_row("hostfile of the hosts to ask"), hosts_row()};
  // For logs, -f means follow, as in tail; its hostfile has only long names.
  if (name == "logs") rows[0].names.erase(rows[0].names.begin());
  for (Row& own : own_rows(name)) rows.push_back(std::move(own));
  rows.push_back(help_row());
  return rows;
}

std::vector<Row> rows_of(const std::string& name) {
  if (name == "doctor") return doctor_rows();
  if (name == "forecast") return forecast_rows();
  if (name == "push") return push_rows();
  if (name == "up") return up_rows();
  if (name == "down") return {help_row()};
  if (name == "kube") return kube_rows();
  if (name == "history") return history_rows();
  if (name == "show") return show_rows();
  // All others ask hosts about jobs.
  return jobs_rows(name);
}

}  // namespace

const OptionTable<SubcommandOptions>& subcommand_options(const std::string& name) {
  // Builds only the tables that are used; starting a job uses none of them.
  static std::map<std::string, OptionTable<Sub>> tables;
  const auto known = tables.find(name);
  return known != tables.end() ? known->second : tables.emplace(name, rows_of(name)).first->second;
}

SubcommandOptions parse_subcommand(const std::string& name,
                                   const std::vector<std::string>& arguments) {
  const OptionTable<Sub>& table = subcommand_options(name);
  const std::string help = subcommand_help_command(name);
  Manner manner = subcommand_manner(help);
  manner.options_first = name == "kube";  // a program with options of its own follows
  OptionWords words = read_option_words(table.options(), arguments, manner);
  SubcommandOptions options;
  table.apply(words.options, options, help);
  options.words = std::move(words.rest);
  options.typed = typed_options(words.options);
  return options;
}

std::string subcommand_help_command(const std::string& name) {
  return fmt::format("dtlaunch {} --help", name);
}

void refuse_words(const std::string& name, const SubcommandOptions& options) {
  if (options.words.empty()) return;
  throw option_error(one_shell_word(options.words[0]), fmt::format("{} takes options only", name),
                     subcommand_help_command(name));
}

std::vector<Host> hosts_of(const SubcommandOptions& options) {
  if (!options.hostfile.empty() && !options.host_list.empty()) {
    throw option_error("-hostfile", "-hosts names hosts as well",
                       fmt::format("-hosts {}", one_shell_word(options.host_list)));
  }
  if (!options.host_list.empty()) return parse_host_option(options.host_list);
  if (!options.hostfile.empty()) {
    return parse_hostfile(read_trusted_file(options.hostfile, kMaxHostfileBytes, "hostfile"),
                          options.hostfile);
  }
  // This machine's agent is asked without ssh.
  Host local;
  local.name = "localhost";
  return {local};
}

std::vector<Host> named_hosts(const SubcommandOptions& options) {
  try {
    return hosts_of(options);
  } catch (const Error& error) {
    throw as_typed(error, options.typed);
  }
}

}  // namespace dtl
