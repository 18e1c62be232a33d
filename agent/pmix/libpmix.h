#pragma once
// LibPmix: libpmix's server, for the ranks of this node. libpmix has threads of its own. What it
// asks comes to `upcall` in one of them, which must only pass it on; answers may come from any
// thread. One at a time in a process: libpmix has global state.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/pmix/effects.h"
#include "agent/pmix/libpmix_module.h"
#include "agent/pmix/node_places.h"
#include "agent/pmix/upcalls.h"

namespace dtl::pmix {

class LibPmix {
 public:
  // folder: absolute; libpmix and the ranks have their session's files there. Throws Error(kOs).
  LibPmix(std::string folder, const NodePlaces& places, std::function<void(Upcall)> upcall);
  LibPmix(const LibPmix&) = delete;
  LibPmix& operator=(const LibPmix&) = delete;
  ~LibPmix();

  // What the rank's environment needs: "NAME=value".
  std::vector<std::string> variables_of(std::uint32_t rank) const;

  // Each answers one upcall.
  void answer(EndCollective result);
  void answer(EndQuestion result);
  void acknowledge(std::uint64_t id);
  // The answer is the upcall Told.
  void ask(const AskRank& question);
  void deregister(std::uint32_t rank);

  static std::string version();  // "4.2.2"

 private:
  void register_job();

  const std::string folder_;
  const NodePlaces& places_;
  const std::function<void(Upcall)> upcall_;
  WaitingUpcalls waiting_;
};

}  // namespace dtl::pmix
