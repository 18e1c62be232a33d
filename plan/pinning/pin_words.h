#pragma once
// PinText: a text about pinning and where it came from. Every reader of such texts takes one, so
// that a refusal always names the variable or option, its value, the values there are, and one that
// works. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/pinning/pin_request.h"

namespace dtl {

// How the value of an option or a variable may look.
struct PinForm {
  std::string_view grammar;  // for a message: "unit or core"
  std::string_view words;    // those that a mistyped one may mean: "unit,core"
  std::string_view example;  // a good value
  std::string_view binding;  // how -binding says it: "cell=core"; empty: it does not
};

struct PinText {
  std::string origin;  // "-genv I_MPI_PIN_DOMAIN", "environment variable I_MPI_PIN", "--bind-to"
  std::string text;    // its value, trimmed, without quotes around it
  PinForm form;

  // Of the part `piece`; why: the rest of the sentence, "is not understood" without. The hint is
  // the text with the nearest word in the place of `piece`, or the example. kUsage.
  Error bad(std::string_view piece, const std::string& why = {}) const;
};

// Lower case, trimmed, without enclosing quotes.
std::string plain_word(std::string_view text);

// "core", "sock", "l3cache", ... in any launcher's spelling; nullopt if it is not an object.
std::optional<PinObject> pin_object(std::string_view word);

// "1", "on", "yes", "enable" and their opposites.
std::optional<bool> pin_switch(std::string_view word);

// A number from 1 up to a node's maximum of CPUs; throws source.bad().
int pin_count(const PinText& source, std::string_view word);

// "[f0,0x0f,]": hexadecimal masks of any width, with or without 0x; a trailing comma is allowed. No
// mask is empty. source.text starts with '['.
std::vector<CpuSet> parse_masks(const PinText& source);

// "0-3,8": the CPUs in the given order; repetitions are allowed.
std::vector<int> parse_cpu_numbers(const PinText& source, std::string_view text);

}  // namespace dtl
