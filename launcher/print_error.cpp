#include "launcher/print_error.hpp"

#include <unistd.h>

#include <string>

namespace dlaunch::launcher {

int print_error(const base::Error& error) {
    const std::string line = "dlaunch: " + error.text + "\n";
    [[maybe_unused]] const auto ignored = write(STDERR_FILENO, line.data(), line.size());  // stderr may be closed
    return error.status;
}

}  // namespace dlaunch::launcher
