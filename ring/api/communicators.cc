// The C ABI of communicators, waiting and memory: argument checks, and no exception leaves it.
// Calls that only read (rank, size, the last error) also work in a forked child and after a
// failure.
#include "ring/dtring.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <vector>

#include "ring/api/c_abi.h"
#include "ring/api/environment.h"

using namespace dtl::ring::c_abi;  // NOLINT: the whole file is about it
using dtl::ring::Comm;
using dtl::ring::CommError;
using dtl::ring::EnvironmentOptions;
using dtl::ring::kDefaultConnectTimeout_ms;
using dtl::ring::kDefaultOperationTimeout_ms;
using dtl::ring::kDefaultWarnTimeout_ms;

namespace {

// A later header of the same ABI may have more options, an earlier one fewer. A program built with
// the earlier header passes its size, and has no listener.
bool is_known_size(std::uint32_t size) {
  return size == sizeof(dt_options) || size == offsetof(dt_options, listener);
}

dt_options all_options(const dt_options& given) {
  dt_options all{};
  // Not 0, which is a descriptor: an earlier header's options end before this field.
  all.listener = -1;
  std::memcpy(&all, &given, given.size);
  return all;
}

// Calls `create`. For an error in its options it creates a communicator that only answers that
// error, so the caller gets the text from dt_last_error as usual.
template <typename Create>
int create_or_fail(dt_comm** comm, Create create) {
  Comm* created = nullptr;
  int status = DT_E_NOMEM;
  try {
    try {
      status = create(&created);
    } catch (const CommError& error) {
      status = error.dt_status();
      created = dtl::ring::failed_comm(status, error.what());
    }
  } catch (const std::exception&) {
    status = DT_E_NOMEM;
  }
  *comm = as_c(created);
  return status;
}

}  // namespace

uint32_t dt_abi_version(void) {
  return DT_ABI;
}

int dt_options_init(dt_options* options, uint32_t size) {
  if (options == nullptr || !is_known_size(size)) return DT_E_INVAL;
  std::memset(options, 0, size);
  options->size = size;
  options->world = 1;
  options->connect_timeout_ms = kDefaultConnectTimeout_ms;
  options->operation_timeout_ms = kDefaultOperationTimeout_ms;
  options->warn_timeout_ms = kDefaultWarnTimeout_ms;
  options->wire = DT_WIRE_EXACT;
  if (size == sizeof(dt_options)) options->listener = -1;
  return DT_OK;
}

int dt_comm_create(const dt_options* options, dt_comm** comm) {
  if (comm == nullptr) return DT_E_INVAL;
  *comm = nullptr;
  if (options == nullptr || !is_known_size(options->size)) return DT_E_INVAL;
  return create_or_fail(comm, [&](Comm** created) {
    const dt_options all = all_options(*options);
    if ((all.flags & DT_ENVIRONMENT) != 0) {
      const EnvironmentOptions completed(all);
      return dtl::ring::create_comm(completed.get(), completed.tuning(), created);
    }
    dtl::ring::Tuning tuning;
    tuning.tunes = true;
    return dtl::ring::create_comm(all, tuning, created);
  });
}

int dt_comm_from_env(dt_comm** comm) {
  if (comm == nullptr) return DT_E_INVAL;
  *comm = nullptr;
  return create_or_fail(comm, [](Comm** created) {
    const EnvironmentOptions options;
    return dtl::ring::create_comm(options.get(), options.tuning(), created);
  });
}

int dt_comm_rank(const dt_comm* comm) {
  return comm == nullptr ? DT_E_INVAL : of(comm)->rank();
}

int dt_comm_size(const dt_comm* comm) {
  return comm == nullptr ? DT_E_INVAL : of(comm)->world();
}

int dt_comm_abort(dt_comm* comm, const char* why) {
  if (!is_usable(comm)) return DT_E_INVAL;
  try {
    of(comm)->calls().abort(why == nullptr ? "" : why);
    return DT_OK;
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}

int dt_comm_destroy(dt_comm* comm) {
  if (comm == nullptr) return DT_OK;
  // The thread cannot be joined in a forked child. The child's copy is leaked until it exits.
  if (!of(comm)->is_of_this_process()) return DT_E_INVAL;
  delete of(comm);
  return DT_OK;
}

int dt_comm_split(dt_comm* comm, int color, int key, dt_comm** part) {
  if (part == nullptr) return DT_E_INVAL;
  *part = nullptr;
  if (!is_usable(comm)) return DT_E_INVAL;
  Comm* created = nullptr;
  const int status = guarded([&] { return of(comm)->split(color, key, &created); });
  *part = as_c(created);
  return status;
}

int dt_wait(dt_comm* comm, dt_work work, int32_t timeout_ms) {
  return is_usable(comm) ? of(comm)->calls().wait(work, timeout_ms) : DT_E_INVAL;
}

int dt_test(dt_comm* comm, dt_work work) {
  return dt_wait(comm, work, 0);
}

int dt_wait_any(dt_comm* comm, dt_work* works, int32_t* statuses, uint32_t max, uint32_t* count,
                int32_t timeout_ms) {
  if (!is_usable(comm) || works == nullptr || statuses == nullptr || count == nullptr || max == 0) {
    return DT_E_INVAL;
  }
  return of(comm)->calls().wait_any(works, statuses, max, count, timeout_ms);
}

int dt_completion_fd(dt_comm* comm) {
  return is_usable(comm) ? of(comm)->calls().queue().completion_fd() : DT_E_INVAL;
}

void* dt_alloc(dt_comm* comm, uint64_t bytes) {
  if (!is_usable(comm) || bytes > kMaxBytes) return nullptr;
  void* memory = nullptr;
  (void)guarded([&] {
    memory = of(comm)->memory().allocate(bytes);
    return DT_OK;
  });
  return memory;
}

int dt_free(dt_comm* comm, void* memory) {
  if (!is_usable(comm)) return DT_E_INVAL;
  return guarded([&] { return of(comm)->memory().release(memory); });
}

int dt_stats_json(dt_comm* comm, char* text, uint32_t bytes) {
  if (!is_usable(comm) || text == nullptr || bytes == 0) return DT_E_INVAL;
  return guarded([&] {
    const std::string json = of(comm)->stats();
    const std::size_t length = std::min<std::size_t>(json.size(), bytes - 1);
    std::memcpy(text, json.data(), length);
    text[length] = '\0';
    return static_cast<int>(json.size());
  });
}

const char* dt_strerror(int status) {
  switch (status) {
    case DT_OK:
      return "success";
    case DT_PENDING:
      return "the operation is still under way";
    case DT_E_INVAL:
      return "an argument is wrong";
    case DT_E_TIMEOUT:
      return "timeout";
    case DT_E_PEER:
      return "a peer was lost";
    case DT_E_MISMATCH:
      return "ranks called different operations";
    case DT_E_ABORTED:
      return "the communicator was aborted";
    case DT_E_AUTH:
      return "no secret, or a peer with another one";
    case DT_E_SYS:
      return "the operating system refused";
    case DT_E_NOMEM:
      return "out of memory";
    case DT_E_VERSION:
      return "a peer runs another version of dtring";
    default:
      return "unknown status";
  }
}

int dt_last_error(dt_comm* comm, char* text, uint32_t bytes) {
  if (comm == nullptr || text == nullptr || bytes == 0) return DT_E_INVAL;
  try {
    const std::string error = of(comm)->calls().queue().error().text();
    const std::size_t length = std::min<std::size_t>(error.size(), bytes - 1);
    std::memcpy(text, error.data(), length);
    text[length] = '\0';
    return DT_OK;
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}
