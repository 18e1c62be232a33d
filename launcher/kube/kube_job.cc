// Parses the words after "--" as dtlaunch in the pods will, so that mistakes are found now, and
// passes them on unchanged. Options of the job file become words, because pods do not have the
// file.
#include "launcher/kube/kube_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/kube/kube_names.h"
#include "launcher/options/command_line.h"
#include "launcher/request/job_file.h"

namespace dtl {
namespace {

constexpr const char* kHelp = "dtlaunch kube render --help";
constexpr auto kPodGrace = std::chrono::seconds(60);  // a checkpoint of some GB to a slow disk
constexpr double kLeastMemory = 64 << 20;             // bytes; less means a forgotten unit

struct KindName {
  std::string_view name;
  KubeKind kind;
};
constexpr std::array kKinds = {
    KindName{"pytorchjob", KubeKind::kPyTorchJob}, KindName{"mpijob", KubeKind::kMpiJob},
    KindName{"trainjob", KubeKind::kTrainJob},     KindName{"jobset", KubeKind::kJobSet},
    KindName{"job", KubeKind::kIndexedJob},
};

[[noreturn]] void refuse(std::string what, std::string why, std::string hint = kHelp) {
  throw option_error(std::move(what), std::move(why), std::move(hint));
}

KubeKind kind_of(const std::string& name) {
  for (const KindName& each : kKinds) {
    if (each.name == name) return each.kind;
  }
  refuse("--kind", "missing: it says what runs the job in the cluster",
         "--kind job, which every cluster has");
}

// The suffix that Kubernetes or its operators add to the job's name for pods and services. "12345"
// represents the random suffix of five characters.
std::size_t longest_suffix(const KubeJob& job) {
  const std::size_t digits = std::to_string(job.nodes.most - 1).size();
  switch (job.kind) {
    case KubeKind::kPyTorchJob:
      return std::string("-worker-").size() + digits;
    case KubeKind::kMpiJob:
      return std::max(std::string("-launcher-12345").size(),
                      std::string("-worker-").size() + digits);
    case KubeKind::kTrainJob:
      return std::string("-node-0--12345").size() + digits;
    case KubeKind::kJobSet:
      return std::string("-workers-0--12345").size() + digits;
    case KubeKind::kIndexedJob:
      return std::string("--12345").size() + digits;
  }
  return 0;
}

// Everybody who may read the job's object in the cluster may read its environment.
void notice_secret(const std::string& name, KubeJob& job) {
  if (!looks_secret(name)) return;
  job.notices.push_back(fmt::format(
      "{} stands in the manifest as it is: a Secret is the place for such a value", name));
}

bool sets(const KubePairs& variables, const std::string& name) {
  return std::ranges::any_of(variables, [&](const auto& pair) { return pair.first == name; });
}

// Refuses options of dtlaunch in the pods that would hide a variable of --env from the ranks.
void refuse_hidden_variables(const KubeJob& job, const CommandLine& line, const JobFile* file) {
  if (job.environment.empty()) return;
  const auto& inheritance = line.inheritance || !file ? line.inheritance : file->inheritance;
  if (inheritance && !inheritance->all) {
    refuse("--env " + job.environment[0].first,
           "the ranks inherit no variables, or only those that are listed", "-- -genv NAME VALUE");
  }
  for (const auto& [name, value] : line.environment.set) {
    if (!sets(job.environment, name)) continue;
    refuse("--env " + name, "-genv sets it as well", "--env or -genv, not both");
  }
}

// Kubernetes does not allow ':' in a mount path either.
PodClaim parse_claim(const std::string& text) {
  const std::size_t colon = text.find(':');
  PodClaim claim{text.substr(0, colon), "/data"};
  if (colon != text.npos) claim.path = text.substr(colon + 1);
  if (const std::string wrong = check_object_name(claim.name); !wrong.empty()) {
    refuse("--pvc " + text,
           fmt::format("'{}' is not the name of a claim: it {}", claim.name, wrong),
           "--pvc checkpoints:/data");
  }
  const bool odd = claim.path.find(':') != text.npos || claim.path.find("/../") != text.npos ||
                   claim.path.ends_with("/..");
  if (claim.path.size() < 2 || claim.path[0] != '/' || odd) {
    refuse("--pvc " + text, fmt::format("'{}' is not an absolute path", claim.path),
           "--pvc checkpoints:/data");
  }
  return claim;
}

void take_names(const KubeWords& words, KubeJob& job) {
  job.kind = kind_of(words.kind);
  job.name = words.name;
  job.name_space = words.name_space;
  job.image = words.image;
  job.secret = words.secret;
  const auto check = [](const std::string& option, const std::string& value, std::string wrong,
                        const std::string& example) {
    if (!wrong.empty()) refuse(option + " " + value, wrong, option + " " + example);
  };
  if (job.image.empty())
    refuse("--image", "missing: pods run an image that has dtlaunch",
           "--image REGISTRY/dtlaunch:1");
  check("--image", job.image, check_image(job.image), "registry.example/dtlaunch:1");
  if (!job.name_space.empty()) {
    check("--namespace", job.name_space, check_namespace(job.name_space), "training");
  }
  check("--token-secret", job.secret, check_object_name(job.secret), "dtlaunch-token");
  // Kubernetes allows only one mount at a path.
  std::set<std::string> paths = {"/dev/shm"};
  for (const std::string& text : words.claims) {
    job.claims.push_back(parse_claim(text));
    if (paths.insert(job.claims.back().path).second) continue;
    refuse("--pvc " + text, fmt::format("something else is mounted at {}", job.claims.back().path),
           fmt::format("--pvc {}:/data2", job.claims.back().name));
  }
}

void take_additions(const KubeWords& words, KubeJob& job) {
  job.pull_policy = words.pull_policy;
  job.deadline_s = words.deadline_s;
  for (const std::string& name : words.pull_secrets) {
    const std::string wrong =
        std::ranges::count(job.pull_secrets, name) > 0 ? "given twice" : check_object_name(name);
    if (!wrong.empty()) {
      refuse("--image-pull-secret " + name, wrong, "--image-pull-secret registry-login");
    }
    job.pull_secrets.push_back(name);
  }
  job.labels = parse_labels("--label", words.labels);
  job.node_selector = parse_labels("--node-selector", words.node_selector);
  job.environment = parse_variables(words.environment);
  for (const auto& [name, value] : job.environment) notice_secret(name, job);
  for (const std::string& file : words.patches) {
    for (KubePatch& patch : load_patches(file)) job.patches.push_back(std::move(patch));
  }
}

void take_resources(const KubeWords& words, KubeJob& job) {
  // No default is right: the cluster's scheduler places pods by these.
  if (!words.cpus) refuse("--cpus", "missing: each pod asks for whole CPUs", "--cpus 8");
  if (words.memory.empty()) {
    refuse("--memory", "missing: each pod asks for memory, and gets no more", "--memory 16Gi");
  }
  job.cpus = *words.cpus;
  job.memory = words.memory;
  job.shared_memory = words.shared_memory;
  const auto bytes = parse_memory(job.memory), shared = parse_memory(job.shared_memory);
  const auto check = [](const std::string& option, const std::string& text,
                        std::optional<double> amount) {
    const std::string hint = option + " 16Gi, 512Mi or 8G";
    if (!amount) refuse(option + " " + text, "not an amount of memory", hint);
    if (*amount < kLeastMemory) refuse(option + " " + text, "less than 64 MiB", hint);
  };
  check("--memory", job.memory, bytes);
  check("--shm", job.shared_memory, shared);
  // A memory volume counts as memory of the pod.
  if (*shared > *bytes) {
    refuse("--shm " + job.shared_memory,
           fmt::format("/dev/shm is of the pod's memory, which is {}", job.memory),
           fmt::format("--shm {}", job.memory));
  }
}

// Options that say where or how dtlaunch starts. In pods Kubernetes does that.
void refuse_what_pods_cannot(const CommandLine& line) {
  if (line.action != Action::kRun) refuse("kube render", "the options after it do not start a job");
  if (line.programs.size() > 1 || !line.program_file.empty()) {
    refuse("kube render", "several programs are given, and all pods run the same one");
  }
  if (!line.job_file.empty()) {
    refuse("-c " + line.job_file, "pods do not have that file",
           fmt::format("dtlaunch kube render -c {} ...", one_shell_word(line.job_file)));
  }
  const std::array<std::pair<bool, std::string>, 11> kOwn = {{
      {!line.hosts.empty(), "-hosts"},
      {!line.hostfile.empty(), "-hostfile"},
      {!line.discover.empty(), "--discover"},
      {line.placement.nodes || line.placement.node_range, "--nnodes"},
      {line.detach, "--detach"},
      {line.starting.push, "--push"},
      {!line.container.empty(), "--container"},
      {!line.starting.sync.empty(), "--sync"},
      {!line.starting.venv.empty(), "--venv"},
      {line.starting.agent_start.has_value(), "-launcher"},
      {line.starting.scheduler.has_value(), "--scheduler"},
  }};
  for (const auto& [given, option] : kOwn) {
    if (!given) continue;
    refuse(option, "the pods are the hosts, and Kubernetes starts dtlaunch on them",
           "dtlaunch kube render --nodes N ..., without it");
  }
}

// The job file as words of dtlaunch's command line, without what the line itself sets, which
// overrides the file.
std::vector<std::string> words_of_file(const JobFile& file, const CommandLine& line, KubeJob& job) {
  const auto bad = [&](const std::string& what, const std::string& why) {
    throw option_error(fmt::format("{}: {}", file.path, what), why, kHelp);
  };
  if (!file.programs.empty()) bad("[[programs]]", "all pods run one program");
  if (!file.hosts.empty()) bad("hosts.list", "the pods are the hosts");
  std::vector<std::string> words;
  // take_size() and grace_of() read these.
  constexpr std::array<std::string_view, 4> kTaken = {"nodes", "ranks", "ranks_per_node", "grace"};
  for (const GivenOption& option : file.options) {
    const std::string_view key = option.option->traits.key;
    if (std::find(kTaken.begin(), kTaken.end(), key) != kTaken.end()) continue;
    if (line.is_given(option.option->names.back())) continue;
    if (key.starts_with("hosts.")) bad(std::string(key), "the pods are the hosts");
    if (key == "scheduler" || key == "launcher")
      bad(std::string(key), "Kubernetes starts dtlaunch");
    if (key == "working_directory" && !option.value.starts_with('/')) {
      bad("working_directory", "it begins at the folder of this file, which pods do not have");
    }
    words.push_back(canonical_form(option));
  }
  if (file.inheritance && !line.inheritance) {
    if (file.inheritance->all) {
      words.emplace_back("-genvall");
    } else if (file.inheritance->names.empty()) {
      words.emplace_back("-genvnone");
    } else {
      words.insert(words.end(), {"-genvlist", join(file.inheritance->names, ",")});
    }
  }
  if (!file.pin) words.insert(words.end(), {"-bind-to", "none"});
  if (file.threads) {
    words.insert(words.end(), {"-genv", fmt::format("OMP_NUM_THREADS={}", *file.threads)});
  }
  for (const auto& [name, value] : file.environment) {
    if (sets(job.environment, name)) continue;
    words.insert(words.end(), {"-genv", name + "=" + value});
    notice_secret(name, job);
  }
  return words;
}

// kube render and dtlaunch share some options. Nobody can tell which of two values was meant, so
// both together are an error. The job file comes last.
template <typename T>
std::optional<T> said_once(const std::string& option, const std::optional<T>& here,
                           const std::optional<T>& there, const std::optional<T>& file) {
  if (here && there)
    refuse(option, "given to kube render and again among the program's options", option + " once");
  return here ? here : there ? there : file;
}

std::optional<SizeRange> nodes_of(const CommandLine& said) {
  if (said.placement.node_range) return said.placement.node_range;
  if (said.placement.nodes) return SizeRange{*said.placement.nodes, *said.placement.nodes};
  return std::nullopt;
}

void take_size(const KubeWords& words, const CommandLine& line, const BlockOptions* file,
               KubeJob& job) {
  const auto nodes = words.nodes ? words.nodes : file ? nodes_of(file->line) : std::nullopt;
  if (!nodes) refuse("--nodes", "missing: it says how many pods run the job", "--nodes 4");
  job.nodes = *nodes;
  job.elastic = nodes->least != nodes->most;
  if (job.elastic && job.kind != KubeKind::kPyTorchJob) {
    refuse(fmt::format("--nodes {}:{}", nodes->least, nodes->most),
           "only a PyTorchJob has pods that come and go", "--kind pytorchjob, or --nodes N");
  }
  const auto each = said_once("-ppn", words.ranks_per_node, line.placement.ranks_per_node,
                              file ? file->line.placement.ranks_per_node : std::nullopt);
  const bool on_line = line.placement.ranks || line.placement.rank_range;
  const auto ranks = on_line ? line.placement.ranks : file ? file->program.ranks : std::nullopt;
  if ((on_line ? line.placement.rank_range
       : file  ? file->program.rank_range
               : std::nullopt) ||
      (ranks && job.elastic)) {
    refuse("-np", "the ranks are those of the pods", "-ppn N");
  }
  job.ranks_per_node = each.value_or(1);
  if (!ranks) return;
  // -np alone: the same number in each pod.
  if (!each && *ranks % job.nodes.most == 0) job.ranks_per_node = *ranks / job.nodes.most;
  if (job.ranks_per_node * job.nodes.most == *ranks) return;
  refuse(fmt::format("-np {}", *ranks),
         fmt::format("{} with {} each have {}", plural(job.nodes.most, "pod"),
                     plural(job.ranks_per_node, "rank"), job.ranks_per_node * job.nodes.most),
         "-ppn N");
}

int grace_of(const KubeWords& words, const CommandLine& line, const BlockOptions* file) {
  using Time = std::chrono::milliseconds;
  const std::optional<Time> here =
      words.grace_s ? std::optional<Time>(std::chrono::seconds(*words.grace_s)) : std::nullopt;
  const auto said =
      said_once("--grace", here, line.ending.grace, file ? file->line.ending.grace : std::nullopt);
  return static_cast<int>(
      // Kubernetes counts whole seconds; less than requested could cut a checkpoint short.
      std::chrono::ceil<std::chrono::seconds>(said.value_or(kPodGrace)).count());
}

std::optional<JobFile> file_of(const KubeWords& words, const CommandLine& line) {
  // Like dtlaunch itself: uses dtlaunch.toml in this folder if no program is given.
  if (!words.job_file.empty()) return load_job_file(words.job_file);
  if (!line.programs[0].command.empty() || ::access("dtlaunch.toml", F_OK) != 0) {
    return std::nullopt;
  }
  return load_job_file("dtlaunch.toml");
}

KubeJob job_of(const SubcommandOptions& options) {
  const KubeWords& words = options.kube;
  KubeJob job;
  take_names(words, job);
  take_resources(words, job);
  take_additions(words, job);
  const CommandLine line = parse_command_line(options.words);
  refuse_what_pods_cannot(line);
  const std::optional<JobFile> file = file_of(words, line);
  refuse_hidden_variables(job, line, file ? &*file : nullptr);
  const BlockOptions* said = file ? &file->said : nullptr;
  take_size(words, line, said, job);
  job.grace_s = grace_of(words, line, said);
  job.restarts = words.restarts;
  // After the size, because pod names contain the number of pods.
  if (const std::string wrong = check_label(job.name, longest_suffix(job)); !wrong.empty()) {
    refuse("--name " + job.name, wrong, "--name bert-base");
  }
  // The pods' grace must equal the manifest's terminationGracePeriodSeconds.
  if (!line.ending.grace) job.arguments = {"--grace", std::to_string(job.grace_s)};
  // The operators of these kinds have a field for it, and set it in the pods' environment.
  const bool tells_pods = job.kind != KubeKind::kJobSet && job.kind != KubeKind::kIndexedJob;
  if (!tells_pods && !line.placement.ranks_per_node) {
    job.arguments.insert(job.arguments.end(), {"-ppn", std::to_string(job.ranks_per_node)});
  }
  if (file) {
    const std::vector<std::string> of_file = words_of_file(*file, line, job);
    job.arguments.insert(job.arguments.end(), of_file.begin(), of_file.end());
  }
  // These words include the program, so the file's options must come first.
  job.arguments.insert(job.arguments.end(), options.words.begin(), options.words.end());
  if (line.programs[0].command.empty()) {
    if (!file || file->command.empty()) {
      refuse("kube render", "neither the command line nor a job file names a program",
             "dtlaunch kube render ... python3 train.py");
    }
    job.arguments.insert(job.arguments.end(), file->command.begin(), file->command.end());
  }
  if (job.ranks_per_node > job.cpus) {
    job.notices.push_back(fmt::format("{} for {} in each pod: they take turns",
                                      plural(job.cpus, "CPU"), plural(job.ranks_per_node, "rank")));
  }
  return job;
}

}  // namespace

KubeJob kube_job_of(const SubcommandOptions& options) {
  try {
    return job_of(options);
  } catch (const Error& error) {
    throw as_typed(error, options.typed);
  }
}

}  // namespace dtl
