#include "launcher/options/option_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "launcher/options/foreign_options.h"

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

// Open MPI sets parameters of its parts by the name of the part.
bool is_mca(std::string_view spelled) {
  const std::string name = to_lower(bare_name(spelled));
  const auto names = mca_options();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "--iface=^%" and "eth0,lo" -> "--iface=^eth0,lo"
std::string with_value(std::string_view ours, const std::string& value) {
  std::string word(ours);
  const std::size_t at = word.find('%');
  if (at != word.npos) word.replace(at, 1, value);
  return word;
}

class WordReader {
 public:
  WordReader(std::span<const Option> table, const std::vector<std::string>& words,
             std::string_view help, Foreign foreign)
      : table_(table), words_(words), help_(help), foreign_(foreign) {}

  OptionWords read() {
    OptionWords read;
    while (at_ < words_.size() && words_[at_].size() > 1 && words_[at_][0] == '-') {
      const std::string word = words_[at_++];
      if (word == "--") break;
      read_option(word, read);
      if (!read.options.empty() && read.options.back().option->last) break;
    }
    refuse_repeated(read.options);
    read.rest.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
    return read;
  }

 private:
  void read_option(const std::string& word, OptionWords& read) {
    std::vector<GivenOption>& given = read.options;
    const Option* verbose = find_option(table_, "--verbose");
    if (const std::size_t count = verbose_count(word); count > 0 && verbose != nullptr) {
      given.insert(given.end(), count, {verbose, {}});
      return;
    }
    const std::size_t equals = word.find('=');
    const std::string spelled = word.substr(0, equals);
    const Option* option = find_option(table_, spelled);
    if (option == nullptr) {
      read_foreign(spelled, equals == word.npos ? nullptr : &word[equals + 1], read);
      return;
    }
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
    given.push_back({option, std::move(value), spelled});
  }

  // Another launcher's option: `attached` is what stood after its '='.
  void read_foreign(const std::string& spelled, const char* attached, OptionWords& read) {
    const ForeignOption* option =
        foreign_ == Foreign::kUnderstood ? find_foreign_option(spelled) : nullptr;
    std::string value = attached == nullptr ? "" : attached;
    if (foreign_ == Foreign::kUnderstood && is_mca(spelled)) {
      const std::string key = next_word(spelled, "KEY VALUE");
      value = next_word(spelled, "a value for " + key);
      option = find_mca_parameter(key);
      if (option == nullptr) {
        throw Error(Exit::kUsage, fmt::format("option '{} {}'", spelled, key),
                    "dtlaunch has nothing that this parameter of Open MPI could mean",
                    "leave it out");
      }
    } else if (option == nullptr) {
      refuse_unknown(spelled);
    } else if (option->values > 0 && attached == nullptr && !has_no_value(*option)) {
      value = next_word(spelled, "a value");
    }
    take_foreign(*option, spelled, value, read);
  }

  void take_foreign(const ForeignOption& option, const std::string& spelled,
                    const std::string& value, OptionWords& read) {
    const std::vector<std::string> harmless = split(option.harmless, ',');
    const std::string last = to_lower(value.substr(value.rfind('/') + 1));
    if (!last.empty() && std::find(harmless.begin(), harmless.end(), last) != harmless.end()) {
      read.notes.push_back(fmt::format("option '{} {}' is left out", spelled, value));
      return;
    }
    switch (option.kind) {
      case ForeignKind::kIgnored:
        read.notes.push_back(fmt::format("option '{}' is left out: {}", spelled, option.text));
        return;
      case ForeignKind::kRefused:
        throw Error(Exit::kUsage, fmt::format("option '{}'", spelled), std::string(option.text),
                    std::string(option.hint));
      case ForeignKind::kSame:
        read_option(with_value(option.text, value), read);
        if (!read.options.empty()) read.options.back().spelled = spelled;
    }
  }

  // Some launchers let the value out: "-tune -n 2".
  bool has_no_value(const ForeignOption& option) const {
    return option.kind == ForeignKind::kIgnored && at_ < words_.size() && words_[at_][0] == '-';
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
  Foreign foreign_;
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
                              const std::vector<std::string>& arguments, std::string_view help,
                              Foreign foreign) {
  return WordReader(table, arguments, help, foreign).read();
}

}  // namespace dtl
