#include "launcher/step/tm_starter.h"

#include <fmt/format.h>

#include "base/text.h"

namespace dtl {
namespace {

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::vector<std::string> to_words(const TmNodeWords& told) {
  return {told.host, std::to_string(told.port), told.job, told.node, told.token_file};
}

std::optional<TmNodeWords> parse_tm_node_words(const std::vector<std::string>& words) {
  if (words.size() != 5) return std::nullopt;
  const auto port = parse_integer(words[1], 1, 65535);
  if (!port || words[0].empty() || !words[4].starts_with('/')) return std::nullopt;
  return TmNodeWords{words[0], static_cast<int>(*port), words[2], words[3], words[4]};
}

std::vector<std::string> tm_arguments(const std::string& program, const std::string& node, int line,
                                      const std::vector<std::string>& command) {
  std::vector<std::string> words = {program};
  if (last_part(program) == "pbsdsh") {
    // By the line, and not by -h: that only Torque's has, and it compares with uname -n.
    words.insert(words.end(), {"-n", std::to_string(line), "--"});
  } else {
    words.push_back(node);
  }
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::string TmStarter::program() const {
  return last_part(options_.program);
}

StarterCommands TmStarter::commands(const std::vector<std::string>& nodes, int port,
                                    const std::string& token) {
  StarterCommands made;
  made.environment = entries_of(options_.environment);
  TmNodeWords told;
  told.host = options_.meeting_host;
  told.port = port;
  told.job = options_.job;
  told.token_file = options_.given_token_file;
  if (told.token_file.empty()) {
    told.token_file = token_file_.write(shared_folders(options_.environment), token);
  }
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    told.node = nodes[at];
    std::vector<std::string> command = options_.command;
    for (std::string& word : to_words(told)) command.push_back(std::move(word));
    made.commands.push_back(tm_arguments(options_.program, nodes[at], options_.lines[at], command));
  }
  return made;
}

std::string TmStarter::hint(const Host& host) const {
  return fmt::format(
      "see what dtlaunch has said on {}, in the job's error output; or -launcher ssh", host.name);
}

}  // namespace dtl
