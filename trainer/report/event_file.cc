// Writes scalars with a minimal subset of protocol buffers and TFRecord, so that dttrain needs
// neither TensorFlow nor a protobuf library. Reads nothing back.
#include "trainer/report/event_file.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/host_name.h"

namespace dtl::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

// TFRecord rotates the checksum and adds a constant, so that a record inside a record is not
// mistaken for one.
std::uint32_t masked(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Protocol buffers: a field is a key (number << 3 | wire type) and a value of that type.
enum class Wire { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

// Seven bits per byte, lowest first. The top bit says that more bytes follow.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}
std::string key(unsigned number, Wire wire) {
  return varint(number << 3 | static_cast<unsigned>(wire));
}
std::string message(unsigned number, const std::string& content) {
  return key(number, Wire::kLength) + varint(content.size()) + content;
}

// tensorflow.Event: wall_time is field 1, step 2, file_version 3, summary 5.
std::string wall_time_field(double seconds) {
  return key(1, Wire::kFixed64) + bytes_of(seconds);
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string event_record(std::string_view payload) {
  const std::string length = bytes_of(static_cast<std::uint64_t>(payload.size()));
  return length + bytes_of(masked(crc32c(length))) + std::string(payload) +
         bytes_of(masked(crc32c(payload)));
}

std::string version_event(double wall_time) {
  // TensorBoard expects this version in the first record.
  return wall_time_field(wall_time) + message(3, "brain.Event:2");
}

// Summary: repeated value is field 1; of a value, tag is 1 and simple_value 2.
std::string scalar_event(double wall_time, std::int64_t step,
                         const std::vector<std::pair<std::string, double>>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    const std::string number = key(2, Wire::kFixed32) + bytes_of(static_cast<float>(value));
    summary += message(1, message(1, tag) + number);
  }
  return wall_time_field(wall_time) + key(2, Wire::kVarint) +
         varint(static_cast<std::uint64_t>(step)) + message(5, summary);
}

EventFile::EventFile(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const double time = now();
  path_ = fmt::format("{}/events.out.tfevents.{}.{}.{}.0", folder, static_cast<std::int64_t>(time),
                      own_host_name(), ::getpid());
  // O_APPEND and one write per record: readers never see half a record in the middle.
  file_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file_.valid()) throw system_error(path_ + ": cannot create", Exit::kCannotWrite);
  write_all(file_.get(), event_record(version_event(time)));
}

void EventFile::add(std::int64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  if (!scalars.empty()) {
    write_all(file_.get(), event_record(scalar_event(now(), step, scalars)));
  }
}

std::string default_logging_dir(const std::string& output_folder) {
  const std::time_t time = std::time(nullptr);
  return fmt::format("{}/runs/{:%b%d_%H-%M-%S}_{}", output_folder, fmt::localtime(time),
                     own_host_name());
}

}  // namespace dtl::trainer
