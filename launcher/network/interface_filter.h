#pragma once
// InterfaceFilter: --iface and iface= of a host, which say the interfaces a job may use. "eth1,
// 10.0.0.0/24" uses only these. A list that begins with ^ uses all but these: "^docker0,virbr0". It
// compares texts and knows nothing of what a host has; network.h applies it. Pure.

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
  // Whether a list without ^ names it. allows() is also true where the list only does not exclude
  // it. The difference counts for bridges inside a node: the user has to name these before they are
  // tried.
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

// "10.0.0.0/24" for 10.0.0.7 and 24; empty for what is no address.
std::string subnet_of(const std::string& address, unsigned bits);

}  // namespace dtl
