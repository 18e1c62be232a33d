// One reader for three styles: mpirun's, Hugging Face's and getopt's. It turns words into pairs of
// option and text; the table interprets the text.
#include "base/options/option_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

bool is_true_or_false(std::string_view word) {
  const std::string lower = to_lower(word);
  return lower == "true" || lower == "false";
}

// The value of --hub_token is a secret; that of --image-pull-secret is only a secret's name.
bool is_secret(std::string_view option) {
  return looks_secret(option) && !option.ends_with("secret");
}

bool starts_as_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-';
}

}  // namespace

OptionWords OptionReader::read() {
  while (at_ < words_.size()) {
    const std::string& word = words_[at_];
    if (!starts_as_option(word)) {
      if (manner_.options_first) break;
      read_.rest.push_back(word);
      ++at_;
      continue;
    }
    ++at_;
    // Everything after it belongs to `rest`, even words like options.
    if (word == "--") break;
    take(word);
    if (!read_.options.empty() && read_.options.back().option->traits.last) break;
  }
  if (!manner_.last_wins) refuse_repeated();
  read_.rest.insert(read_.rest.end(), words_.begin() + static_cast<std::ptrdiff_t>(at_),
                    words_.end());
  return std::move(read_);
}

void OptionReader::take(const std::string& word) {
  if (take_verbose(word)) return;
  const std::size_t equals = word.find('=');
  const std::string spelled = word.substr(0, equals);
  const char* attached = equals == word.npos ? nullptr : &word[equals + 1];
  if (const Option* option = find(spelled)) {
    take_known(*option, spelled, attached, word);
  } else if ((manner_.letters && take_letters(word)) || take_number(word)) {
    return;
  } else if (manner_.unknown) {
    manner_.unknown(*this, spelled, attached);
  } else {
    refuse_unknown(spelled);
  }
}

// -v may be repeated in one word: "-vv".
bool OptionReader::take_verbose(std::string_view word) {
  const std::string_view bare = bare_name(word);
  const Option* verbose = find_option(table_, "--verbose", manner_.spelling);
  const bool only_v = !bare.empty() && bare.find_first_not_of('v') == std::string_view::npos;
  if (!only_v || verbose == nullptr || !verbose->traits.repeatable) return false;
  // Each letter counts as one --verbose.
  read_.options.insert(read_.options.end(), bare.size(),
                       {verbose, {}, "--verbose", {}, std::string(word)});
  return true;
}

// "-vn5": letters without values, up to one whose value is the rest of the word, or the next word.
bool OptionReader::take_letters(const std::string& word) {
  if (word.starts_with("--")) return false;
  for (std::size_t i = 1; i < word.size(); ++i) {
    const std::string letter = {'-', word[i]};
    const Option* option = find(letter);
    if (option == nullptr) refuse_unknown(letter);
    const bool has_rest = option->takes != Takes::kNothing && i + 1 < word.size();
    take_known(*option, letter, has_rest ? &word[i + 1] : nullptr,
               has_rest ? letter + word.substr(i + 1) : letter);
    if (has_rest) break;
  }
  return true;
}

// "-n4", as mpirun accepts it: a name with one dash, followed by a number.
bool OptionReader::take_number(const std::string& word) {
  if (manner_.spelling != Spelling::kMpirun || word.starts_with("--")) return false;
  const std::size_t number = word.find_first_of("0123456789");
  if (number == word.npos || word.find_first_not_of("0123456789:", number) != word.npos) {
    return false;
  }
  const std::string spelled = word.substr(0, number);
  const Option* option = find(spelled);
  if (option == nullptr || option->takes != Takes::kValue) return false;
  take_known(*option, spelled, &word[number], word);
  return true;
}

// Like getopt_long, if the manner has letters: an abbreviation must fit exactly one option.
const Option* OptionReader::find(const std::string& spelled) const {
  const Option* found = find_option(table_, spelled, manner_.spelling);
  if (found != nullptr || !manner_.letters || !spelled.starts_with("--")) return found;
  for (const Option& option : table_) {
    for (const std::string_view name : option.names) {
      if (!name.starts_with(spelled)) continue;
      if (found != nullptr) return nullptr;  // ambiguous
      found = &option;
    }
  }
  return found;
}

