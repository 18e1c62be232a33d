#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/limits.h"
#include "base/text.h"
#include "plan/engines/engine_parts.h"
#include "plan/request/host_token.h"
#include "plan/request/hostfile_line.h"
#include "plan/request/hostlist.h"

namespace dtl {
namespace {

// Hosts in order of their first mention; what is said again of one adds up.
class Collector {
 public:
  explicit Collector(std::string where) : where_(std::move(where)) {}

  void add(std::string_view name, int slots, const TextPosition& position) {
    const std::string host(name);
    check_host_name(host, position);
    if (host.size() > kMaxHostNameBytes) throw position.error("the name is too long");
    const auto [found, is_new] = index_.try_emplace(canonical_name(host), hosts_.size());
    if (is_new) {
      if (hosts_.size() == kMaxHosts) {
        throw position.error(fmt::format("more than {} hosts", kMaxHosts));
      }
      Host& added = hosts_.emplace_back();
      added.name = host;
      added.slots = 0;
      added.where = where_;
    }
    int& sum = *hosts_[found->second].slots;
    sum += slots;
    if (sum > kMaxRanks) {
      throw position.error(fmt::format("'{}' has more than {} slots", host, kMaxRanks));
    }
  }

  std::size_t count() const { return hosts_.size(); }

  std::vector<Host> take(const TextPosition& start) {
    if (hosts_.empty()) throw start.error("it names no host");
    return std::move(hosts_);
  }

 private:
  std::string where_;
  std::vector<Host> hosts_;
  std::map<std::string, std::size_t> index_;
};

// use(words, line's start) for each line that is not empty.
template <typename Use>
void for_each_line(std::string_view text, const std::string& path, Use use) {
  if (text.size() > kMaxHostfileBytes) {
    throw TextPosition{path + ":1:"}.error(fmt::format("larger than {} bytes", kMaxHostfileBytes));
  }
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const TextPosition start{fmt::format("{}:{}:", path, number)};
    const std::vector<Word> words = words_of(line);
    if (!words.empty()) use(words, start);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// PBS: a line for each slot, the host alone. first_lines: of each host.
std::vector<Host> read_pbs(std::string_view text, const std::string& path,
                           std::vector<int>& first_lines) {
  Collector hosts(path);
  int line = 0;
  for_each_line(text, path, [&](const std::vector<Word>& words, const TextPosition& start) {
    if (words.size() > 1) {
      throw start.at(words[1].column)
          .error(fmt::format("'{}' after the host", printable(words[1].text)));
    }
    hosts.add(words[0].text, 1, start.at(words[0].column));
    if (hosts.count() > first_lines.size()) first_lines.push_back(line);
    ++line;
  });
  return hosts.take({path + ":1:"});
}

// SGE: host, slots, queue and range.
std::vector<Host> read_sge(std::string_view text, const std::string& path) {
  Collector hosts(path);
  for_each_line(text, path, [&](const std::vector<Word>& words, const TextPosition& start) {
    if (words.size() < 2) {
      throw start.at(words[0].column).error("a line is: host slots queue range");
    }
    hosts.add(words[0].text, parse_slots(words[1].text, start.at(words[1].column)),
              start.at(words[0].column));
  });
  return hosts.take({path + ":1:"});
}

// LSF: "h1 2 h2 4", or each host as often as it has slots.
std::vector<Host> read_lsf(EngineReader& variables) {
  const bool counted = variables.has("LSB_MCPU_HOSTS");
  const std::string_view name = counted ? "LSB_MCPU_HOSTS" : "LSB_HOSTS";
  const std::string text = variables.needed(name);
  const TextPosition start = variables.position(name);
  const std::vector<Word> words = words_of(text);
  Collector hosts{std::string(name)};
  for (std::size_t i = 0; i < words.size(); i += counted ? 2 : 1) {
    const TextPosition here = start.at(words[i].column);
    if (counted && i + 1 == words.size()) {
      throw here.error(fmt::format("no number of slots after '{}'", printable(words[i].text)));
    }
    hosts.add(words[i].text,
              counted ? parse_slots(words[i + 1].text, start.at(words[i + 1].column)) : 1, here);
  }
  return hosts.take(start);
}

std::string program_in(const std::optional<std::string>& folder, const std::string& program) {
  return folder && folder->starts_with('/') ? *folder + "/" + program : std::string();
}

void take_lsf(EngineReader& variables, EngineEvidence& evidence) {
  evidence.hosts = read_lsf(variables);
  evidence.job_id = variables.job_id("LSB_JOBID");
  evidence.starter = EngineStarter::kBlaunch;
  evidence.starter_path = program_in(variables.text("LSF_BINDIR"), "blaunch");
  evidence.hosts_are_all = true;
  if (variables.text("LSB_RESTART") == "Y") {
    evidence.restart = 1;  // it does not say how often
    evidence.follows.push_back("LSF has started this job again");
  }
}

void take_sge(EngineReader& variables, const EngineAnswers& answers, EngineEvidence& evidence) {
  const EngineFile file = engine_file(Engine::kSge, variables);
  evidence.hosts = read_sge(text_of(file, answers), file.path);
  evidence.job_id = variables.job_id("JOB_ID");
  evidence.starter = EngineStarter::kQrsh;
  const auto root = variables.text("SGE_ROOT"), architecture = variables.text("ARC");
  if (root && architecture)
    evidence.starter_path = program_in(*root + "/bin/" + *architecture, "qrsh");
  evidence.hosts_are_all = true;
}

}  // namespace

EngineEvidence listed_evidence(Engine engine, EngineReader& variables,
                               const EngineAnswers& answers) {
  EngineEvidence evidence;
  evidence.role = EngineRole::kLauncher;
  if (engine == Engine::kLsf) take_lsf(variables, evidence);
  if (engine == Engine::kSge) take_sge(variables, answers, evidence);
  if (engine == Engine::kPbs) {
    const EngineFile file = engine_file(engine, variables);
    evidence.hosts = read_pbs(text_of(file, answers), file.path, evidence.host_lines);
    evidence.job_id = variables.job_id("PBS_JOBID");
    evidence.starter = EngineStarter::kTm;
  }
  return evidence;
}

}  // namespace dtl
