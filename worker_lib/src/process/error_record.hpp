#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlaunch::worker {

/// The text as a JSON string, quotes included; what is no UTF-8 becomes \ufffd.
[[nodiscard]] std::string json_string(std::string_view text);

/// An error file as torch's record() writes it; `seconds` since 1970.
[[nodiscard]] std::string error_record(const std::string& message, const std::string& stack, std::int64_t seconds);

/// record() has been called and $TORCHELASTIC_ERROR_FILE has changed since: a fatal signal leaves its record there.
void renew_error_file();

}  // namespace dlaunch::worker
