#pragma once
// PythonCheck: checks whether the ranks find the same Python as this host. Says what to ask each
// node and makes one line for the user from the answers; a difference is not an error. The
// constructor reads scripts and links on this host; nothing is executed.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/request/request.h"
#include "wire/messages.h"

namespace dtl {

class PythonCheck {
 public:
  explicit PythonCheck(const Request& request);

  // Of Examine with what=libraries; no other facts have these names. May be empty.
  std::vector<Fact> parameters() const;
  // Accepts shorter answers: an agent that does not know the question leaves facts out.
  void hear(const std::string& host, const Examined& answer);
  // nullopt: no host is known to differ from this one.
  std::optional<std::string> notice() const;

 private:
  struct Environment {
    std::string variable, folder;
    std::vector<std::string> missing_on;
  };
  struct Python {
    std::string name, path, version;                         // version: on this host
    std::map<std::string, std::vector<std::string>> others;  // hosts by their version
  };
  std::vector<Environment> environments_;
  std::vector<Python> pythons_;
};

}  // namespace dtl
