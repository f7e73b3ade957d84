/// One rank downloads for all: rank 0 enters the barrier after the download, the other ranks before it. Prints, on rank
/// 0, `rank 0: downloading`, and on all `rank r: found data`.

#include <dlaunch/dlaunch.hpp>

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::string folder = "/tmp/download_once.XXXXXX";
    if (rank == 0 && !mkdtemp(folder.data())) return 1;
    dlaunch::default_group().broadcast_object(folder);
    const std::string file = folder + "/data";

    if (rank != 0) dlaunch::barrier();
    if (access(file.c_str(), F_OK) != 0) {
        if (rank != 0) return 1;  // only rank 0 may create the file
        print("rank 0: downloading");
        std::ofstream(file) << "data";
    }
    if (rank == 0) dlaunch::barrier();

    std::string found;
    std::ifstream(file) >> found;
    print("rank ", rank, ": found ", found);
    dlaunch::barrier();
    if (rank == 0) {
        unlink(file.c_str());
        rmdir(folder.c_str());
    }
}
