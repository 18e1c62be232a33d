// Only the nodes know where libraries are, so there are two steps: libraries_to_find() makes the
// questions, and add_preloads() uses the answers. LD_PRELOAD is rewritten for each node.
#include "plan/preload.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "plan/request/name_list.h"

namespace dtl {
namespace {

struct Known {
  std::string_view name;
  Preload preload;
  std::vector<std::string> libraries;  // any will do; the first if a folder has several
  // A command that installs it, for the hint; "there" follows.
  std::string_view package;
};

const std::vector<Known>& known_preloads() {
  static const std::vector<Known> kKnown = {
      {"tcmalloc",
       Preload::kTcmalloc,
       {"libtcmalloc.so", "libtcmalloc_minimal.so"},
       "apt install libtcmalloc-minimal4"},
      {"jemalloc", Preload::kJemalloc, {"libjemalloc.so"}, "apt install libjemalloc2"},
      {"iomp",
       Preload::kIomp,
       {"libiomp5.so", "libomp.so"},
       "pip install intel-openmp, or apt install libomp5-14"},
  };
  return kKnown;
}

const Known& known(Preload preload) {
  return *std::find_if(known_preloads().begin(), known_preloads().end(),
                       [&](const Known& each) { return each.preload == preload; });
}

// The variable's value in the ranks of `program`, "" without it. Weakest first: inherited, -genv,
// the program's -env. The last entry with the name counts.
std::string value_for(const Request& request, const Program& program, std::string_view name) {
  std::string value;
  const Variables& inherited =
      program.inherited ? *program.inherited : request.environment.inherited;
  for (const Variables* each : {&inherited, &request.environment.set, &program.set}) {
    for (const auto& [known_name, known_value] : *each) {
      if (known_name == name) value = known_value;
    }
  }
  return value;
}

// ld.so accepts spaces and colons between entries.
std::vector<std::string> entries_of(std::string list) {
  std::replace(list.begin(), list.end(), ' ', ':');
  std::vector<std::string> entries = split(list, ':');
  std::erase(entries, "");
  return entries;
}

// The file of an entry. nullopt for a bare name or $LIB: only ld.so knows their folders.
std::optional<std::string> file_of(const std::string& entry, const std::string& directory) {
  if (entry.find('/') == std::string::npos || entry.find('$') != std::string::npos)
    return std::nullopt;
  return (std::filesystem::path(directory) / entry).lexically_normal().string();
}

void add_once(std::vector<std::string>& list, std::string text) {
  const bool is_new = std::find(list.begin(), list.end(), text) == list.end();
  if (is_new) list.push_back(std::move(text));
}

// The environment of a rank is sorted by name (environment.cc), and must stay sorted.
std::vector<std::string>::iterator place_of(std::vector<std::string>& environment,
                                            const std::string& name) {
  // By name, not by line: '=' sorts behind digits, so KMP_BLOCKTIME2=x is a smaller line than
  // KMP_BLOCKTIME=1 and a greater name.
  return std::lower_bound(environment.begin(), environment.end(), name,
                          [](const std::string& line, const std::string& wanted) {
                            return std::string_view(line).substr(0, line.find('=')) < wanted;
                          });
}

void set_variable(std::vector<std::string>& environment, const std::string& name,
                  const std::string& value, bool replace) {
  const auto place = place_of(environment, name);
  // Without `replace` the user's value stays.
  const bool there = place != environment.end() && place->starts_with(name + "=");
  if (there && replace) *place = name + "=" + value;
  if (!there) environment.insert(place, name + "=" + value);
}

class PreloadMaker {
 public:
  PreloadMaker(JobPlan& plan, const Request& request, const std::map<int, LibraryPlaces>& places)
      : plan_(plan), request_(request), places_(places), question_(libraries_to_find(request)) {}

  void make() {
    // Checks all nodes before throwing, so that one message names all of them.
    refuse_absent_libraries();
    refuse_divided_paths();
    for (NodePlan& node : plan_.nodes) {
      for (RankPlan& rank : node.ranks) make_rank(node, rank);
    }
    for (const auto& [file, names] : absent_) {
      plan_.warnings.push_back(
          fmt::format("{}: no {}: left out of LD_PRELOAD there", first_names(names), file));
    }
  }

 private:
  std::string place(const NodePlan& node, const std::string& what) const {
    const auto answers = places_.find(node.host);
    if (answers == places_.end()) return {};
    const auto found = answers->second.find(what);
    return found == answers->second.end() ? std::string() : found->second;
  }

  // The user's folders come first, whichever of the libraries they have.
  std::string library(const NodePlan& node, Preload preload) const {
    std::string best;
    for (const std::string& name : known(preload).libraries) {
      const std::string found = place(node, name);
      if (found.empty()) continue;
      // Within one folder, the first of Known::libraries wins.
      if (best.empty() || nearness(found) < nearness(best)) best = found;
    }
    return best;
  }

  std::size_t nearness(const std::string& path) const {
    const auto holds = [&](const std::string& folder) {
      return path.substr(0, path.rfind('/')) == folder;
    };
    const auto& folders = question_.folders;
    // The list does not contain the system's folders: they come last.
    return static_cast<std::size_t>(std::find_if(folders.begin(), folders.end(), holds) -
                                    folders.begin());
  }

