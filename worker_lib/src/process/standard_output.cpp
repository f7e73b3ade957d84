#include "worker_lib/src/process/standard_output.hpp"

#include <stdio_ext.h>

#include <cstdio>

namespace dlaunch::worker {

void write_stdout_by_lines() {
    const bool is_unbuffered = __fbufsize(stdout) == 1;
    if (is_unbuffered || __flbf(stdout)) return;
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    std::fflush(stdout);  // the stream learns its new mode with its next write only
}

}  // namespace dlaunch::worker
