#pragma once
// Texts, numbers and colours as report.html has them. Pure functions.

#include <cstddef>
#include <string>
#include <string_view>

namespace dtl::trainer {

// Text that HTML and XML show as it is. XML 1.0 knows no control characters, not even as &#1;: they
// become '?', and so do bytes above 0x7F of what is not UTF-8.
std::string html_text(std::string_view text);

// The colour of the curve or share with this index: a variable of the page's style, kColours of
// them and then the first again.
constexpr int kColours = 8;
std::string colour_of(std::size_t index);

// Four digits and a unit: "0.6931", "1.5M", "2.5e-5".
std::string short_number(double value);
// Some digits behind the point of the mantissa, and no zero in front of the exponent: "2.5e-5".
std::string scientific(double value, int digits);

}  // namespace dtl::trainer