// word: has the option's name, and perhaps its value.
void OptionReader::take_known(const Option& option, const std::string& spelled,
                              const char* attached, const std::string& word) {
  const std::size_t from = at_;
  std::string value = value_of(option, spelled, attached);
  // For a possible secret, only the name.
  const bool secret =
      option.takes != Takes::kNothing &&
      (option.takes == Takes::kVariable ? looks_secret(value.substr(0, value.find('=')))
                                        : is_secret(spelled));
  std::string typed = secret ? spelled : one_shell_word(word);
  for (std::size_t i = from; i < at_ && !secret; ++i) typed += " " + one_shell_word(words_[i]);
  const bool without = option.takes == Takes::kNothing ||
                       (option.takes == Takes::kPerhapsNumber && attached == nullptr);
  const bool needs_one = !without && !manner_.empty_values;
  if (needs_one && value.empty()) {
    throw option_error(printable(typed), "the value is empty",
                       fmt::format("{} {}", spelled, option.value));
  }
  std::string first;
  if (attached != nullptr) {
    first = attached;
  } else if (from < at_) {
    first = words_[from];
  }
  const bool apart = option.takes == Takes::kVariable && first.find('=') == first.npos;
  read_.options.push_back({&option, std::move(value), spelled, {}, printable(typed), apart});
}

std::string OptionReader::value_of(const Option& option, const std::string& spelled,
                                   const char* attached) {
  switch (option.takes) {
    case Takes::kNothing:
      return flag_value(spelled, attached);
    case Takes::kPerhapsValue:
      if (attached != nullptr) return attached;
      if (at_ == words_.size() || words_[at_].starts_with('-')) return "true";
      // An empty word comes from a variable that a script has not set.
      if (words_[at_].empty()) return ++at_, "true";
      return is_true_or_false(words_[at_]) ? to_lower(words_[at_++]) : words_[at_++];
    case Takes::kPerhapsNumber:
      if (attached != nullptr) return attached;
      return at_ < words_.size() && is_number_word(words_[at_]) ? words_[at_++] : "";
    case Takes::kValue:
      return attached != nullptr ? attached : next_value(spelled, option.value);
    case Takes::kWords:
      return attached != nullptr ? attached : next_words(spelled, option.value);
    case Takes::kVariable:
      return variable(spelled, attached != nullptr ? attached : next_value(spelled, option.value));
  }
  return {};
}

std::string OptionReader::flag_value(const std::string& spelled, const char* attached) {
  const bool follows = attached == nullptr && manner_.true_or_false && at_ < words_.size() &&
                       parse_truth(words_[at_]);
  if (follows) return words_[at_++];
  if (attached == nullptr) return "";
  if (manner_.true_or_false) return attached;  // the target checks whether it is one of them
  throw option_error(one_shell_word(fmt::format("{}={}", spelled, attached)), "takes no value",
                     spelled);
}

const std::string& OptionReader::next_word(std::string_view spelled, std::string_view value_name) {
  if (at_ == words_.size()) {
    const Option* option = manner_.help_of ? find(std::string(spelled)) : nullptr;
    throw option_error(std::string(spelled), fmt::format("needs {}", value_name),
                       option != nullptr ? manner_.help_of(*option) : std::string(manner_.help));
  }
  return words_[at_++];
}

// In "--train_file --do_train" or "--venv -np 2" the value is missing; it is not a file of that
// name. "-1" and other words that name no option are values.
const std::string& OptionReader::next_value(std::string_view spelled, std::string_view value_name) {
  const std::string word = at_ < words_.size() ? words_[at_] : "";
  if (word.size() > 1 && word.starts_with('-') && find(word.substr(0, word.find('='))) != nullptr) {
    throw option_error(
        std::string(spelled), fmt::format("needs {}, and {} is an option", value_name, word),
        // The first of "auto|DIR": a shell would take "|" for a pipe.
        fmt::format("{} {} {}", spelled, value_name.substr(0, value_name.find('|')), word));
  }
  return next_word(spelled, value_name);
}

