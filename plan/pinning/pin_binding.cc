// Converts words to fields of a PinRequest. pin_objects.h finds the objects on a node.
#include "plan/pinning/pin_binding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "plan/pinning/pin_words.h"

namespace dtl {
namespace {

constexpr PinForm kBindForm = {
    "none, rr, user:0+2,1-3x2; or with an optional :N hwthread, core, l1cache, l2cache, l3cache, "
    "numa, socket, board, machine",
    "none,rr,user,hwthread,core,l1cache,l2cache,l3cache,numa,socket,board,machine", "core", ""};
constexpr PinForm kMapForm = {
    "with an optional :N or :PE=N slot, hwthread, core, l1cache, l2cache, l3cache, numa, socket, "
    "machine; or ppr:N:OBJECT",
    "slot,hwthread,core,l1cache,l2cache,l3cache,numa,socket,machine,node,ppr", "socket", ""};
constexpr PinForm kMemoryForm = {"none, firsttouch, preferred, bind or interleave",
                                 "none,firsttouch,preferred,bind,interleave", "bind", ""};

// Hydra and Open MPI also bind to devices. Those words get a separate error: "is not an object"
// would make the user look for a typing error.
void refuse_devices(const PinText& source, const std::string& word) {
  for (const char* device : {"gpu", "pci", "ib", "en", "eth", "hfi", "opa", "dist", "seq"}) {
    if (!word.starts_with(device)) continue;
    throw source.bad(word,
                     "asks for something that dtlaunch does not look for: its jobs run on CPUs");
  }
}

// "0+2,1-3x2,5": '+' joins CPUs, '-' is a range, xN repeats.
std::vector<CpuSet> parse_user_list(const PinText& source, const std::string& list) {
  // No node has more ranks; "0x999999999" is a short text.
  constexpr std::size_t kMost = 65536;
  std::vector<CpuSet> masks;
  for (const std::string& piece : split(list, ',')) {
    const std::size_t times = piece.find('x');
    const int repeat = times == piece.npos ? 1 : pin_count(source, piece.substr(times + 1));
    CpuSet mask;
    for (const std::string& part : split(piece.substr(0, times), '+')) {
      for (const int cpu : parse_cpu_numbers(source, part)) mask.add(cpu);
    }
    if (masks.size() + static_cast<std::size_t>(repeat) > kMost) {
      throw source.bad(piece, "makes the list too long");
    }
    masks.insert(masks.end(), static_cast<std::size_t>(repeat), mask);
  }
  return masks;
}

void parse_bind(const PinText& source, PinRequest& request) {
  // plain_word() has made it lower-case.
  std::vector<std::string> words = split(source.text, ':');
  const std::string first = words.front();
  refuse_devices(source, first);
  request.origin = source.origin + "=" + source.text;
  if (first == "none") {
    request.kind = PinKind::kNone;
  } else if (first == "user") {
    if (words.size() != 2) throw source.bad(source.text);
    request.kind = PinKind::kUser;
    request.masks = parse_user_list(source, words[1]);
  } else if (first == "rr") {
    request.kind = PinKind::kProcessor;  // one CPU after another, in the kernel's numbering
    request.object = PinObject::kThread;
    request.order = PinOrder::kRange;
  } else {
    const auto object = pin_object(first);
    if (!object) throw source.bad(first, "is not an object");
    request.kind = PinKind::kObject;
    request.object = *object;
    for (std::size_t i = 1; i < words.size(); ++i) {
      // Open MPI's words: both describe what always happens here.
      if (words[i] == "overload-allowed" || words[i] == "if-supported") continue;
      request.count = pin_count(source, words[i]);
    }
  }
}

// The words after the object: N, PE=N, SPAN, OVERSUBSCRIBE, ...
void parse_map_setting(const PinText& source, const std::string& word, bool is_ppr,
                       PinRequest& request) {
  if (word.starts_with("pe=")) {
    request.count = pin_count(source, word.substr(3));
    return;
  }
  // Accepted, without effect on pins.
  for (const char* known : {"span", "oversubscribe", "nooversubscribe", "inherit", "noinherit",
                            "hwtcpus", "corecpus"}) {
    if (word == known) return;
  }
  if (is_ppr) throw source.bad(word);
  request.map_step = pin_count(source, word);
}

void parse_map(const PinText& source, PinRequest& request) {
  std::vector<std::string> words;
  // Open MPI separates settings by colons and commas: "numa:PE=2,SPAN".
  for (const std::string& part : split(source.text, ':')) {
    for (const std::string& word : split(part, ',')) words.push_back(word);
  }
  if (request.origin.empty()) request.origin = source.origin + "=" + source.text;
  const bool is_ppr = words.front() == "ppr";
  if (is_ppr && words.size() < 3) throw source.bad(source.text);
  // Open MPI's ":OVERSUBSCRIBE" leaves the object out.
  const bool only_settings = words.front().empty() && words.size() > 1;
  const std::string name = is_ppr ? words[2] : only_settings ? "slot" : words[0];
  refuse_devices(source, name);
  const auto object = pin_object(name);
  if (!object) throw source.bad(name, "is not an object");
  if (is_ppr) request.per_map = pin_count(source, words[1]);
  for (std::size_t i = is_ppr ? 3 : 1; i < words.size(); ++i) {
    parse_map_setting(source, words[i], is_ppr, request);
  }
  request.map = *object;
}

}  // namespace

void parse_bind_and_map(const std::string& bind_to, const std::string& map_by,
                        PinRequest& request) {
  request.origin.clear();
  const bool bound = !bind_to.empty();
  if (bound) parse_bind({"--bind-to", plain_word(bind_to), kBindForm}, request);
  if (map_by.empty()) return;
  const PinText map{"--map-by", plain_word(map_by), kMapForm};
  parse_map(map, request);
  if (bound) return;
  // As in Open MPI: cores if a number of cores or a single core is requested, else the object of
  // -map-by.
  request.kind = PinKind::kObject;
  const bool by_core = request.map_step == 1 && request.per_map == 0 && request.count > 1;
  const bool by_slot = map.text.starts_with("slot") || map.text.starts_with(":");
  const bool places_only = *request.map == PinObject::kNode || by_slot;
  if (places_only && request.count == 1) {
    request.kind = PinKind::kDefault;  // says where ranks go, but not their CPUs there
    return;
  }
  const bool cores = by_core || request.count > 1 || request.per_map > 0;
  request.object = cores ? PinObject::kCore : *request.map;
}

// Recognises only the two forms that place ranks.
MapPlacement placement_of_map(const std::string& map_by) {
  const std::vector<std::string> words = split(plain_word(map_by), ':');
  MapPlacement placement;
  for (std::size_t i = 1; i < words.size(); ++i) {
    for (const std::string& setting : split(words[i], ',')) {
      placement.oversubscribe |= setting == "oversubscribe";
    }
  }
  placement.round_robin = words[0] == "node";
  if (words.size() >= 3 && words[0] == "ppr" && pin_object(words[2]) == PinObject::kNode) {
    if (const auto ranks = parse_integer(words[1], 1, kMaxRanks)) {
      placement.ranks_per_node = static_cast<int>(*ranks);
    }
  }
  return placement;
}

MemoryPolicy parse_memory_bind(const std::string& text) {
  const PinText source{"--membind", plain_word(text), kMemoryForm};
  const std::string word = split(source.text, ':').front();
  if (word == "none" || word == "firsttouch") return MemoryPolicy::kDefault;
  if (word == "bind") return MemoryPolicy::kBind;
  if (word == "interleave") return MemoryPolicy::kInterleave;
  if (word == "preferred") return MemoryPolicy::kPreferred;
  throw source.bad(word, word == "nexttouch" || word == "replicate"
                             ? "is a policy that Linux does not have"
                             : "is not a policy");
}

}  // namespace dtl
