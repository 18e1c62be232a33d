#pragma once
// CpuSet: a set of logical CPUs by the operating system's number, of any size: a node is planned on
// another machine, which may have fewer CPUs. A plain value. It takes memory up to its highest
// number, so callers must limit numbers from texts and messages first.

#include <cstdint>
#include <string>
#include <vector>

namespace dtl {

class CpuSet {
 public:
  CpuSet() = default;
  explicit CpuSet(const std::vector<int>& cpus);

  // cpu: 0 or more.
  void add(int cpu);
  bool empty() const { return words_.empty(); }
  int count() const;
  int first() const;                   // -1 when empty
  std::vector<int> to_vector() const;  // ascending
  std::string to_list() const;         // "0-3,8", as the kernel writes it; "" when empty

  CpuSet operator&(const CpuSet& other) const;
  CpuSet operator|(const CpuSet& other) const;
  CpuSet operator-(const CpuSet& other) const;
  bool operator==(const CpuSet& other) const;

 private:
  std::vector<std::uint64_t> words_;  // bit c%64 of word c/64 is CPU c; no trailing zero words
};

}  // namespace dtl