std::string OptionReader::next_words(std::string_view spelled, std::string_view value_name) {
  std::string words = next_value(spelled, value_name);
  while (at_ < words_.size() && !starts_as_option(words_[at_])) words += "," + words_[at_++];
  return words;
}

bool OptionReader::is_option_next() const {
  return at_ < words_.size() && words_[at_].starts_with("-");
}

// NAME=VALUE in one word, or NAME and VALUE in two.
std::string OptionReader::variable(std::string_view spelled, const std::string& first) {
  const std::size_t equals = first.find('=');
  const std::string name = first.substr(0, equals);
  if (!is_variable_name(name)) {
    throw option_error(fmt::format("{} {}", spelled, one_shell_word(first)),
                       fmt::format("'{}' is not the name of a variable", printable(name)),
                       fmt::format("{} NAME=VALUE", spelled));
  }
  if (equals != std::string::npos) return first;
  return first + "=" + next_word(spelled, fmt::format("a value for {}", first));
}

void OptionReader::refuse_unknown(std::string_view spelled) const {
  std::string hint = nearest_option(table_, spelled);
  // "-fhosts": a one-letter option and its value without the space. Only if it cannot be a misspelt
  // name; "-hosts" is as near to this option as to that reading.
  const bool glued = spelled.size() > 2 && spelled[1] != '-' &&
                     (hint.empty() || bare_name(hint) == spelled.substr(2));
  const Option* option = glued ? find(std::string(spelled.substr(0, 2))) : nullptr;
  if (option != nullptr && option->takes != Takes::kNothing) {
    hint += fmt::format("{}{} {}", hint.empty() ? "" : ", or ", spelled.substr(0, 2),
                        spelled.substr(2));
  }
  // The manner's words for it also name the program.
  const bool is_help = hint.empty() || bare_name(hint) == "help";
  throw option_error(one_shell_word(std::string(spelled)), "unknown option",
                     is_help ? std::string(manner_.help) : hint);
}

void OptionReader::refuse_repeated() const {
  std::map<const Option*, const GivenOption*> seen;
  for (const GivenOption& given : read_.options) {
    // Repeating a flag changes nothing.
    const bool says_the_same = given.option->takes == Takes::kNothing;
    if (says_the_same || given.option->traits.repeatable) continue;
    const auto [first, is_new] = seen.emplace(given.option, &given);
    if (is_new) continue;
    throw option_error(typed_form(given),
                       fmt::format("given twice (first as {})", typed_form(*first->second)),
                       typed_form(given));
  }
}

bool OptionWords::has(std::string_view canonical) const {
  return std::any_of(options.begin(), options.end(), [&](const GivenOption& given) {
    return given.option->names.back() == canonical;
  });
}

std::string canonical_form(const GivenOption& given) {
  const std::string flag = fmt::format("--{}", bare_name(given.option->names.back()));
  const bool alone = given.option->takes == Takes::kNothing ||
                     (given.option->takes == Takes::kPerhapsNumber && given.value.empty());
  return alone ? flag : flag + "=" + given.value;
}

std::string typed_form(const GivenOption& given) {
  std::string form = given.typed;
  if (form.empty()) {
    form = given.spelled.empty() ? std::string(given.option->names.back()) : given.spelled;
    if (given.option->takes != Takes::kNothing && !is_secret(form)) {
      form += (given.place.empty() ? " " : " = ") + one_shell_word(given.value);
    }
  }
  return given.place.empty() ? form : given.place + ": " + form;
}

std::vector<TypedOption> typed_options(std::span<const GivenOption> options) {
  std::vector<TypedOption> typed;
  for (const GivenOption& given : options) {
    // The name does not say which of several is meant, so these keep their canonical name.
    const auto is_same = [&](const GivenOption& other) { return other.option == given.option; };
    const bool alone = std::count_if(options.begin(), options.end(), is_same) == 1;
    typed.push_back(
        {std::string(given.option->names.back()), alone ? typed_form(given) : std::string()});
  }
  return typed;
}

OptionWords read_option_words(std::span<const Option> table,
                              const std::vector<std::string>& arguments, const Manner& manner) {
  return OptionReader(table, arguments, manner).read();
}

}  // namespace dtl
