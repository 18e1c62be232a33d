#pragma once
// TopScreen: a terminal that `dtlaunch top` has for itself: the alternate screen, no cursor, keys
// without Enter. Its destructor, and leave(), give everything back as it was. One thread.

#include <termios.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dtl {

struct ScreenSize {
  int columns = 80;
  std::size_t rows = 24;
};

class TopScreen {
 public:
  // output: a terminal with cursor control (can_move_cursor). input: where keys are typed; it may
  // be no terminal, and then no settings are changed.
  TopScreen(int output, int input) : output_(output), input_(input) {}
  ~TopScreen() { leave(); }
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  void enter();  // does nothing in the background, where the terminal belongs to others
  void leave();
  bool entered() const { return entered_; }

  ScreenSize size() const;
  // Replaces what is shown, without clearing it first, so that nothing flickers. Shows nothing if
  // the terminal takes no bytes now, as after ^S.
  void show(std::string_view page);

 private:
  void write(std::string_view bytes);

  const int output_, input_;
  bool entered_ = false;
  std::optional<termios> before_;  // of input_
};

}  // namespace dtl
