#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlaunch::worker {

/// The text as a JSON string with quotes; bytes that are not UTF-8 become \ufffd.
[[nodiscard]] std::string json_string(std::string_view text);

/// The contents of an error file in the format of torch's record(); `seconds` since 1970.
[[nodiscard]] std::string error_record(const std::string& message, const std::string& stack, std::int64_t seconds);

/// Reads $TORCHELASTIC_ERROR_FILE again, for the record of a fatal signal. Call it when the variable has changed.
void renew_error_file();

}  // namespace dlaunch::worker
