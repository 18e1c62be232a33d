#pragma once
// HostToken: the first word of a hostfile line, or one item of -hosts: [user@]HOST[:slots]. Names
// and users become arguments of ssh and of schedulers' programs, so only harmless characters are
// allowed, and nothing that begins like an option. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/text_position.h"

namespace dtl {

struct HostToken {
  std::vector<std::string> names;  // a range gives several; addresses have no brackets
  std::string user;
  std::optional<int> slots;
};

// Throws position.error() for an invalid host; the token has no spaces.
HostToken parse_host_token(std::string_view token, const TextPosition& position);

// 1 to 65,535 without leading zeros; otherwise throws position.error().
int parse_slots(std::string_view text, const TextPosition& position);

// Allows letters, digits, '.', '_' and '-', beginning with a letter, a digit or '_'. A name with
// only digits and dots must be an IPv4 address. Otherwise throws position.error().
void check_host_name(const std::string& name, const TextPosition& position);

// A user name that is safe for ssh; otherwise throws position.error().
std::string parse_user(std::string_view text, const TextPosition& position);

// A numeric IPv4 or IPv6 address, without brackets.
bool is_address(const std::string& text);

// localhost, 127.0.0.0/8 or ::1: this machine, which needs no ssh.
bool is_loopback_name(const std::string& name);

// Unifies all spellings of a host: lower case, and addresses as inet_ntop prints them. Names in a
// hostfile with equal spellings and ports are one host. Looks nothing up.
std::string canonical_name(const std::string& name);

}  // namespace dtl
