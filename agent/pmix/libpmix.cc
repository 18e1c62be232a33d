#include "agent/pmix/libpmix.h"

#include <pmix.h>
#include <pmix_server.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "agent/pmix/infos.h"
#include "agent/pmix/job_infos.h"
#include "agent/pmix/libpmix_module.h"
#include "base/error.h"

namespace dtl::pmix {
namespace {

pmix_status_t status_of(std::uint32_t failure) {
  return failure == 0 ? PMIX_SUCCESS : -static_cast<pmix_status_t>(failure);
}

Error refusal(const std::string& attempted, pmix_status_t status) {
  const char* reason = ::PMIx_Error_string(status);
  return {Exit::kOs, attempted, reason == nullptr ? "unknown reason" : reason};
}

void check(pmix_status_t status, const char* attempted) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  throw refusal(attempted, status);
}

// Of a generator of libpmix. Compressed maps, which contain zeros, are off.
std::string take_text(pmix_status_t status, char* text, const char* attempted) {
  check(status, attempted);
  std::string copy(text, std::strlen(text) + 1);  // with its zero
  std::free(text);
  return copy;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ',';
    text += word;
  }
  return text;
}

// What libpmix would do besides serving ranks costs most of its start: detecting the machine's
// hardware, loading plugins. Its settings are variables.
void set_up_environment(const std::string& folder, const std::string& host) {
  std::vector<std::string> strangers;  // of a server above us
  for (char** each = ::environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    for (const std::string_view start : {"PMIX_", "PMI_", "OMPI_", "PRTE_", "HWLOC_"}) {
      if (variable.starts_with(start)) {
        strangers.emplace_back(variable.substr(0, variable.find('=')));
      }
    }
  }
  for (const std::string& name : strangers) ::unsetenv(name.c_str());
  const std::pair<const char*, const char*> settings[] = {
      {"HWLOC_SYNTHETIC", "pu:1"},  // ranks detect the hardware themselves
      {"PMIX_MCA_mca_base_component_disable_dlopen", "1"},
      {"PMIX_MCA_mca_base_param_files", "none"},
      {"PMIX_MCA_gds", "hash"},
      {"PMIX_MCA_psec", "native"},
      {"PMIX_MCA_plog", "default"},  // what ranks log is an upcall
      {"PMIX_MCA_preg", "native,raw"},
      {"PMIX_MCA_pmix_server_fence_localonly_opt", "0"},  // upcalls for all fences
      {"PMIX_HOSTNAME", host.c_str()},
      {"TMPDIR", folder.c_str()},
  };
  for (const auto& [name, value] : settings) ::setenv(name, value, 1);
  // libpmix looks for settings there. It crashes without HOME if the user has no entry in
  // passwd(5).
  ::setenv("HOME", folder.c_str(), 0);
}

std::string make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0) throw system_error(path + ": cannot make the folder");
  return path;
}

// A copy that libpmix gives back when it has read it.
struct Given {
  std::string data;
  Infos infos;
};
void release(void* given) {
  delete static_cast<Given*>(given);
}

void ignore(pmix_status_t, void*) {}

}  // namespace

LibPmix::LibPmix(std::string folder, const NodePlaces& places, std::function<void(Upcall)> upcall)
    : folder_(std::move(folder)), places_(places), upcall_(std::move(upcall)) {
  const std::string& host = places.hosts[places.node];
  const std::string own = make_folder(folder_ + "/libpmix");
  set_up_environment(own, host);
  Infos infos;
  infos.add_text(PMIX_SERVER_NSPACE, places.space + "-server");
  infos.add_rank(PMIX_SERVER_RANK, places.node);
  infos.add_text(PMIX_SERVER_TMPDIR, own);
  infos.add_text(PMIX_SYSTEM_TMPDIR, own);
  infos.add_text(PMIX_HOSTNAME, host);
  infos.add_flag(PMIX_SERVER_TOOL_SUPPORT, false);
  check(::PMIx_server_init(open_module(waiting_, upcall_), infos.data(), infos.size()),
        "cannot start libpmix's server");
  register_job();
}

LibPmix::~LibPmix() {
  ::PMIx_server_finalize();
}

