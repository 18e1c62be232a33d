#pragma once
// --iface: which interfaces a job may use. "eth1,10.0.0.0/24" uses only these; a list that begins
// with ^ uses all but these: "^docker0,virbr0". Pure.

#include <string>
#include <vector>

namespace dtl {

class InterfaceFilter {
 public:
  InterfaceFilter() = default;  // everything
  // Throws Error(kUsage).
  explicit InterfaceFilter(const std::string& text);

  bool empty() const { return items_.empty(); }
  // Wanted by name or by prefix, rather than merely not left out.
  bool includes(const std::string& interface, const std::string& address) const;
  bool allows(const std::string& interface, const std::string& address) const;
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
