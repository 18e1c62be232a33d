#pragma once
// InterfaceFilter: --iface and a host's iface=: which interfaces a job may use. "eth1,10.0.0.0/24"
// allows only these; a list that begins with ^ allows all but these: "^docker0,virbr0". It only
// compares texts; network.h applies it to the interfaces of hosts. Pure.

#include <string>
#include <vector>

namespace dtl {

class InterfaceFilter {
 public:
  InterfaceFilter() = default;  // everything
  // An item is the name of an interface, an address or a prefix. An empty text allows everything.
  // Throws Error(kUsage).
  explicit InterfaceFilter(const std::string& text);

  bool empty() const { return items_.empty(); }
  // Whether a list without ^ names it. allows() is also true if the list merely does not exclude
  // it. The difference matters for bridges inside a node, which are tried only if the user names
  // them.
  bool includes(const std::string& interface, const std::string& address) const;
  bool allows(const std::string& interface, const std::string& address) const;
  // As typed, for messages.
  const std::string& text() const { return text_; }

 private:
  bool matches(const std::string& interface, const std::string& address) const;

  std::string text_;
  std::vector<std::string> items_;
  bool leaves_out_ = false;
};

// "10.0.0.7" in "10.0.0.0/24"; false when either is malformed or they are of different families.
bool in_cidr(const std::string& address, const std::string& cidr);

// "10.0.0.0/24" for 10.0.0.7 and 24; empty if address is not an address.
std::string subnet_of(const std::string& address, unsigned bits);

}  // namespace dtl
