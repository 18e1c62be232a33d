// getifaddrs(3) gives addresses; speed, MTU, bridges and the NUMA node are in /sys/class/net, which
// a container may lack. Missing numbers stay 0, or -1 for the NUMA node.
#include "agent/node/nics.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace dtl {
namespace {

// Empty if the address has another family or is link-local.
std::string to_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    // Such an address needs an interface name, which differs on other nodes.
    if (!IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) {
      ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    }
  }
  return text;
}

std::uint32_t prefix_bits(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  std::uint32_t bits = 0;
  const auto count = [&](const void* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      bits += static_cast<std::uint32_t>(
          __builtin_popcount(static_cast<const unsigned char*>(bytes)[i]));
    }
  };
  if (mask->sa_family == AF_INET) {
    count(&reinterpret_cast<const sockaddr_in*>(mask)->sin_addr, 4);
  } else {
    count(&reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr, 16);
  }
  return bits;
}

// A number in /sys; 0 if there is none, such as the speed of a device without carrier.
std::uint32_t number_in(const std::string& path) {
  long long value = 0;
  std::ifstream(path) >> value;
  return value > 0 && value <= UINT32_MAX ? static_cast<std::uint32_t>(value) : 0;
}

bool exists(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

// Whether it is a bridge that connects only containers or virtual machines (docker0, virbr0), so no
// other node. A bridge with a physical device, a bond or a VLAN among its ports may lead to others.
bool leads_nowhere(const std::string& device) {
  if (!exists(device + "/bridge")) return false;
  std::error_code failed;
  for (const auto& port : std::filesystem::directory_iterator(device + "/brif", failed)) {
    const std::string name = "/sys/class/net/" + port.path().filename().string();
    if (exists(name + "/device") || exists(name + "/bonding")) return false;
    std::ifstream uevent(name + "/uevent");
    for (std::string line; std::getline(uevent, line);) {
      if (line == "DEVTYPE=vlan") return false;
    }
  }
  return true;
}

void read_link(Nic& nic) {
  const std::string device = "/sys/class/net/" + nic.name;
  nic.speed_mbps = number_in(device + "/speed");
  nic.mtu = number_in(device + "/mtu");
  nic.inside = leads_nowhere(device);
  std::ifstream(device + "/device/numa_node") >> nic.numa;  // the kernel's number
}

// getifaddrs() returns an entry for each address, and one for an interface without addresses.
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
    if (address.empty()) continue;
    nic.addresses.push_back(address);
    nic.prefix_bits.push_back(prefix_bits(entry->ifa_netmask));
  }
  for (Nic& nic : nics) read_link(nic);
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

std::string reached_at(const char* ssh_connection) {
  std::istringstream words(ssh_connection == nullptr ? "" : ssh_connection);
  std::string client, port, server;
  words >> client >> port >> server;
  if (server.starts_with("::ffff:")) server.erase(0, 7);  // IPv4 on an IPv6 socket
  return server.starts_with("127.") || server == "::1" ? std::string() : server;
}

}  // namespace dtl
