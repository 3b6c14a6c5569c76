// Debian ships no static fmt: this file compiles its bodies once, with the templates the headers
// declare as defined elsewhere.
#include <fmt/format-inl.h>

namespace fmt {
inline namespace v9 {
namespace detail {
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl<char>(locale_ref);
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>,
                         locale_ref);
}  // namespace detail
}  // namespace v9
}  // namespace fmt
