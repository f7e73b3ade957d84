#pragma once
/// RFC 4648's base64, with padding.

#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::base {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// None: other characters than those of base64.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace dlaunch::base
