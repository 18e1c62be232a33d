#include "launcher/tree/branch_link.h"

#include <utility>

#include "base/error.h"

namespace dtl {

BranchLink::BranchLink(std::shared_ptr<BranchStream> carrier, const std::string& branch_key)
    : carrier_(std::move(carrier)),
      stream_(carrier_, TlsSession::Side::kCalls, branch_key, kBranchPurpose) {}

awaitable<std::string> BranchLink::read() {
  try {
    co_return co_await stream_.read();
  } catch (const Error&) {
    spoilt_ = true;
  }
  close();
  co_return std::string();
}

// Together, since each write is a record of TLS, a parcel and a frame.
awaitable<void> BranchLink::write_pieces(std::vector<std::string> pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  co_await stream_.write(std::move(all));
}

std::string BranchLink::ending() const {
  return spoilt_ || carrier_->has_ended() ? std::string(kConnectionLost) : std::string();
}

}  // namespace dtl
