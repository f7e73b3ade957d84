/// The smallest program to start with; prints its place in the job:
///
///     dlaunch --standalone --nproc-per-node=4 build/release/bin/examples/hello
///
/// A worker needs no library for that: dlaunch sets environment variables, the same as torchrun. Without dlaunch the
/// program is rank 0 of 1.

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

static const char* variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value ? value : otherwise;
}

static int usable_cores() {
    cpu_set_t mask;
    return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
}

int main() {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    std::printf("hello from rank %s of %s: local rank %s on %s, pid %d, %d usable cores\n", variable("RANK", "0"),
                variable("WORLD_SIZE", "1"), variable("LOCAL_RANK", "0"), host, static_cast<int>(getpid()),
                usable_cores());
}
