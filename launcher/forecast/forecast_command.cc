// All options are checked before hosts are asked.
#include "launcher/forecast/forecast_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/doctor/doctor_bandwidth.h"
#include "launcher/forecast/forecast_view.h"
#include "launcher/forecast/step_profile.h"
#include "launcher/options/subcommand_options.h"
#include "launcher/screen/output_writer.h"

namespace dtl {
namespace {

constexpr const char* kExample =
    "dtlaunch forecast --step-seconds 1.5 --gradient-mb 440 --link-gbit 25";
constexpr double kUsualTrip_us = 50;  // twice the latency of a usual Ethernet in cost_model.h

std::string help() {
  return "usage: dtlaunch forecast --from DIR [-f FILE | --link-gbit GBIT] [options]\n"
         "       dtlaunch forecast --step-seconds S --gradient-mb MB [options]\n"
         "Forecasts the speed-up of a data-parallel training on N nodes that each do the work\n"
         "of one, what limits it, and what would change it.\n" +
         options_text(subcommand_options("forecast").options());
}

void check_options(const SubcommandOptions& options) {
  refuse_words("forecast", options);
  const ForecastWords& words = options.forecast;
  const auto refuse = [&](const char* option, const char* why, const char* hint) {
    throw as_typed(option_error(option, why, hint), options.typed);
  };
  if (!words.from.empty() && words.step_s > 0) {
    refuse("--step-seconds", "--from has measured the step", "dtlaunch forecast --help");
  }
  if (words.gradient_mb > 0 && words.step_s == 0) {
    refuse("--gradient-mb", "it needs the time of a step", kExample);
  }
  if (words.step_s > 0 && words.gradient_mb == 0) {
    refuse("--step-seconds", "it needs the size of the gradients", kExample);
  }
  if (words.from.empty() && words.step_s == 0) {
    throw option_error("--from", "no step was measured, and --step-seconds gives none", kExample);
  }
  if (options.names_hosts() && words.link_gbits > 0) {
    refuse("--link-gbit", "the links of the hosts are measured", "dtlaunch forecast --help");
  }
  if (!options.names_hosts() && words.link_gbits == 0) {
    throw option_error("--link-gbit", "no link is known, and no hosts are there to measure",
                       "--link-gbit 25");
  }
  if (!options.names_hosts() && !options.interface.empty()) {
    refuse("--iface", "no link is measured without hosts", "dtlaunch forecast --help");
  }
}

// The sums wait for the node with the slowest links. The median of a node's links leaves out single
// slow measurements, which the lower bound has.
LinkFigures figures_of(const std::vector<Link>& links, std::size_t hosts) {
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  std::vector<std::vector<double>> of_host(hosts);
  std::vector<double> rates, trips, cpu;
  for (const Link& link : links) {
    if (link.gbits <= 0) continue;
    rates.push_back(link.gbits);
    trips.push_back(std::max(link.trip_us, 0.1));
    cpu.push_back(std::max(link.cpu_ns, 0.0));
    of_host[link.from].push_back(link.gbits);
    of_host[link.to].push_back(link.gbits);
  }
  LinkFigures figures;
  if (rates.empty()) return figures;
  figures.gbits = *std::max_element(rates.begin(), rates.end());
  for (const std::vector<double>& of_one : of_host) {
    if (!of_one.empty()) figures.gbits = std::min(figures.gbits, median(of_one));
  }
  figures.low_gbits = std::min(figures.gbits, *std::min_element(rates.begin(), rates.end()));
  figures.high_gbits = std::max(figures.gbits, median(rates));
  figures.trip_us = median(trips);
  figures.cpu_ns = median(cpu);
  return figures;
}

class Forecaster {
 public:
  Forecaster(const SubcommandOptions& options, const Surroundings& around,
             const MakeLinkStarter& make_starter)
      : options_(options), around_(around), make_starter_(make_starter) {}

  int run() {
    check_options(options_);
    read_steps();
    if (options_.names_hosts()) read_hosts();
    choose_nodes();
    if (hosts_.empty()) {
      const double gbits = options_.forecast.link_gbits;
      question_.links = {gbits, gbits, gbits, kUsualTrip_us};
      question_.links_from = "given by --link-gbit";
    } else if (const int status = measure(); status != 0) {
      return status;
    }
    if (options_.forecast.link_us > 0) question_.links.trip_us = options_.forecast.link_us;
    const ForecastAnswer all = answer(question_);
    write_all(STDOUT_FILENO,
              options_.json ? forecast_json(question_, all) : forecast_text(question_, all));
    return 0;
  }

 private:
  void read_steps() {
    const ForecastWords& words = options_.forecast;
    if (words.from.empty()) {
      question_.step = step_of_ddp(words.step_s, words.gradient_mb * 1e6);
      return;
    }
    ReadProfile first = read_step_profile(words.from.front());
    question_.step = std::move(first.step);
    question_.folder = first.folder;
    for (auto folder = words.from.begin() + 1; folder != words.from.end(); ++folder) {
      question_.others.push_back({*folder, read_step_profile(*folder).step});
    }
  }

  void read_hosts() {
    hosts_ = named_hosts(options_);
    if (hosts_.size() >= 2) return;
    throw option_error(options_.hostfile.empty() ? "-hosts" : "-hostfile",
                       "one host has no link to another", "--link-gbit 25");
  }

  // 2, 4, 8, or with hosts all powers of two below their number, and this number.
  void choose_nodes() {
    question_.nodes = options_.forecast.nodes;
    if (!question_.nodes.empty()) return;
    question_.nodes = {2, 4, 8};
    if (hosts_.empty()) return;
    question_.nodes.clear();
    const int most = static_cast<int>(hosts_.size());
    for (int nodes = 2; nodes < most; nodes *= 2) question_.nodes.push_back(nodes);
    question_.nodes.push_back(most);
  }

  // 0, or the status to end with if a signal ended the measurement.
  int measure() {
    Request request = links_request(hosts_, around_, options_.interface);
    request.placement.share_cores = true;  // for seconds, beside jobs of these hosts
    const Bandwidth bandwidth =
        measure_bandwidth(request, make_starter_(options_.accept_new_host_keys),
                          to_hex(random_bytes(8, "draw a job id")));
    if (bandwidth.interrupted != 0) return 128 + bandwidth.interrupted;
    question_.links = figures_of(bandwidth.links, hosts_.size());
    if (question_.links.gbits == 0) {
      throw Error(Exit::kUnreachable, "cannot measure the links",
                  bandwidth.problem.empty() ? "no pair of hosts connected" : bandwidth.problem,
                  "dtlaunch doctor " + (options_.hostfile.empty()
                                            ? "-hosts " + one_shell_word(options_.host_list)
                                            : "-f " + one_shell_word(options_.hostfile)));
    }
    question_.links_from = fmt::format("measured between {} hosts", hosts_.size());
    return 0;
  }

  const SubcommandOptions& options_;
  const Surroundings& around_;
  const MakeLinkStarter& make_starter_;
  std::vector<Host> hosts_;
  ForecastQuestion question_;
};

}  // namespace

int run_forecast(const std::vector<std::string>& arguments, const Surroundings& around,
                 const MakeLinkStarter& make_starter) {
  const SubcommandOptions options = parse_subcommand("forecast", arguments);
  if (options.help) {
    write_all(STDOUT_FILENO, help());
    return 0;
  }
  return Forecaster(options, around, make_starter).run();
}

}  // namespace dtl
