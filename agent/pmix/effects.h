#pragma once
// What dtpmix's state wants done, in order: messages for the agent, and answers for libpmix.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "wire/messages.h"

namespace dtl::pmix {

struct Send {
  Message message;
};
struct EndCollective {  // libpmix's ranks go on
  std::uint64_t id = 0;
  std::uint32_t failure = 0;
  bool has_context = false;
  std::uint64_t context = 0;
  std::vector<std::uint32_t> members;  // of a group
  std::string data;
};
struct EndQuestion {  // what a rank of another node has put
  std::uint64_t id = 0;
  std::uint32_t failure = 0;
  std::string data;
};
struct AskRank {  // libpmix for what a rank of this node has put; the answer is Told
  std::uint32_t rank = 0, node = 0, number = 0;
};
struct Acknowledge {  // once all messages so far have been written
  std::uint64_t id = 0;
};
struct Deregister {  // the rank has ended
  std::uint32_t rank = 0;
};
using Effect = std::variant<Send, EndCollective, EndQuestion, AskRank, Acknowledge, Deregister>;

// Cuts data into the parts that messages may have; one, empty, if there is none.
std::vector<std::string> cut_into_parts(std::string data);

}  // namespace dtl::pmix
