// A configuration file: any text is options whose values are taken or refused, or an error that names its line.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "launcher/cli/parse.hpp"
#include "launcher/cli/sources.hpp"

namespace l = dlaunch::launcher;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto uses = l::read_config("f", std::string(reinterpret_cast<const char*>(data), size));
    if (!uses) return uses.error().text.starts_with("f:") ? 0 : (std::abort(), 0);
    const auto settings = l::parse(*uses);
    if (!settings && settings.error().text.empty()) std::abort();
    return 0;
}
