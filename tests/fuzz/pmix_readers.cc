// Reader of what nodes put into a collective of PMIx. The launcher joins the bytes of all nodes
// unread, so that an agent of one node chooses what dtpmix reads on the others.

#include "agent/pmix/contribution.h"
#include "tests/fuzz/reader.h"

namespace dtl::fuzz {
namespace {

void read_contributions(const std::string& bytes) {
  const auto all = pmix::read_contributions(bytes);
  if (!all) return;
  std::string again;
  for (const pmix::Contribution& one : *all) again += pmix::to_bytes(one);
  require(again == bytes, "other contributions than came");
}

}  // namespace

std::vector<Reader> pmix_readers() {
  using pmix::Collective;
  const std::string fence = pmix::to_bytes({Collective::kFence, 0, 0, "", "addresses"});
  const std::string group = pmix::to_bytes({Collective::kMakeGroup, 1, 1 << 16, "group", ""});
  return {{"pmix",
           {fence + group, pmix::to_bytes({Collective::kEndGroup, 2, 0, "group", "data"})},
           {std::string(8, '\xff'), std::string(4, '\xff'), std::string(8, '\0')},
           read_contributions,
           [](const Error&) { return false; }}};  // it does not throw
}

}  // namespace dtl::fuzz
