#pragma once
// HostCounts: hosts and their slots as batch systems list them. Pure.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/host.h"
#include "plan/request/hostfile_line.h"
#include "plan/request/text_position.h"

namespace dtl {

// Hosts in order of their first mention; what is said again of one adds up.
class HostCounts {
 public:
  // where: for messages, of each host.
  explicit HostCounts(std::string where) : where_(std::move(where)) {}

  // Throws position.error() for what is no name of a host, and for too many of them or of slots.
  void add(std::string_view name, int slots, const TextPosition& position);
  std::size_t count() const { return hosts_.size(); }
  // Throws start.error() without any.
  std::vector<Host> take(const TextPosition& start);

 private:
  std::string where_;
  std::vector<Host> hosts_;
  std::map<std::string, std::size_t> index_;
};

// For each line that is not empty: its words, and where it begins.
void for_each_line(std::string_view text, const std::string& path,
                   const std::function<void(const std::vector<Word>&, const TextPosition&)>& use);

}  // namespace dtl
