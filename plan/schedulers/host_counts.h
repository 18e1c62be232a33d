#pragma once
// HostCounts: hosts and their slots as batch systems list them, for PBS, LSF and Grid Engine. Pure.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/host.h"
#include "plan/request/hostfile_line.h"
#include "plan/request/text_position.h"

namespace dtl {

// Hosts in order of their first mention; the slots of repeated hosts add up. The limits of
// hostfiles apply.
class HostCounts {
 public:
  // where: the file or variable that names the hosts, for messages about each of them.
  explicit HostCounts(std::string where) : where_(std::move(where)) {}

  // Throws position.error() for an invalid hostname, and for too many hosts or slots.
  void add(std::string_view name, int slots, const TextPosition& position);
  std::size_t count() const { return hosts_.size(); }
  // Throws start.error() if there are none.
  std::vector<Host> take(const TextPosition& start);

 private:
  std::string where_;
  std::vector<Host> hosts_;
  std::map<std::string, std::size_t> index_;
};

// Calls back for each non-empty line, with its words and its beginning. Throws if the text is
// larger than a hostfile may be.
void for_each_line(std::string_view text, const std::string& path,
                   const std::function<void(const std::vector<Word>&, const TextPosition&)>& use);

}  // namespace dtl
