#include <fmt/core.h>
#include <gnu/libc-version.h>

#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <nlohmann/detail/abi_macros.hpp>

#include "launcher/cli/help.hpp"

namespace dlaunch::launcher {

std::string version_text() {
#if defined(__clang__)
    constexpr const char* kCompiler = "clang " __clang_version__;
#else
    constexpr const char* kCompiler = "g++ " __VERSION__;
#endif
    return fmt::format(
        "dlaunch {} (compiled with {}; Boost {}.{}.{}, CLI11 {}, fmt {}.{}.{}, nlohmann-json {}.{}.{}; glibc {})\n",
        DLAUNCH_VERSION, kCompiler, BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100,
        CLI11_VERSION, FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100, NLOHMANN_JSON_VERSION_MAJOR,
        NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH, gnu_get_libc_version());
}

}  // namespace dlaunch::launcher
