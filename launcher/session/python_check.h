#pragma once
// PythonCheck: whether the ranks find the Python that this host has. It knows what each node is to
// be asked and makes one line of the answers, for the user: nothing fails because of it. Reads
// scripts and links on this host when it is made; starts nothing.

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

  // Of Examine with what=libraries; the answers have no other facts of these names. May be empty.
  std::vector<Fact> parameters() const;
  // An agent that does not know the question has answered less, and is not complained about.
  void hear(const std::string& host, const Examined& answer);
  // nullopt: all hosts have what this one has, as far as can be told.
  std::optional<std::string> notice() const;

 private:
  struct Environment {
    std::string variable, folder;
    std::vector<std::string> missing_on;
  };
  struct Python {
    std::string name, path, version;                         // version: here
    std::map<std::string, std::vector<std::string>> others;  // hosts, by their version
  };
  std::vector<Environment> environments_;
  std::vector<Python> pythons_;
};

}  // namespace dtl
