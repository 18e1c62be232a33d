#pragma once
// KnownHostsIndex: the lines of one known_hosts file, cut and sorted once, so that each of a
// thousand hosts finds its own without reading the others' again. A name in full is found in a
// table. Hashed names (Debian's default) each have a salt of their own: such a line costs every
// host one HMAC. Immutable after construction, so threads may share it.

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "launcher/ssh/hmac_sha1.h"
#include "launcher/ssh/known_hosts.h"

namespace dtl {

class KnownHostsIndex {
 public:
  // path: for KnownHostsLine::where.
  KnownHostsIndex(std::string_view text, const std::string& path);

  // The lines about the host, in the order of the file. host: in small letters, "node1",
  // "[node1]:2222".
  std::vector<KnownHostsLine> about(const std::string& host) const;

 private:
  struct Hashed {
    std::size_t line;
    HmacSha1 salted;
    HmacSha1::Digest digest;
  };
  void add(std::size_t line, const std::string& hosts);
  void add_hashed(std::size_t line, const std::string& hosts);

  std::vector<KnownHostsLine> lines_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_name_;  // lists without patterns
  std::vector<std::size_t> patterned_;                                 // lists with "*", "?" or "!"
  std::vector<Hashed> hashed_;
};

}  // namespace dtl
