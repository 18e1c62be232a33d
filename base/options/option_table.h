#pragma once
// OptionTable: rows of options, each with the place in a struct S for its value. A row's target
// parses the value, stores it, and returns it for a file of options. So a row is complete: only the
// code that reads the field must know an option.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/options/option_words.h"
#include "base/options/options.h"

namespace dtl {

// A value for a file of options; monostate: not set.
using OptionValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

template <class S>
struct Target {
  Takes takes = Takes::kNothing;
  // Parses `value` into S. Returns the error, empty on success; may also throw an Error with a
  // reason and a hint. The caller adds the option as typed.
  std::function<std::string(S&, const std::string& value, const Option&)> set;
  std::function<OptionValue(const S&)> get = {};  // empty: not written to files
};

// These return an error as Target::set does; empty on success.
std::string read_flag(const std::string& text, bool& value);
std::string read_whole(const std::string& text, std::int64_t low, std::int64_t high,
                       std::int64_t& value);
std::string read_real(const std::string& text, double low, double high, double& value);
// Accepts one of the words that the row's column lists, "auto|always|never".
std::string check_word(const std::string& text, const Option& option);
// The error for a value from a file or the command line.
Error bad_option_value(const GivenOption& given, std::string reason, std::string_view help);
// The same for an Error thrown by a target, which may have its own hint.
Error in_its_place(const GivenOption& given, const Error& error, std::string_view help);

// The struct that a pointer to a member belongs to, and access through several such pointers:
// place<&Line::pinning, &PinOptions::bind_to>(line) is line.pinning.bind_to.
template <auto... Members>
struct OwnerOf;
template <class T, class S, T S::*First, auto... Rest>
struct OwnerOf<First, Rest...> {
  using Type = S;
};
template <auto... Members>
using Owner = typename OwnerOf<Members...>::Type;

// owner.*first.*second ..: a fold over the members.
template <auto... Members, class S>
auto& place(S& owner) {
  return (owner.*....*Members);
}
template <auto... Members>
using PlaceType =
    std::remove_reference_t<decltype(place<Members...>(std::declval<Owner<Members...>&>()))>;

// Targets. Each names its place by pointers to members, from the outermost in.
namespace into {

template <auto... Members>
Target<Owner<Members...>> flag() {
  using S = Owner<Members...>;
  return {Takes::kNothing,
          [](S& s, const std::string& text, const Option&) {
            return read_flag(text, place<Members...>(s));
          },
          [](const S& s) { return OptionValue(place<Members...>(s)); }};
}

// Counts how often the option is given.
template <auto... Members>
Target<Owner<Members...>> count() {
  using S = Owner<Members...>;
  return {Takes::kNothing, [](S& s, const std::string&, const Option&) {
            ++place<Members...>(s);
            return std::string();
          }};
}

template <auto... Members>
Target<Owner<Members...>> text(Takes takes = Takes::kValue) {
  using S = Owner<Members...>;
  return {takes,
          [](S& s, const std::string& text, const Option&) {
            place<Members...>(s) = text;
            return std::string();
          },
          [](const S& s) { return OptionValue(place<Members...>(s)); }};
}

template <auto... Members>
Target<Owner<Members...>> word(Takes takes = Takes::kValue) {
  using S = Owner<Members...>;
  return {takes,
          [](S& s, const std::string& text, const Option& option) {
            place<Members...>(s) = text;
            return check_word(text, option);
          },
          [](const S& s) { return OptionValue(place<Members...>(s)); }};
}

// A number in [low, high]; a smaller value means not set. T: an integer, or optional of one.
template <auto... Members>
Target<Owner<Members...>> whole(std::int64_t low, std::int64_t high) {
  using S = Owner<Members...>;
  using T = PlaceType<Members...>;
  return {Takes::kValue,
          [low, high](S& s, const std::string& text, const Option&) {
            std::int64_t value = 0;
            std::string wrong = read_whole(text, low, high, value);
            if constexpr (std::is_arithmetic_v<T>) {
              if (wrong.empty()) place<Members...>(s) = static_cast<T>(value);
            } else {
              if (wrong.empty()) place<Members...>(s) = static_cast<typename T::value_type>(value);
            }
            return wrong;
          },
          [low](const S& s) -> OptionValue {
            const T& value = place<Members...>(s);
            if constexpr (std::is_arithmetic_v<T>) {
              if (static_cast<std::int64_t>(value) >= low) return static_cast<std::int64_t>(value);
            } else {
              static_cast<void>(low);  // an optional without a value is not set
              if (value) return static_cast<std::int64_t>(*value);
            }
            return {};
          }};
}

// As whole(): a value below `low` means not set.
template <auto... Members>
Target<Owner<Members...>> real(double low, double high) {
  using S = Owner<Members...>;
  return {Takes::kValue,
          [low, high](S& s, const std::string& text, const Option&) {
            return read_real(text, low, high, place<Members...>(s));
          },
          [low](const S& s) -> OptionValue {
            const double value = place<Members...>(s);
            if (value >= low) return value;
            return {};
          }};
}

// Stores the result of `parse`, which throws Error for a bad text.
template <auto Parse, auto... Members>
Target<Owner<Members...>> parsed() {
  using S = Owner<Members...>;
  return {Takes::kValue, [](S& s, const std::string& text, const Option&) {
            place<Members...>(s) = Parse(text);
            return std::string();
          }};
}

}  // namespace into

template <class S>
struct OptionRow {
  std::string_view group;
  std::vector<std::string_view> names;
  std::string_view value;
  std::string_view help;
  Target<S> target;
  OptionTraits traits = {};
};

template <class S>
class OptionTable {
 public:
  OptionTable(std::vector<OptionRow<S>> rows) {  // NOLINT(google-explicit-constructor): {{...}}
    for (OptionRow<S>& row : rows) {
      options_.push_back(
          {row.group, std::move(row.names), row.value, row.help, row.target.takes, row.traits});
      targets_.push_back(std::move(row.target));
    }
  }

  std::span<const Option> options() const { return options_; }

  const Target<S>& target(const Option& option) const {
    // `option` is an element of options(); its target has the same index.
    return targets_[static_cast<std::size_t>(&option - options_.data())];
  }

  // Puts the values into their places, in the order given. Throws Error(kUsage), or
  // Error(kBadInput) for a value of a file; `help` has the command to try then.
  void apply(const std::vector<GivenOption>& given, S& settings, std::string_view help) const {
    apply(given, settings, [help](const Option&) { return std::string(help); });
  }

  void apply(const std::vector<GivenOption>& given, S& settings, const HelpCommand& help) const {
    for (const GivenOption& each : given) {
      std::string wrong;
      try {
        wrong = target(*each.option).set(settings, each.value, *each.option);
      } catch (const Error& error) {
        throw in_its_place(each, error, help(*each.option));
      }
      if (!wrong.empty()) throw bad_option_value(each, wrong, help(*each.option));
    }
  }

 private:
  std::vector<Option> options_;
  std::vector<Target<S>> targets_;  // of the same rows
};

}  // namespace dtl
