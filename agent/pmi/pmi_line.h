#pragma once
// PMI-1's wire format, as one rank writes it: "cmd=put kvsname=s key=k value=v\n", or, to spawn,
// "mcmd=spawn\nnprocs=1\n...endcmd\n". It does not know what commands mean. Bytes come from any
// program: a command without a name is the answer to what is not PMI-1, after which the stream
// cannot be read further.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtl {

// A put with the longest key and value takes 5 KiB. An abort's message may be longer.
constexpr std::size_t kMaxPmiLine = 16 << 10;

struct PmiCommand {
  std::string name;  // "put"; empty: malformed
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string line;  // as it was sent, for reports; of a spawn, the last one

  const std::string* find(std::string_view key) const;  // null: it has no such attribute
};

// A word without '=' is an attribute without a value. A value ends at a space, except that of
// `value` and `message`, which takes the rest of the line. Backslashes stay: newer MPICHs escape
// with them and resolve them when they get the value back, others do neither.
PmiCommand parse_pmi_line(std::string_view line);  // without its "\n"

enum class PmiVersion { k1, k2 };

// Finds commands in a rank's bytes, however they are cut. Keeps at most a line or message of them.
class PmiReader {
 public:
  // Of what follows; at first k1. A line with init is read in both: a program that spoke PMI-2 may
  // have died, and another one begins.
  void expect(PmiVersion version) { version_ = version; }
  PmiVersion expected() const { return version_; }
  void feed(std::string_view bytes);
  std::optional<PmiCommand> next();  // nullopt: no whole command is left

 private:
  std::optional<PmiCommand> next_message();
  std::optional<std::string_view> next_line();
  void read_spawn_line(std::string_view line);

  PmiVersion version_ = PmiVersion::k1;
  std::string bytes_;
  std::size_t read_ = 0;      // bytes of it that are taken
  std::size_t searched_ = 0;  // and that are known to have no end of line
  bool in_spawn_ = false;
  // MPI_Comm_spawn_multiple sends several "mcmd=spawn", and waits for one answer.
  std::string spawns_, spawns_so_far_;
};

}  // namespace dtl
