// The parsed values are dropped: planning parses them again, with each node's facts.
#include "launcher/request/host_checks.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "launcher/network/interface_filter.h"
#include "plan/pinning/pin_request.h"

namespace dtl {
namespace {

void check_pins(JobSettings& settings) {
  // For the job, then for each host, which may have its own pins in the hostfile.
  for (std::string& note : pin_request_of(settings.request, nullptr).notes) {
    settings.notes.push_back(std::move(note));
  }
  for (const Host& host : settings.request.hosts) pin_request_of(settings.request, &host);
}

void check_interfaces(const Request& request) {
  // Throws for --iface, with that option's name.
  const InterfaceFilter of_all(request.network.interface);
  for (const Host& host : request.hosts) {
    try {
      // The error would name --iface; it must name the line of the hostfile.
      const InterfaceFilter own(host.interface);
    } catch (const Error& error) {
      throw file_error(host.where, "iface=" + host.interface, error.reason(),
                       "iface=eth1, iface=10.0.0.0/24 or iface=^docker0");
    }
  }
}

}  // namespace

void check_hosts(JobSettings& settings) {
  check_pins(settings);
  check_interfaces(settings.request);
}

}  // namespace dtl