void LibPmix::register_job() {
  char* text = nullptr;
  const pmix_status_t mapped = ::PMIx_generate_regex(joined(places_.hosts).c_str(), &text);
  const std::string node_map = take_text(mapped, text, "cannot name the job's nodes to libpmix");
  std::string ranks;
  for (const auto& of_node : places_.of_node) {
    if (&of_node != &places_.of_node.front()) ranks += ';';
    ranks += list_of(of_node);
  }
  text = nullptr;
  const pmix_status_t placed = ::PMIx_generate_ppn(ranks.c_str(), &text);
  const std::string rank_map = take_text(placed, text, "cannot place the job's ranks for libpmix");
  Infos infos;
  describe_job(places_, node_map, rank_map, make_folder(folder_ + "/ranks"), infos);
  const int here = static_cast<int>(places_.here().size());
  check(::PMIx_server_register_nspace(process_of(places_.space, 0).nspace, here, infos.data(),
                                      infos.size(), nullptr, nullptr),
        "cannot describe the job to libpmix");
  for (const std::uint32_t rank : places_.here()) {
    const pmix_proc_t process = process_of(places_.space, rank);
    check(
        ::PMIx_server_register_client(&process, ::getuid(), ::getgid(), nullptr, nullptr, nullptr),
        "cannot register a rank with libpmix");
  }
}

std::vector<std::string> LibPmix::variables_of(std::uint32_t rank) const {
  const pmix_proc_t process = process_of(places_.space, rank);
  char** environment = nullptr;
  check(::PMIx_server_setup_fork(&process, &environment), "cannot set up a rank's environment");
  std::vector<std::string> variables;
  for (char** each = environment; each != nullptr && *each != nullptr; ++each) {
    variables.emplace_back(*each);
    std::free(*each);
  }
  std::free(environment);
  return variables;
}

void LibPmix::answer(EndCollective result) {
  const Waiting waiting = waiting_.take(result.id);
  const pmix_status_t status = status_of(result.failure);
  if (waiting.operation != nullptr) return waiting.operation(status, waiting.argument);
  auto given = std::make_unique<Given>();
  given->data = std::move(result.data);
  if (waiting.modex != nullptr) {
    const bool empty = given->data.empty();
    Given* kept = given.release();
    return waiting.modex(status, empty ? nullptr : kept->data.data(), kept->data.size(),
                         waiting.argument, release, kept);
  }
  if (waiting.infos == nullptr) return;
  Infos& infos = given->infos;
  if (result.has_context) infos.add_size(PMIX_GROUP_CONTEXT_ID, result.context);
  if (!given->data.empty()) infos.add_bytes(PMIX_GROUP_ENDPT_DATA, given->data);
  if (!result.members.empty()) {
    std::vector<pmix_proc_t> members;
    for (const std::uint32_t rank : result.members) {
      members.push_back(process_of(places_.space, rank));
    }
    infos.add_processes(PMIX_GROUP_MEMBERSHIP, members);
  }
  Given* kept = given.release();
  waiting.infos(status, kept->infos.data(), kept->infos.size(), waiting.argument, release, kept);
}

void LibPmix::answer(EndQuestion result) {
  EndCollective same;
  same.id = result.id;
  same.failure = result.failure;
  same.data = std::move(result.data);
  answer(std::move(same));
}

void LibPmix::acknowledge(std::uint64_t id) {
  const Waiting waiting = waiting_.take(id);
  if (waiting.operation != nullptr) waiting.operation(PMIX_SUCCESS, waiting.argument);
}

void LibPmix::ask(const AskRank& question) {
  const pmix_proc_t process = process_of(places_.space, question.rank);
  auto argument = std::make_unique<AskRank>(question);
  const pmix_status_t status =
      ::PMIx_server_dmodex_request(&process, told_by_libpmix, argument.get());
  if (status == PMIX_SUCCESS) {
    (void)argument.release();  // told() deletes it
  } else {
    upcall_(Told{question.rank, question.node, question.number, failure_of(status), {}});
  }
}

void LibPmix::deregister(std::uint32_t rank) {
  const pmix_proc_t process = process_of(places_.space, rank);
  ::PMIx_server_deregister_client(&process, ignore, nullptr);
}

std::string LibPmix::version() {
  // "OpenPMIx 4.2.2 (PMIx Standard: ...)"
  const std::string_view text = ::PMIx_Get_version();
  const std::size_t start = text.find_first_of("0123456789");
  if (start == std::string_view::npos) return std::string(text);
  return std::string(text.substr(start, text.find_first_not_of("0123456789.", start) - start));
}

}  // namespace dtl::pmix
