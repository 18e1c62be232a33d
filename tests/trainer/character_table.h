#pragma once
// Makes the table of replacements that trainer/pieces/precompiled.h reads, for tests. Each node of
// its double array has 256 units of its own.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dtl::trainer {

using Entries = std::map<std::string, std::string>;  // text to replacement

inline void append_unit(std::string& bytes, std::uint32_t unit) {
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(unit >> shift));
}

// The keys must not have more nodes than an offset without a scale can reach (8,000).
inline std::string character_table(const Entries& entries) {
  constexpr std::uint32_t kBlock = 256, kHasValue = 0x100, kIsValue = 0x80000000;
  std::map<std::string, std::uint32_t> places = {{"", 0}};  // of the unit that leads to a prefix
  std::vector<std::uint32_t> units(2 * kBlock);
  std::map<std::string, std::uint32_t> bases = {{"", kBlock}};  // of its children
  units[0] = kBlock << 10;
  std::string replacements;
  for (const auto& [key, replacement] : entries) {
    for (std::size_t length = 1; length <= key.size(); ++length) {
      const std::string prefix = key.substr(0, length);
      if (places.count(prefix) != 0) continue;
      const auto label = static_cast<unsigned char>(prefix.back());
      const std::uint32_t place = bases[prefix.substr(0, length - 1)] ^ label;
      const auto base = static_cast<std::uint32_t>(units.size());
      units.resize(units.size() + kBlock);
      units[place] = (place ^ base) << 10 | label;
      places[prefix] = place;
      bases[prefix] = base;
    }
    units[places[key]] |= kHasValue;
    units[bases[key]] = kIsValue | static_cast<std::uint32_t>(replacements.size());
    replacements += replacement;
    replacements.push_back('\0');
  }
  std::string table;
  append_unit(table, static_cast<std::uint32_t>(4 * units.size()));
  for (const std::uint32_t unit : units) append_unit(table, unit);
  return table + replacements;
}

}  // namespace dtl::trainer
