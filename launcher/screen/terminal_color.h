#pragma once
// Which descriptors show colours, and how dtlaunch's own text is coloured. The text itself stays as
// it is: columns are counted before. Only what goes to a terminal has escapes; reports, logs and
// events never do.

#include <string>
#include <string_view>

#include "launcher/screen/console_options.h"

namespace dtl {

// Progress bars and colours need a terminal with cursor control; TERM tells.
bool can_move_cursor(int fd);

bool wants_color(ColorMode mode, int fd);

// The two that are readable on dark and on light backgrounds.
std::string bold(std::string_view text);
std::string bold_red(std::string_view text);

// A failure card with its first line in red and the command to try in bold.
std::string colored_card(std::string_view card);

}  // namespace dtl
