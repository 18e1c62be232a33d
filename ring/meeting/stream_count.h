#pragma once

#include <string>

namespace dtl::ring {

// How many connections one link needs for long operations: one for every 10 Gbit/s of the device
// with this numeric address, 8 where a cloud holds a connection to a part of the bandwidth, and at
// least one for each direction.
int streams_of(const std::string& address);

}  // namespace dtl::ring
