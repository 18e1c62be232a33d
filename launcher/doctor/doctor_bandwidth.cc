// The job runs inside this process, through the same session as any job. Its output goes into
// memory files: they take any amount without a thread that reads, and without a file to remove.
#include "launcher/doctor/doctor_bandwidth.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <sstream>

#include "base/fd.h"
#include "base/text.h"
#include "plan/environment.h"

namespace dtl {
namespace {

constexpr std::size_t kMostText = 64 << 20;  // 1,000 hosts have a million links

Fd memory_file(const char* name) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd.valid()) throw system_error("cannot keep what dtring-perf prints");
  return fd;
}

// pread, because the descriptor's position is where the session wrote last.
std::string text_in(const Fd& fd) {
  std::string text;
  char buffer[65536];
  for (ssize_t n = 0; text.size() < kMostText; text.append(buffer, static_cast<std::size_t>(n))) {
    n = ::pread(fd.get(), buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (n <= 0) break;
  }
  return text;
}

// Lines "link FROM TO GBIT/S TRIP CPU-NS". Other lines are left out.
std::vector<Link> parse_links(const std::string& text, std::size_t hosts) {
  std::vector<Link> links;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string keyword;
    Link link;
    if (words >> keyword >> link.from >> link.to >> link.gbits >> link.trip_us &&
        keyword == "link" && link.from < hosts && link.to < hosts) {
      if (!(words >> link.cpu_ns)) link.cpu_ns = -1;
      links.push_back(link);
    }
  }
  return links;
}

}  // namespace

Request links_request(const std::vector<Host>& hosts, const Surroundings& around,
                      const std::string& interface) {
  const std::string* const found = find_variable(around.environment, "PATH");
  const std::string path = found == nullptr ? "" : *found;
  Request request;
  request.hosts = hosts;
  for (Host& host : request.hosts) host.slots = 1;
  request.placement.ranks_per_node = 1;
  request.network.interface = interface;
  request.environment.inherited = forwardable(around.environment);
  request.environment.set = {{"PATH", around.program_directory + ":" + path}};
  request.programs[0].command = {"dtring-perf", "--links", "--raw"};
  request.programs[0].working_directory = "/";
  return request;
}

Bandwidth measure_bandwidth(Request request, const AgentStarter& start_agent,
                            const std::string& job_id) {
  using namespace std::chrono_literals;
  const Fd output = memory_file("output"), errors = memory_file("errors");
  // The job must not take what the user types meanwhile.
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  SessionOptions options;
  options.start_agent = start_agent;
  options.job_id = job_id;
  options.input = null.get();
  options.output = output.get();
  options.errors = errors.get();
  request.ending.timeout = 60s + 2s * request.hosts.size();  // a round takes about 0.3 s
  const SessionResult result = run_session(request, options);
  Bandwidth bandwidth;
  const Outcome& outcome = *result.job.outcome;
  // doctor itself then ends with that signal's status.
  if (outcome.cause == Cause::kInterrupted) bandwidth.interrupted = outcome.signal;
  if (outcome.exit_status == 0)
    bandwidth.links = parse_links(text_in(output), request.hosts.size());
  // The first line of standard error is the cause; the rest is its consequences.
  if (bandwidth.links.empty()) {
    const std::string said(trim(text_in(errors)));
    bandwidth.problem = said.substr(0, said.find('\n'));
    // The line was made for a terminal, where the program's name comes first.
    if (bandwidth.problem.starts_with("dtlaunch: ")) bandwidth.problem.erase(0, 10);
    if (bandwidth.problem.empty()) bandwidth.problem = "dtring-perf says nothing";
  }
  return bandwidth;
}

}  // namespace dtl
