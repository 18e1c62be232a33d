// Lists of hosts as other programs write them.

#include "base/fd.h"
#include "base/limits.h"
#include "base/text.h"
#include "plan/hostfile.h"
#include "plan/hostlist.h"
#include "tests/fuzz/reader.h"

namespace dtl::fuzz {
namespace {

const std::vector<std::string> kWords = {
    "slots=2", "user=x", "port=",        "max_slots=",
    "::1",     "%eth0",  "10.0.0.",      "[1-300][1-300]",
    "01-04",   "65536",  "9-1",          "#",
    "//",      "\r\n",   "\xef\xbb\xbf", "99999999999999999999"};

void check_hosts(const std::vector<Host>& hosts) {
  require(!hosts.empty(), "no hosts and no error");
  require(hosts.size() <= kMaxHosts, "too many hosts");
  for (const Host& host : hosts) {
    require(!host.name.empty() && host.name[0] != '-' && !host.user.starts_with('-') &&
                host.name.find_first_of(" \t\r\n[]@,/=") == std::string::npos,
            "a name that is none");
    require(!host.slots || (*host.slots >= 1 && *host.slots <= kMaxRanks), "slots");
  }
}

// "hosts:3:7", "column 7": a name, then a number that is at least 1.
std::function<bool(const Error&)> counts_from(const std::string& prefix) {
  return [prefix](const Error& error) {
    if (!error.attempted().starts_with(prefix)) return false;
    const std::string rest = error.attempted().substr(prefix.size());
    return parse_integer(rest.substr(0, rest.find_first_of(": ")), 1, INT32_MAX).has_value() &&
           !error.reason().empty();
  };
}

std::vector<std::string> samples() {
  std::vector<std::string> texts;
  for (const char* name : {"names", "mpich", "openmpi", "ranges", "addresses", "ports", "machines",
                           "windows", "own", "deepspeed", "slurm", "localhost"}) {
    texts.push_back(read_file(std::string(DTL_HOSTFILES) + "/" + name, kMaxHostfileBytes));
  }
  return texts;
}

}  // namespace

std::vector<Reader> text_readers() {
  return {{"hostfile", samples(), kWords,
           [](const std::string& bytes) { check_hosts(parse_hostfile(bytes, "hosts")); },
           counts_from("hosts:")},
          {"hosts-option",
           {"a", "a,b:2", "n[01-04,07]:2,al@b", "[::1]:2,10.0.0.[1-4]"},
           kWords,
           [](const std::string& bytes) { check_hosts(parse_host_option(bytes)); },
           counts_from("-hosts: column ")},
          {"hostlist",
           {"n[01-04,07]", "[n01-n04]", "r[1-2]n[1-2]", "[a-1-a-3,b]"},
           kWords,
           [](const std::string& bytes) {
             require(!expand_hostlist(bytes, {"column "}).empty(), "no names and no error");
           },
           counts_from("column ")}};
}

}  // namespace dtl::fuzz
