// An error file of a worker: any bytes are a record with a message, or none.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/errors/error_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto record = dlaunch::agent::parse_error_file({reinterpret_cast<const char*>(data), size});
    if (!record) return 0;
    dlaunch::agent::Failure cause;
    cause.record = *record;
    if (dlaunch::agent::agent_error_file(cause).empty()) std::abort();
    return 0;
}
