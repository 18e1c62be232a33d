#pragma once

#include <string>

namespace dtl::ring {

// How many connections one link needs for long operations: one for every 10 Gbit/s of the device
// with this numeric address, 8 where a cloud holds a connection to a part of the bandwidth.
int streams_of(const std::string& address);

}  // namespace dtl::ring
