#include "agent/logs/worker_pipes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/process/limits.hpp"

namespace dlaunch::agent {
namespace {

bool make_pipe(base::UniqueFd& reader, base::UniqueFd& writer) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    reader.reset(ends[0]);
    writer.reset(ends[1]);
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

}  // namespace

base::Result<WorkerPipes> make_worker_pipes() {
    WorkerPipes made;
    if (make_pipe(made.readers.out, made.writers.out) && make_pipe(made.readers.err, made.writers.err)) return made;
    const int error = errno;
    return base::Error{fmt::format("cannot make its pipes: {}{}", std::strerror(error), open_files_hint(error)), 1};
}

}  // namespace dlaunch::agent
