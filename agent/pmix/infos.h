#pragma once
// Infos: the key and value pairs that libpmix's functions take, in memory of our own: libpmix only
// reads and copies them. It does without libpmix's allocators and macros: they differ between its
// versions.

#include <pmix_common.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::pmix {

class Infos {
 public:
  Infos() = default;
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;
  ~Infos();

  void add_text(std::string_view key, std::string text);
  void add_regex(std::string_view key, std::string bytes);  // as PMIx_generate_regex makes it
  // From malloc(3), since libpmix may free them: it then leaves a null pointer.
  void add_bytes(std::string_view key, std::string_view bytes);
  void add_flag(std::string_view key, bool on);
  void add_u16(std::string_view key, std::uint32_t value);
  void add_u32(std::string_view key, std::size_t value);
  void add_size(std::string_view key, std::uint64_t value);
  void add_rank(std::string_view key, std::uint32_t rank);
  void add_processes(std::string_view key, const std::vector<pmix_proc_t>& processes);
  // An array of pairs as a value: fill the result before data() is called.
  Infos& add_array(std::string_view key);

  // Valid until something is added.
  pmix_info_t* data();
  std::size_t size() const { return infos_.size(); }

 private:
  pmix_value_t& add(std::string_view key, pmix_data_type_t type);

  struct Array {
    std::size_t index = 0;  // in infos_
    pmix_data_array_t array{};
    std::deque<Infos> content;  // one
  };
  std::vector<pmix_info_t> infos_;
  std::deque<std::string> texts_;  // which infos_ point to
  std::deque<Array> arrays_;
  std::deque<std::vector<pmix_proc_t>> processes_;
};

// Bounded copies, ended by a zero.
pmix_proc_t process_of(const std::string& space, std::uint32_t rank);

}  // namespace dtl::pmix
