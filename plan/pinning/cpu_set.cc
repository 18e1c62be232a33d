// 64-bit words without trailing zero words: so equal sets have equal vectors, and == works.
#include "plan/pinning/cpu_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

namespace dtl {
namespace {

void drop_trailing_zeros(std::vector<std::uint64_t>& words) {
  while (!words.empty() && words.back() == 0) words.pop_back();
}

}  // namespace

CpuSet::CpuSet(const std::vector<int>& cpus) {
  for (const int cpu : cpus) add(cpu);
}

void CpuSet::add(int cpu) {
  assert(cpu >= 0);
  const auto word = static_cast<std::size_t>(cpu) / 64;
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= std::uint64_t{1} << (cpu % 64);
}

int CpuSet::count() const {
  int total = 0;
  for (const std::uint64_t word : words_) total += std::popcount(word);
  return total;
}

int CpuSet::first() const {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] != 0) return static_cast<int>(i * 64) + std::countr_zero(words_[i]);
  }
  return -1;
}

std::vector<int> CpuSet::to_vector() const {
  std::vector<int> cpus;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    // rest & (rest - 1) clears the lowest set bit.
    for (std::uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
      cpus.push_back(static_cast<int>(i * 64) + std::countr_zero(rest));
    }
  }
  return cpus;
}

// The kernel's list format, "0-3,8", as in cpusets and /sys.
std::string CpuSet::to_list() const {
  std::string list;
  const std::vector<int> cpus = to_vector();
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!list.empty()) list += ',';
    list += last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]);
    i = last + 1;
  }
  return list;
}

CpuSet CpuSet::operator&(const CpuSet& other) const {
  CpuSet result = *this;
  if (result.words_.size() > other.words_.size()) result.words_.resize(other.words_.size());
  for (std::size_t i = 0; i < result.words_.size(); ++i) result.words_[i] &= other.words_[i];
  drop_trailing_zeros(result.words_);
  return result;
}

// Neither operand ends with a zero word, so neither does the union.
CpuSet CpuSet::operator|(const CpuSet& other) const {
  CpuSet result = *this;
  if (result.words_.size() < other.words_.size()) result.words_.resize(other.words_.size());
  for (std::size_t i = 0; i < other.words_.size(); ++i) result.words_[i] |= other.words_[i];
  return result;
}

CpuSet CpuSet::operator-(const CpuSet& other) const {
  CpuSet result = *this;
  const std::size_t shared = std::min(result.words_.size(), other.words_.size());
  for (std::size_t i = 0; i < shared; ++i) result.words_[i] &= ~other.words_[i];
  drop_trailing_zeros(result.words_);
  return result;
}

bool CpuSet::operator==(const CpuSet& other) const {
  return words_ == other.words_;
}

}  // namespace dtl
