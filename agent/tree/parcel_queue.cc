// Parcels are encoded once and written as they are, many at a time.
#include "agent/tree/parcel_queue.h"

#include <utility>

namespace dtl {
namespace {

// A piece gets no more parcels from here on.
constexpr std::size_t kPieceBytes = 64 << 10;

}  // namespace

void ParcelQueue::push(const Parcel& parcel) {
  if (rest_.empty() || rest_.back().size() >= kPieceBytes) rest_.emplace_back();
  encode_parcel(parcel, rest_.back());
  bytes_ += kParcelHeadBytes + parcel.bytes.size();
}

void ParcelQueue::push_first(const Parcel& parcel) {
  encode_parcel(parcel, first_);
  bytes_ += kParcelHeadBytes + parcel.bytes.size();
}

std::string ParcelQueue::take() {
  std::string taken = std::exchange(first_, {});
  if (!rest_.empty() && taken.size() < kPieceBytes) {
    if (taken.empty()) {
      taken = std::move(rest_.front());
    } else {
      taken += rest_.front();
    }
    rest_.pop_front();
  }
  bytes_ -= taken.size();
  return taken;
}

void ParcelQueue::clear() {
  first_.clear();
  rest_.clear();
  bytes_ = 0;
}

}  // namespace dtl