  void refuse_absent_libraries() const {
    for (const Preload preload : request_.environment.preload) {
      std::vector<std::string> without;
      for (const NodePlan& node : plan_.nodes) {
        if (library(node, preload).empty()) without.push_back(node.host_name);
      }
      if (without.empty()) continue;
      std::vector<std::string> folders = question_.folders;
      // The agent itself searches these two.
      folders.insert(folders.end(), {"~/.local/lib", "/usr/local/lib"});
      throw Error(Exit::kConfig, fmt::format("--preload {}", known(preload).name),
                  fmt::format("{} {} not have {} in {} or the system's library folders",
                              first_names(without), without.size() == 1 ? "does" : "do",
                              fmt::join(known(preload).libraries, " or "), join(folders, ", ")),
                  fmt::format("{}, there", known(preload).package));
    }
  }

  // ld.so would split such a path. Its syntax has no quotes.
  void refuse_divided_paths() const {
    for (const Preload preload : request_.environment.preload) {
      for (const NodePlan& node : plan_.nodes) {
        const std::string found = library(node, preload);
        if (found.find_first_of(" :") == std::string::npos) continue;
        throw Error(
            Exit::kConfig, fmt::format("--preload {}", known(preload).name),
            fmt::format("LD_PRELOAD cannot name '{}' on {}: it is divided at blanks and colons",
                        found, node.host_name),
            "a symbolic link to its folder, in LD_LIBRARY_PATH");
      }
    }
  }

  void make_rank(const NodePlan& node, RankPlan& rank) {
    const Program& program = request_.programs[static_cast<std::size_t>(rank.program)];
    const std::string given = value_for(request_, program, "LD_PRELOAD");
    std::vector<std::string> entries;
    for (const Preload preload : request_.environment.preload)
      add_once(entries, library(node, preload));
    // ld.so complains in every process about a missing entry, so such nodes do not get it.
    for (const std::string& entry : entries_of(given)) {
      const auto file = file_of(entry, rank.working_directory);
      if (!file || !place(node, *file).empty()) {
        add_once(entries, entry);
      } else {
        add_once(absent_[*file], node.host_name);
      }
    }
    if (entries.empty()) {
      std::erase_if(rank.environment,
                    [](const std::string& line) { return line.starts_with("LD_PRELOAD="); });
    } else {
      set_variable(rank.environment, "LD_PRELOAD", join(entries, ":"), true);
    }
    const auto& all = request_.environment.preload;
    if (std::find(all.begin(), all.end(), Preload::kIomp) == all.end()) return;
    // One thread per core in turn, and only short spinning between parallel regions.
    set_variable(rank.environment, "KMP_AFFINITY", "granularity=fine,compact,1,0", false);
    set_variable(rank.environment, "KMP_BLOCKTIME", "1", false);
  }

  JobPlan& plan_;
  const Request& request_;
  const std::map<int, LibraryPlaces>& places_;
  const LibraryQuestion question_;
  std::map<std::string, std::vector<std::string>> absent_;  // file -> nodes
};

}  // namespace

std::vector<Preload> parse_preloads(std::string_view text) {
  std::vector<Preload> preloads;
  for (const std::string& word : split(text, ',')) {
    const std::string name = to_lower(trim(word));
    std::vector<std::string> names;
    std::optional<Preload> meant;
    for (const Known& each : known_preloads()) {
      names.emplace_back(each.name);
      if (each.name == name) meant = each.preload;
    }
    if (!meant) {
      const std::string near = nearest(name, names);
      throw option_error(fmt::format("--preload {}", text),
                         fmt::format("unknown library '{}'{}", printable(word),
                                     near.empty() ? " (tcmalloc, jemalloc, iomp)" : ""),
                         "--preload " + (near.empty() ? "tcmalloc" : near));
    }
    const bool is_new = std::find(preloads.begin(), preloads.end(), *meant) == preloads.end();
    if (is_new) preloads.push_back(*meant);
  }
  return preloads;
}

LibraryQuestion libraries_to_find(const Request& request) {
  LibraryQuestion question;
  for (const Preload preload : request.environment.preload) {
    for (const std::string& library : known(preload).libraries)
      add_once(question.libraries, library);
  }
  for (const Program& program : request.programs) {
    for (const std::string& entry : entries_of(value_for(request, program, "LD_PRELOAD"))) {
      if (const auto file = file_of(entry, program.working_directory))
        add_once(question.files, *file);
    }
    for (const std::string& folder : split(value_for(request, program, "LD_LIBRARY_PATH"), ':')) {
      // An agent does not run in the ranks' folder, so a relative path would lead elsewhere.
      if (folder.starts_with('/')) add_once(question.folders, folder);
    }
    // pip and conda install such libraries there.
    for (const char* prefix : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
      const std::string value = value_for(request, program, prefix);
      if (value.starts_with('/')) add_once(question.folders, value + "/lib");
    }
  }
  return question;
}

void add_preloads(JobPlan& plan, const Request& request,
                  const std::map<int, LibraryPlaces>& places) {
  PreloadMaker(plan, request, places).make();
}

}  // namespace dtl
