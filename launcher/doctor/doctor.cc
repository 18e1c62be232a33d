// First the hosts are examined, which takes seconds. Only if a job would start, a real one measures
// the links between them: its result would otherwise be a second, worse report of the same fault.
#include "launcher/doctor/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_matrix.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/doctor/doctor_bandwidth.h"
#include "launcher/doctor/doctor_hosts.h"
#include "launcher/doctor/doctor_text.h"
#include "launcher/doctor/scheduler_check.h"
#include "launcher/doctor/ssh_config_files.h"
#include "launcher/options/output_choice.h"
#include "launcher/options/subcommand_options.h"
#include "launcher/request/scheduler_job.h"
#include "launcher/screen/output_writer.h"
#include "launcher/screen/terminal_color.h"
#include "plan/core_owners.h"
#include "plan/request/hostfile.h"

namespace dtl {
namespace {

constexpr std::size_t kMostTableHosts = 32;  // beyond, only what is slow is shown

std::string draw_job_id() {
  return to_hex(random_bytes(8, "draw a job id"));
}

std::string variable(const Variables& environment, const std::string& name) {
  for (const auto& [key, value] : environment) {
    if (key == name) return value;
  }
  return {};
}

// Reads the user's file before the system's, because ssh uses the first value. For ignored keywords
// the order only matters in the list.
void read_ssh_config(const std::string& home, std::vector<Examination>& hosts) {
  const ReadIncluded include = ssh_config_includes(home);
  for (const std::string& path : {home + "/.ssh/config", std::string("/etc/ssh/ssh_config")}) {
    const ConfigText config = read_ssh_config_file(path);
    for (Examination& host : hosts) {
      const auto ignored = ignored_keywords(config, host.name, include);
      host.ignored.insert(host.ignored.end(), ignored.begin(), ignored.end());
    }
  }
}

// -1 marks a pair that was not measured, and a host with itself.
std::string table_of(const std::vector<Host>& hosts, const std::vector<Link>& links) {
  std::vector<std::string> names;
  for (const Host& host : hosts) names.push_back(host.name);
  std::vector<std::vector<double>> gbits(names.size(), std::vector<double>(names.size(), -1));
  for (const Link& link : links) gbits[link.from][link.to] = link.gbits;
  return link_table(names, gbits);
}

class Doctor {
 public:
  Doctor(const SubcommandOptions& options, const Surroundings& around,
         const MakeStarter& make_starter)
      : options_(options),
        around_(around),
        color_(wanted_color(options.color, around.environment)),
        // Hosts that are named come before those of the scheduler's job that this process is in.
        scheduled_(options.names_hosts() ? JobSettings() : settings_of_scheduler(around)),
        hosts_(scheduled_.request.hosts.empty() ? named_hosts(options) : scheduled_.request.hosts),
        interface_(options.interface),
        interfaces_(interface_),
        start_agent_(make_starter(scheduled_, options.accept_new_host_keys)) {}

  int run() {
    examine();
    findings_ = find_all(seen_, interfaces_);
    check_scheduler();
    if (exit_status(findings_) == 0 && hosts_.size() > 1 && !options_.quick) measure();
    print();
    // A ^C during the measurement is the user's wish to end; findings do not override it.
    return interrupted_ != 0 ? 128 + interrupted_ : exit_status(findings_);
  }

 private:
  void examine() {
    ExaminationRequest request;
    request.hosts = hosts_;
    request.interfaces = interfaces_;
    request.start_agent = start_agent_;
    request.job_id = draw_job_id();
    request.parameters = {{"PATH", variable(around_.environment, "PATH")},
                          // PATH is the launcher's, since ranks inherit it: python3 is looked for
                          // as a rank would.
                          {"python", options_.python}};
    seen_ = examine_hosts(request);
    // The launcher's own files: it is the launcher that logs in.
    read_ssh_config(variable(around_.environment, "HOME"), seen_);
  }

  // A tool on this host is asked for the settings; what the nodes say has been examined already.
  void check_scheduler() {
    const SchedulerCheck* const known = find_scheduler_check(scheduled_.scheduler);
    if (known == nullptr) return;
    SchedulerSeen scheduler;
    if (around_.ask_tool) scheduler.text = around_.ask_tool(known->question).value_or("");
    scheduler.by_step = scheduled_.step.has_value();
    scheduler.nodes = scheduled_.allocation;
    known->check(scheduler, seen_, findings_);
    sort_findings();
  }

  void sort_findings() {
    // Stable: findings of one level stay in the order in which a job would meet them.
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) { return a.level > b.level; });
  }

  void measure() {
    Request request = links_request(hosts_, around_, interface_);
    // On a host without a free core the measurement runs beside its jobs, for a few seconds.
    request.placement.share_cores =
        std::any_of(seen_.begin(), seen_.end(), [&](const Examination& host) {
          return host.facts && cores_left(request, *host.facts) == 0;
        });
    const Bandwidth bandwidth = measure_bandwidth(request, start_agent_, draw_job_id());
    interrupted_ = bandwidth.interrupted;
    links_ = bandwidth.links;
    std::vector<std::string> names;
    for (const Host& host : hosts_) names.push_back(host.name);
    auto more = judge_links(names, links_);
    if (links_.empty()) {
      more.push_back({Level::kWarning,
                      "bandwidth",
                      {},
                      "not measured: " + bandwidth.problem,
                      // A warning only: that the links could not be measured does not keep a job
                      // from starting.
                      "dtring-perf beside dtlaunch on every host, or --quick",
                      0});
    }
    findings_.insert(findings_.end(), more.begin(), more.end());
    sort_findings();
  }

  void print() const {
    if (options_.json) {
      write_all(STDOUT_FILENO, doctor_json(findings_, seen_, links_));
      return;
    }
    const bool verbose = options_.verbosity > 0;
    // The table helps to see a pattern, such as one host that is slow to all others.
    const bool uneven = std::any_of(findings_.begin(), findings_.end(), [](const Finding& each) {
      return each.check == "bandwidth" && each.level == Level::kWarning;
    });
    std::string text;
    if (!links_.empty() && (verbose || (uneven && hosts_.size() <= kMostTableHosts))) {
      text = table_of(hosts_, links_) + "\n";
    }
    text += doctor_text(findings_, hosts_.size(), verbose, terminal_columns(STDOUT_FILENO),
                        wants_color(color_, STDOUT_FILENO));
    write_all(STDOUT_FILENO, text);
  }

  const SubcommandOptions& options_;
  const Surroundings& around_;
  ColorMode color_;
  JobSettings scheduled_;  // of the job that we are in, where no hosts are named
  std::vector<Host> hosts_;
  std::string interface_;
  InterfaceFilter interfaces_;
  AgentStarter start_agent_;
  std::vector<Examination> seen_;
  std::vector<Finding> findings_;
  std::vector<Link> links_;
  int interrupted_ = 0;
};

}  // namespace

int run_doctor(const std::vector<std::string>& arguments, const Surroundings& around,
               const MakeStarter& make_starter) {
  const SubcommandOptions options = parse_subcommand("doctor", arguments);
  if (options.help) {
    write_all(STDOUT_FILENO,
              "usage: dtlaunch doctor [options]\n"
              "Checks all hosts at once, and measures the links between them. Prints what would\n"
              "stop a job or slow it down, and the fix. Exit status 0: a job would start.\n" +
                  options_text(subcommand_options("doctor").options()));
    return 0;
  }
  refuse_words("doctor", options);
  return Doctor(options, around, make_starter).run();
}

}  // namespace dtl
