// Rewrites a variable as words of a command line for the same parser, so it can do nothing that an
// option cannot.
#include "launcher/options/environment_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/options/foreign_options.h"
#include "launcher/options/foreign_words.h"
#include "launcher/options/option_values.h"
#include "launcher/options/options.h"

namespace dtl {
namespace {

constexpr std::string_view kMcaPrefix = "OMPI_MCA_";

// The meaning of one variable that is set.
struct Said {
  std::string name, value;         // of the variable
  std::vector<std::string> words;  // as on a command line
  bool of_site = false;            // see ForeignVariable
};

// "0", "off" and similar values, of a variable that stands for an option without a value.
bool says_no(const std::string& value) {
  return parse_truth(value) == false || to_lower(value) == "disable";
}

const ForeignVariable* find_variable(const std::string& name) {
  for (const ForeignVariable& known : foreign_variables()) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

// -launcher=pbs is for jobs of PBS, but sites set it everywhere. Outside such a job every start
// would fail, so it is an error here, which is left out with a warning.
void check_place(const Said& said, const Variables& environment) {
  if (!said.words[0].starts_with("-launcher=pbs")) return;
  const bool in_job = std::any_of(environment.begin(), environment.end(),
                                  [](const auto& each) { return each.first == "PBS_NODEFILE"; });
  if (!in_job) throw option_error(said.name, "this is not a job of PBS", "-launcher ssh");
}

// The option that the variable stands for, as a word of a command line; empty: it says no.
std::string word_of(const ForeignVariable& known, const std::string& value) {
  constexpr std::string_view kOptional = "[=%]";
  std::string word(known.option);
  const bool optional = word.ends_with(kOptional);
  if (optional) word.resize(word.size() - kOptional.size());
  const std::size_t at = word.find('%');
  if (at != word.npos) return word.replace(at, 1, value);
  // The option needs no value: the variable only switches it on.
  if (says_no(value)) return {};
  const bool says_yes = parse_truth(value).has_value();
  if (optional && !says_yes) return word + "=" + value;
  if (known.name.starts_with("DTL_") && !says_yes) {
    throw option_error(fmt::format("{}={}", known.name, value), "neither yes nor no",
                       fmt::format("{}=1", known.name));
  }
  return word;
}

std::vector<Said> read_variables(const Variables& environment) {
  std::vector<Said> all;
  for (const ForeignVariable& known : foreign_variables()) {
    const auto found = std::find_if(environment.begin(), environment.end(),
                                    [&](const auto& each) { return each.first == known.name; });
    if (found == environment.end() || found->second.empty()) continue;
    const std::string& value = found->second;
    const bool every_core = known.name == "I_MPI_PERHOST" && !parse_integer(value, 1, kMaxRanks);
    if (every_core) continue;  // "allcores" and similar: the default
    const std::string word = word_of(known, value);
    if (word.empty()) continue;
    all.push_back({found->first, value, {word}, known.of_site});
  }
  for (const auto& [name, value] : environment) {
    // Open MPI reads any parameter from OMPI_MCA_NAME. Those with their own row were handled above.
    if (!name.starts_with(kMcaPrefix) || find_variable(name) != nullptr || value.empty()) continue;
    // Others only concern the library, in the ranks' environment.
    const std::string key = name.substr(kMcaPrefix.size());
    const ForeignOption* parameter = find_mca_parameter(key);
    if (parameter == nullptr || parameter->text == kForRanks) continue;
    all.push_back({name, value, {"--mca", key, value}, true});
  }
  return all;
}

bool is_given(const OptionWords& words, std::string_view name) {
  // Hosts from a hostfile variable and typed hosts must not be combined.
  const bool names_hosts = name == "-hostfile" || name == "-hosts";
  if (names_hosts) return words.has("-hosts") || words.has("-hostfile");
  return words.has(name);
}

}  // namespace

std::span<const ForeignVariable> foreign_variables() {
  static constexpr ForeignVariable kTable[] = {
      {"DTL_COLOR", "--color=%"},
      {"DTL_SCHEDULER", "--scheduler=%"},
      {"DTL_SHARE_CORES", "--share-cores"},
      {"DTL_WAIT", "--wait[=%]"},
      {"DTL_HISTORY_DAYS", "--history-days=%"},
      {"DTL_HISTORY_SIZE", "--history-size=%"},
      {"I_MPI_HYDRA_HOST_FILE", "-hostfile=%"},
      {"HYDRA_HOST_FILE", "-hostfile=%"},
      {"I_MPI_HYDRA_HOSTS_GROUP", "-hosts=%"},
      {"I_MPI_PERHOST", "-ppn=%"},
      {"I_MPI_HYDRA_IFACE", "--iface=%"},
      {"HYDRA_IFACE", "--iface=%"},
      {"HYDRA_BINDING", "-bind-to=%"},
      {"HYDRA_MAPPING", "-map-by=%"},
      {"HYDRA_MEMBIND", "-membind=%"},
      {"OMPI_MCA_hwloc_base_binding_policy", "-bind-to=%", true},
      {"OMPI_MCA_rmaps_base_mapping_policy", "-map-by=%", true},
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
      {"HYDRA_LAUNCH_EXTRA_ARGS", "-bootstrap-exec-args=%", true},  // as MPIJob spells it
      {"HYDRA_LAUNCHER_EXTRA_ARGS", "-bootstrap-exec-args=%", true},
      {"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-bootstrap-exec-args=%", true},
      {"HYDRA_CONFIG_FILE", "-config-file=%", true},
      {"HYDRA_USE_VALGRIND", "-debugger", true},
      {"HYDRA_USE_STRACE", "-debugger", true},
      {"HYDRA_USE_DDD", "-debugger", true},
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

void add_environment(const Variables& environment, OptionWords& words,
                     const std::function<void(const OptionWords&)>& check) {
  for (const auto& [name, value] : environment) {
    if (name != "DTL_ENGINE") continue;
    const RenamedScheduler renamed = renamed_scheduler("variable is called DTL_SCHEDULER", value);
    std::string hint = "unset DTL_ENGINE";
    if (!renamed.value.empty()) {
      hint += "; export DTL_SCHEDULER=" + one_shell_word(renamed.value);
    }
    throw option_error(fmt::format("{}={}", name, printable(value)), renamed.why, hint);
  }
  for (const Said& said : read_variables(environment)) {
    const std::string setting = fmt::format("{}={}", said.name, said.value);
    try {
      check_place(said, environment);
      const OptionWords own = read_option_words(option_table().options(), said.words, job_manner());
      for (const std::string& note : own.notes) words.notes.push_back(setting + ": " + note);
      for (GivenOption given : own.options) {
        given.typed = setting;
        if (is_given(words, given.option->names.back())) continue;
        check({{given}, {}, {}});
        words.options.push_back(given);
        words.notes.push_back(fmt::format("{}: taken for {}", setting, canonical_form(given)));
      }
    } catch (const Error& error) {
      const std::string reason = error.reason().empty() ? error.attempted() : error.reason();
      if (!said.of_site) throw option_error(setting, reason, error.hint());
      words.warnings.push_back(option_error(setting + ": left out", reason, error.hint()).what());
    }
  }
}

}  // namespace dtl
