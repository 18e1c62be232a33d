#include "agent/nics.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <memory>

namespace dtl {
namespace {

// Empty when the address is of another family or link-local.
std::string to_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    if (!IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) {
      ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    }
  }
  return text;
}

Nic& nic_named(std::vector<Nic>& nics, const std::string& name) {
  const auto at =
      std::find_if(nics.begin(), nics.end(), [&](const Nic& nic) { return nic.name == name; });
  if (at != nics.end()) return *at;
  Nic& nic = nics.emplace_back();
  nic.name = name;
  return nic;
}

}  // namespace

std::vector<Nic> list_nics() {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(raw, &::freeifaddrs);
  std::vector<Nic> nics;
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    Nic& nic = nic_named(nics, entry->ifa_name);
    nic.up = (entry->ifa_flags & IFF_UP) != 0;
    nic.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    const std::string address = to_text(entry->ifa_addr);
    if (!address.empty()) nic.addresses.push_back(address);
  }
  return nics;
}

std::string interface_of(const std::vector<Nic>& nics, const std::string& address) {
  for (const Nic& nic : nics) {
    if (std::find(nic.addresses.begin(), nic.addresses.end(), address) != nic.addresses.end()) {
      return nic.name;
    }
  }
  return {};
}

std::vector<std::string> public_addresses(const std::vector<Nic>& nics) {
  std::vector<std::string> addresses;
  for (const Nic& nic : nics) {
    if (!nic.up || nic.loopback) continue;
    addresses.insert(addresses.end(), nic.addresses.begin(), nic.addresses.end());
  }
  return addresses;
}

}  // namespace dtl
