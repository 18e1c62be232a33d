// libpmix's functions of a host have no argument of ours, hence the pointers below. They are set
// before libpmix's threads exist.
#include "agent/pmix/libpmix_module.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "agent/pmix/effects.h"

namespace dtl::pmix {
namespace {

static_assert(kNoResource == -PMIX_ERR_OUT_OF_RESOURCE && kNotFound == -PMIX_ERR_NOT_FOUND &&
              kNotSupported == -PMIX_ERR_NOT_SUPPORTED);

WaitingUpcalls* waiting_upcalls = nullptr;
const std::function<void(Upcall)>* pass_on = nullptr;

// Empty: all ranks. nullopt: something that no MPI does.
std::optional<std::vector<std::uint32_t>> ranks_of(const pmix_proc_t* processes, std::size_t size) {
  std::vector<std::uint32_t> ranks;
  if (processes == nullptr || size == 0) return std::nullopt;
  for (std::size_t i = 0; i < size; ++i) {
    if (processes[i].rank == PMIX_RANK_WILDCARD) return std::vector<std::uint32_t>{};
    if (processes[i].rank >= PMIX_RANK_VALID) return std::nullopt;
    ranks.push_back(processes[i].rank);
  }
  return ranks;
}

bool has_key(const pmix_info_t& info, const char* key) {
  return std::strncmp(info.key, key, sizeof info.key) == 0;
}

bool is_true(const pmix_info_t& info) {
  return info.value.type == PMIX_UNDEF || (info.value.type == PMIX_BOOL && info.value.data.flag);
}

// Each copies what it needs: libpmix's arguments end with the call.
struct Upcalls {
  static pmix_status_t connected(const pmix_proc_t* process, void*, pmix_info_t*, std::size_t,
                                 pmix_op_cbfunc_t, void*) {
    (*pass_on)(Connected{process->rank});
    return PMIX_OPERATION_SUCCEEDED;
  }

  static pmix_status_t finalised(const pmix_proc_t* process, void*, pmix_op_cbfunc_t, void*) {
    (*pass_on)(Finalised{process->rank});
    return PMIX_OPERATION_SUCCEEDED;
  }

  static pmix_status_t aborted(const pmix_proc_t* process, void*, int code, const char text[],
                               pmix_proc_t*, std::size_t, pmix_op_cbfunc_t answer, void* argument) {
    Waiting waiting;
    waiting.operation = answer;
    waiting.argument = argument;
    (*pass_on)(Aborted{waiting_upcalls->keep(waiting), process->rank,
                       static_cast<std::uint32_t>(code), text == nullptr ? "" : text});
    return PMIX_SUCCESS;
  }

  static pmix_status_t enter(Collective collective, std::string name, const pmix_proc_t* processes,
                             std::size_t size, std::string data, bool wants_context,
                             const Waiting& waiting) {
    auto ranks = ranks_of(processes, size);
    if (!ranks) return PMIX_ERR_NOT_SUPPORTED;
    (*pass_on)(Entered{waiting_upcalls->keep(waiting), collective, std::move(name),
                       std::move(*ranks), wants_context, std::move(data)});
    return PMIX_SUCCESS;
  }

  // The data becomes ours.
  static pmix_status_t fence(const pmix_proc_t* processes, std::size_t size, const pmix_info_t*,
                             std::size_t, char* data, std::size_t bytes, pmix_modex_cbfunc_t answer,
                             void* argument) {
    std::string copy;
    if (data != nullptr) copy.assign(data, bytes);
    std::free(data);
    Waiting waiting;
    waiting.modex = answer;
    waiting.argument = argument;
    return enter(Collective::kFence, {}, processes, size, std::move(copy), false, waiting);
  }

  static pmix_status_t connect(const pmix_proc_t* processes, std::size_t size, const pmix_info_t*,
                               std::size_t, pmix_op_cbfunc_t answer, void* argument) {
    Waiting waiting;
    waiting.operation = answer;
    waiting.argument = argument;
    return enter(Collective::kConnect, {}, processes, size, {}, false, waiting);
  }

  static pmix_status_t disconnect(const pmix_proc_t* processes, std::size_t size,
                                  const pmix_info_t*, std::size_t, pmix_op_cbfunc_t answer,
                                  void* argument) {
    Waiting waiting;
    waiting.operation = answer;
    waiting.argument = argument;
    return enter(Collective::kDisconnect, {}, processes, size, {}, false, waiting);
  }

  static pmix_status_t group(pmix_group_operation_t operation, char* name,
                             const pmix_proc_t* processes, std::size_t size,
                             const pmix_info_t* directives, std::size_t count,
                             pmix_info_cbfunc_t answer, void* argument) {
    std::string data;
    bool wants_context = false, is_local = false;
    for (std::size_t i = 0; i < count; ++i) {
      const pmix_info_t& info = directives[i];
      if (has_key(info, PMIX_GROUP_ASSIGN_CONTEXT_ID)) wants_context = is_true(info);
      if (has_key(info, PMIX_GROUP_LOCAL_ONLY)) is_local = is_true(info);
      if (has_key(info, PMIX_GROUP_ENDPT_DATA) && info.value.type == PMIX_BYTE_OBJECT &&
          info.value.data.bo.bytes != nullptr) {
        data.assign(info.value.data.bo.bytes, info.value.data.bo.size);
      }
    }
    const bool makes = operation == PMIX_GROUP_CONSTRUCT;
    if (!makes && operation != PMIX_GROUP_DESTRUCT) return PMIX_ERR_NOT_SUPPORTED;
    // libpmix 5.0 calls twice for the end of a local group, unless the first call ends it.
    if (is_local && !wants_context) return PMIX_OPERATION_SUCCEEDED;
    Waiting waiting;
    waiting.infos = answer;
    waiting.argument = argument;
    return enter(makes ? Collective::kMakeGroup : Collective::kEndGroup,
                 name == nullptr ? "" : name, processes, size, std::move(data), wants_context,
                 waiting);
  }

