#pragma once
// ParcelQueue: parcels that wait to be written to one edge of a tree, encoded. Pure.

#include <cstddef>
#include <deque>
#include <string>

#include "wire/tree/parcel.h"

namespace dtl {

class ParcelQueue {
 public:
  void push(const Parcel& parcel);
  void push_first(const Parcel& parcel);  // before all that was pushed
  bool has_first() const { return !first_.empty(); }
  // Whole parcels for one write, at most 200 KiB; empty: none are left.
  std::string take();
  std::size_t bytes() const { return bytes_; }
  bool is_empty() const { return bytes_ == 0; }
  void clear();

 private:
  std::string first_;
  std::deque<std::string> rest_;
  std::size_t bytes_ = 0;
};

}  // namespace dtl
