#pragma once
// HostToken: the first word of a hostfile line, or one item of -hosts: [user@]HOST[:slots]. Names
// and users go into arguments of ssh and of schedulers' programs, so only harmless characters are
// let in, and none that begins like an option. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/text_position.h"

namespace dtl {

struct HostToken {
  std::vector<std::string> names;  // a range names several; addresses are without brackets
  std::string user;
  std::optional<int> slots;
};

// Throws position.error() for whatever is not a host; the token has no blanks.
HostToken parse_host_token(std::string_view token, const TextPosition& position);

// 1 to 65,535 without leading zeros; anything else is position.error().
int parse_slots(std::string_view text, const TextPosition& position);

// Letters, digits, '.', '_' and '-', a letter, a digit or '_' first. A name of digits and dots
// alone must be an IPv4 address. Anything else is position.error().
void check_host_name(const std::string& name, const TextPosition& position);

// A name that ssh may be given as a user; anything else is position.error().
std::string parse_user(std::string_view text, const TextPosition& position);

// A numeric IPv4 or IPv6 address, without brackets.
bool is_address(const std::string& text);

// localhost, 127.0.0.0/8 or ::1: this machine, which needs no ssh.
bool is_loopback_name(const std::string& name);

// One spelling for all spellings of a host: lower case, and addresses as inet_ntop writes them. A
// hostfile's names with equal spellings and ports are one host. Nothing is looked up.
std::string canonical_name(const std::string& name);

}  // namespace dtl
