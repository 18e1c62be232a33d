// dtlaunch sets the width, and dtagent names the pipe that it reads. In a rank, `dttrain | grep
// loss` writes to another pipe but inherits both variables.
#include "trainer/report/screen_width.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kUsualColumns = 80;  // for terminals that do not tell
constexpr std::int64_t kMostColumns = 10'000;

bool is_launchers_pipe(const char* told) {
  struct stat status = {};
  return told != nullptr && ::fstat(STDOUT_FILENO, &status) == 0 &&
         fmt::format("{}:{}", status.st_dev, status.st_ino) == told;
}

}  // namespace

std::optional<ScreenWidth> screen_width() {
  if (::isatty(STDOUT_FILENO) == 1) {
    winsize size = {};
    const bool knows = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return ScreenWidth{knows ? size.ws_col : kUsualColumns, true};
  }
  const char* told = std::getenv("DTLAUNCH_COLUMNS");
  if (told == nullptr || !is_launchers_pipe(std::getenv("DTLAUNCH_STDOUT"))) return std::nullopt;
  const auto columns = parse_integer(told, 1, kMostColumns);
  if (!columns) return std::nullopt;
  return ScreenWidth{static_cast<std::size_t>(*columns), false};
}

}  // namespace dtl::trainer