  static pmix_status_t direct_modex(const pmix_proc_t* process, const pmix_info_t*, std::size_t,
                                    pmix_modex_cbfunc_t answer, void* argument) {
    Waiting waiting;
    waiting.modex = answer;
    waiting.argument = argument;
    (*pass_on)(Asked{waiting_upcalls->keep(waiting), process->rank});
    return PMIX_SUCCESS;
  }

  // What dtlaunch does not have. MPI programs get an error from the call, which most of them do not
  // survive.
  static pmix_status_t refuse(const pmix_proc_t* process, const char* why) {
    (*pass_on)(Said{process->rank, why, 0});
    return PMIX_ERR_NOT_SUPPORTED;
  }

  static pmix_status_t spawn(const pmix_proc_t* process, const pmix_info_t*, std::size_t,
                             const pmix_app_t*, std::size_t, pmix_spawn_cbfunc_t, void*) {
    return refuse(process,
                  "MPI_Comm_spawn fails: dtlaunch starts no further ranks while a job runs");
  }

  // Open MPI asks for the same in each of these.
  static constexpr const char* kNoNames =
      "MPI_Publish_name, MPI_Lookup_name, MPI_Comm_accept and MPI_Comm_connect fail: dtlaunch has "
      "no name service";

  static pmix_status_t publish(const pmix_proc_t* process, const pmix_info_t*, std::size_t,
                               pmix_op_cbfunc_t, void*) {
    return refuse(process, kNoNames);
  }

  static pmix_status_t lookup(const pmix_proc_t* process, char**, const pmix_info_t*, std::size_t,
                              pmix_lookup_cbfunc_t, void*) {
    return refuse(process, kNoNames);
  }

  // Events reach the ranks of this node, by libpmix itself.
  static pmix_status_t register_events(pmix_status_t*, std::size_t, const pmix_info_t*, std::size_t,
                                       pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
  }
  static pmix_status_t deregister_events(pmix_status_t*, std::size_t, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
  }
  static pmix_status_t notify_event(pmix_status_t, const pmix_proc_t*, pmix_data_range_t,
                                    pmix_info_t*, std::size_t, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
  }

  // Without it libpmix does not remove files that ranks have registered for that.
  static pmix_status_t job_control(const pmix_proc_t*, const pmix_proc_t*, std::size_t,
                                   const pmix_info_t*, std::size_t, pmix_info_cbfunc_t, void*) {
    return PMIX_ERR_NOT_SUPPORTED;
  }

  // Open MPI's warnings and errors.
  static void log(const pmix_proc_t* process, const pmix_info_t* data, std::size_t size,
                  const pmix_info_t*, std::size_t, pmix_op_cbfunc_t answer, void* argument) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
      const bool shown = has_key(data[i], PMIX_LOG_STDERR) || has_key(data[i], PMIX_LOG_STDOUT);
      if (!shown || data[i].value.type != PMIX_STRING || data[i].value.data.string == nullptr) {
        continue;
      }
      text += data[i].value.data.string;
      text += '\n';
    }
    Waiting waiting;
    waiting.operation = answer;
    waiting.argument = argument;
    // libpmix holds a lock that the answer needs, so not from here.
    (*pass_on)(Said{process->rank, std::move(text), waiting_upcalls->keep(waiting)});
  }
};

// A later libpmix copies more functions than the header that this was compiled with declares.
struct PaddedModule {
  pmix_server_module_t module;
  void* later[64];
};

PaddedModule make_module() {
  using U = Upcalls;
  PaddedModule padded;
  std::memset(&padded, 0, sizeof padded);
  pmix_server_module_t& module = padded.module;
  module.client_connected2 = U::connected;
  module.client_finalized = U::finalised;
  module.abort = U::aborted;
  module.fence_nb = U::fence;
  module.direct_modex = U::direct_modex;
  module.publish = U::publish;
  module.lookup = U::lookup;
  module.spawn = U::spawn;
  module.connect = U::connect;
  module.disconnect = U::disconnect;
  module.register_events = U::register_events;
  module.deregister_events = U::deregister_events;
  module.notify_event = U::notify_event;
  module.log = U::log;
  module.job_control = U::job_control;
  module.group = U::group;
  return padded;
}

}  // namespace

std::uint32_t failure_of(pmix_status_t status) {
  return status == PMIX_SUCCESS ? 0 : static_cast<std::uint32_t>(-status);
}

std::uint64_t WaitingUpcalls::keep(Waiting waiting) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace(++ids_, waiting);
  return ids_;
}

Waiting WaitingUpcalls::take(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return {};
  const Waiting waiting = found->second;
  waiting_.erase(found);
  return waiting;
}

pmix_server_module_t* open_module(WaitingUpcalls& waiting,
                                  const std::function<void(Upcall)>& upcall) {
  static PaddedModule module = make_module();
  waiting_upcalls = &waiting;
  pass_on = &upcall;
  return &module.module;
}

void told_by_libpmix(pmix_status_t status, char* data, std::size_t size, void* argument) {
  const std::unique_ptr<AskRank> question(static_cast<AskRank*>(argument));
  Told answer{question->rank, question->node, question->number, failure_of(status), {}};
  if (data != nullptr) answer.data.assign(data, size);
  (*pass_on)(std::move(answer));
}
}  // namespace dtl::pmix
