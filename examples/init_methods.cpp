/// The three init methods: environment, address, file. Rank 0 chooses a port and a file and broadcasts them over the
/// first group. Prints `env: rank r of n`, `tcp: rank r of n` and `file: rank r of n`.

#include <dlaunch/dlaunch.hpp>

#include <cstdlib>
#include <string>

#include "examples/free_port.hpp"
#include "examples/print.hpp"

namespace {

void join(const char* name, const dlaunch::InitOptions& options) {
    dlaunch::init_process_group(options);
    print(name, ": rank ", dlaunch::get_rank(), " of ", dlaunch::get_world_size());
    dlaunch::barrier();
    dlaunch::destroy_process_group();
}

}  // namespace

int main() {
    const dlaunch::ProcessGroup first = dlaunch::init_process_group();
    const int rank = first.rank(), ranks = first.size();
    print("env: rank ", rank, " of ", ranks);
    std::string port = free_port(), file = "/tmp/init_methods.XXXXXX";
    if (rank == 0) close(mkstemp(file.data()));
    first.broadcast_object(port);
    first.broadcast_object(file);
    dlaunch::destroy_process_group();

    join("tcp", {.init_method = "tcp://127.0.0.1:" + port, .rank = rank, .world_size = ranks});
    join("file", {.init_method = "file://" + file, .rank = rank, .world_size = ranks});
    if (rank == 0) unlink(file.c_str());
}
