#pragma once
// How many TCP connections a link gets where the user names no number. Only rank 0's answer counts,
// since both ends of a link need the same (Settings).

#include <string>

namespace dtl::ring {

// How many connections one link needs for long operations: one for every 10 Gbit/s of the device
// with this numeric address, and at least one for each direction. It is 8 on AWS, which holds one
// connection to a part of the bandwidth, and 4 on Google's cloud. An empty or unknown address
// counts as a slow device.
int streams_of(const std::string& address);

}  // namespace dtl::ring
