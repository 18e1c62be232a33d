#pragma once
// Cli11Adapter: tells CLI11 of the options that were given, and of no others: to hear of all of
// them takes it longer than a rank takes to start.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "launcher/options/option_words.h"
#include "launcher/options/options.h"

namespace dtl {

class Cli11Adapter {
 public:
  Cli11Adapter(CLI::App& app, const OptionWords& words) : app_(app), words_(words) {}

  template <class T>
  void flag(const char* name, T& value) {
    if (given(name)) app_.add_flag(name, value);
  }
  template <class T>
  void option(const char* name, T& value) {
    if (given(name)) app_.add_option(name, value);
  }
  template <class T>
  void option(const char* name, T& value, CLI::Validator check) {
    if (given(name)) app_.add_option(name, value)->transform(std::move(check));
  }

 private:
  bool given(std::string_view name) const {
    return std::any_of(words_.options.begin(), words_.options.end(), [&](const GivenOption& each) {
      return bare_name(each.option->names.back()) == bare_name(name);
    });
  }

  CLI::App& app_;
  const OptionWords& words_;
};

}  // namespace dtl
