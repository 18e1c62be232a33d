#include "launcher/option_words.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"

namespace dtl {
namespace {

bool is_variable_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
  const bool starts_with_digit = !name.empty() && name[0] >= '0' && name[0] <= '9';
  return !name.empty() && !starts_with_digit &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

// -v may be repeated in one word: "-vv".
std::size_t verbose_count(std::string_view word) {
  const std::string_view bare = bare_name(word);
  const bool only_v = !bare.empty() && bare.find_first_not_of('v') == std::string_view::npos;
  return only_v ? bare.size() : 0;
}

class Reader {
 public:
  Reader(std::span<const Option> table, const std::vector<std::string>& words,
         std::string_view help)
      : table_(table), words_(words), help_(help) {}

  OptionWords read() {
    OptionWords read;
    while (at_ < words_.size() && words_[at_].size() > 1 && words_[at_][0] == '-') {
      const std::string& word = words_[at_++];
      if (word == "--") break;
      read_option(word, read.options);
    }
    refuse_repeated(read.options);
    read.rest.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
    return read;
  }

 private:
  void read_option(const std::string& word, std::vector<GivenOption>& given) {
    const Option* verbose = find_option(table_, "--verbose");
    if (const std::size_t count = verbose_count(word); count > 0 && verbose != nullptr) {
      given.insert(given.end(), count, {verbose, {}});
      return;
    }
    const std::size_t equals = word.find('=');
    const std::string spelled = word.substr(0, equals);
    const Option* option = find_option(table_, spelled);
    if (option == nullptr) refuse_unknown(spelled);
    if (option->takes == Takes::kNothing) {
      if (equals != std::string::npos) {
        throw Error(Exit::kUsage, fmt::format("option '{}' takes no value", spelled),
                    fmt::format("'{}' was given", word.substr(equals + 1)));
      }
      given.push_back({option, {}});
      return;
    }
    std::string value =
        equals != std::string::npos ? word.substr(equals + 1) : next_word(spelled, option->value);
    if (option->takes == Takes::kVariable) value = variable(spelled, value);
    if (value.empty()) {
      throw Error(Exit::kUsage, fmt::format("option '{}'", spelled), "the value is empty");
    }
    given.push_back({option, std::move(value)});
  }

  const std::string& next_word(std::string_view spelled, std::string_view value_name) {
    if (at_ == words_.size()) {
      throw Error(Exit::kUsage, fmt::format("option '{}' needs {}", spelled, value_name), "",
                  std::string(help_));
    }
    return words_[at_++];
  }

  std::string variable(std::string_view spelled, const std::string& first) {
    const std::size_t equals = first.find('=');
    const std::string name = first.substr(0, equals);
    if (!is_variable_name(name)) {
      throw Error(Exit::kUsage, fmt::format("option '{}'", spelled),
                  fmt::format("'{}' is no name of a variable", name),
                  fmt::format("{} NAME=VALUE", spelled));
    }
    if (equals != std::string::npos) return first;
    return first + "=" + next_word(spelled, fmt::format("a value for {}", first));
  }

  [[noreturn]] void refuse_unknown(std::string_view spelled) const {
    const std::string near = nearest_option(table_, spelled);
    throw Error(Exit::kUsage, fmt::format("unknown option '{}'", spelled), "",
                near.empty() ? std::string(help_) : near);
  }

  static void refuse_repeated(const std::vector<GivenOption>& options) {
    std::set<const Option*> seen;
    for (const GivenOption& given : options) {
      if (given.option->repeatable || seen.insert(given.option).second) continue;
      throw Error(Exit::kUsage, fmt::format("option '{}'", given.option->names.back()),
                  "it is given more than once");
    }
  }

  std::span<const Option> table_;
  const std::vector<std::string>& words_;
  std::string_view help_;
  std::size_t at_ = 0;
};

}  // namespace

const GivenOption* OptionWords::find(std::string_view canonical) const {
  const GivenOption* found = nullptr;
  for (const GivenOption& given : options) {
    if (given.option->names.back() == canonical) found = &given;
  }
  return found;
}

std::string OptionWords::value(std::string_view canonical) const {
  const GivenOption* given = find(canonical);
  return given == nullptr ? std::string() : given->value;
}

std::string canonical_form(const GivenOption& given) {
  const std::string flag = fmt::format("--{}", bare_name(given.option->names.back()));
  return given.option->takes == Takes::kNothing ? flag : flag + "=" + given.value;
}

OptionWords read_option_words(std::span<const Option> table,
                              const std::vector<std::string>& arguments, std::string_view help) {
  return Reader(table, arguments, help).read();
}

}  // namespace dtl
