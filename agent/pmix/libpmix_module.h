#pragma once
// The functions by which libpmix asks its host, dtpmix. libpmix's own thread calls them: each
// copies what it needs, since libpmix's arguments end with the call, and passes it on as an Upcall.

#include <pmix_server.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "agent/pmix/upcalls.h"

namespace dtl::pmix {

struct Waiting {  // libpmix's function for an answer, one of three kinds, and its argument
  pmix_modex_cbfunc_t modex = nullptr;
  pmix_op_cbfunc_t operation = nullptr;
  pmix_info_cbfunc_t infos = nullptr;
  void* argument = nullptr;
};

// The upcalls without an answer so far. Thread-safe.
class WaitingUpcalls {
 public:
  std::uint64_t keep(Waiting waiting);  // returns its id
  Waiting take(std::uint64_t id);       // empty if there is none

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, Waiting> waiting_;
  std::uint64_t ids_ = 0;
};

std::uint32_t failure_of(pmix_status_t status);  // as in PmixGiven

// For PMIx_server_init. Both must outlive libpmix's threads.
pmix_server_module_t* open_module(WaitingUpcalls& waiting,
                                  const std::function<void(Upcall)>& upcall);

// For PMIx_server_dmodex_request. argument: an AskRank from new.
void told_by_libpmix(pmix_status_t status, char* data, std::size_t size, void* argument);

}  // namespace dtl::pmix
