#include "agent/pmix/infos.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace dtl::pmix {

pmix_value_t& Infos::add(std::string_view key, pmix_data_type_t type) {
  pmix_info_t info;
  std::memset(&info, 0, sizeof info);
  const std::size_t size = std::min(key.size(), sizeof info.key - 1);
  std::memcpy(info.key, key.data(), size);
  info.value.type = type;
  infos_.push_back(info);
  return infos_.back().value;
}

void Infos::add_text(std::string_view key, std::string text) {
  texts_.push_back(std::move(text));
  add(key, PMIX_STRING).data.string = texts_.back().data();
}

void Infos::add_regex(std::string_view key, std::string bytes) {
  texts_.push_back(std::move(bytes));
  add(key, PMIX_REGEX).data.bo = {texts_.back().data(), texts_.back().size()};
}

void Infos::add_bytes(std::string_view key, std::string_view bytes) {
  auto* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, bytes.data(), bytes.size());
  add(key, PMIX_BYTE_OBJECT).data.bo = {copy, bytes.size()};
}

Infos::~Infos() {
  for (const pmix_info_t& info : infos_) {
    if (info.value.type == PMIX_BYTE_OBJECT) std::free(info.value.data.bo.bytes);
  }
}

void Infos::add_flag(std::string_view key, bool on) {
  add(key, PMIX_BOOL).data.flag = on;
}

void Infos::add_u16(std::string_view key, std::uint32_t value) {
  add(key, PMIX_UINT16).data.uint16 = static_cast<std::uint16_t>(value);
}

void Infos::add_u32(std::string_view key, std::size_t value) {
  add(key, PMIX_UINT32).data.uint32 = static_cast<std::uint32_t>(value);
}

void Infos::add_size(std::string_view key, std::uint64_t value) {
  add(key, PMIX_SIZE).data.size = value;
}

void Infos::add_rank(std::string_view key, std::uint32_t rank) {
  add(key, PMIX_PROC_RANK).data.rank = rank;
}

void Infos::add_processes(std::string_view key, const std::vector<pmix_proc_t>& processes) {
  processes_.push_back(processes);
  Array& array = arrays_.emplace_back();
  array.index = infos_.size();
  array.array.type = PMIX_PROC;
  array.array.size = processes.size();
  array.array.array = processes_.back().data();
  add(key, PMIX_DATA_ARRAY);
}

Infos& Infos::add_array(std::string_view key) {
  Array& array = arrays_.emplace_back();
  array.index = infos_.size();
  array.array.type = PMIX_INFO;
  add(key, PMIX_DATA_ARRAY);
  return array.content.emplace_back();
}

pmix_info_t* Infos::data() {
  for (Array& each : arrays_) {
    if (!each.content.empty()) {
      each.array.array = each.content.front().data();
      each.array.size = each.content.front().size();
    }
    infos_[each.index].value.data.darray = &each.array;
  }
  return infos_.data();
}

pmix_proc_t process_of(const std::string& space, std::uint32_t rank) {
  pmix_proc_t process;
  std::memset(&process, 0, sizeof process);
  std::memcpy(process.nspace, space.data(), std::min(space.size(), sizeof process.nspace - 1));
  process.rank = rank;
  return process;
}

}  // namespace dtl::pmix
