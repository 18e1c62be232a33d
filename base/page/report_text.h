#pragma once
// Texts, numbers and colours for report.html. Pure functions.

#include <cstddef>
#include <string>
#include <string_view>

namespace dtl {

// Escapes text for HTML and XML. XML 1.0 does not allow control characters, not even as &#1;: they
// become '?'. So do bytes above 0x7F if the text is not UTF-8.
std::string html_text(std::string_view text);

// The colour for a curve or share: a variable of the page's style. After kColours colours, the
// first follows again.
constexpr int kColours = 8;
std::string colour_of(std::size_t index);

// Four digits and a unit: "0.6931", "1.5M", "2.5e-5".
std::string short_number(double value);
// A mantissa with some digits and an exponent without leading zeros: "2.5e-5".
std::string scientific(double value, int digits);

}  // namespace dtl
