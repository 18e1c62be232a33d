#pragma once
// Yaml: a value as a manifest of Kubernetes has it, and its text in YAML 1.2 that YAML 1.1 reads
// alike. Whatever a string holds, it comes out as that string: those that could be taken for
// anything else are quoted. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtl {

class Yaml {
 public:
  Yaml() = default;  // {}
  // NOLINTBEGIN(google-explicit-constructor): values are written as they are
  Yaml(const char* text);
  Yaml(const std::string& text);  // Error(kUsage): it is no text
  Yaml(int number);
  Yaml(bool truth);
  Yaml(std::vector<Yaml> items);
  Yaml(const std::vector<std::string>& items);
  // NOLINTEND(google-explicit-constructor)

  // The member of that name, made if it is not there; in the order in which they were made.
  Yaml& operator[](std::string_view name);
  void add(Yaml item);  // to a list
  // Lines above it.
  Yaml& comment(std::string text);

  std::string document() const;

 private:
  enum class Kind { kMap, kList, kScalar };
  struct Member;

  bool is_short(std::size_t column) const;
  std::string in_one_line() const;
  void write(std::string& page, std::size_t indent) const;
  void write_beside(std::string& page, std::size_t indent, std::size_t column) const;

  Kind kind_ = Kind::kMap;
  std::string scalar_;
  std::vector<Member> members_;
  std::vector<Yaml> items_;
  std::string comment_;
};

struct Yaml::Member {
  std::string name;
  Yaml value;
};

}  // namespace dtl
