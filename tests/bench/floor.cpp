/// The lower bound for any launcher: starts n copies of a program and waits for all of them.
///
///     floor N PROGRAM [ARGS...]

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: floor N PROGRAM [ARGS...]\n");
        return 2;
    }
    int count = std::atoi(argv[1]);
    for (int i = 0; i < count; ++i) {
        pid_t child = 0;
        if (int error = posix_spawnp(&child, argv[2], nullptr, nullptr, argv + 2, environ)) {
            std::fprintf(stderr, "floor: %s: %s\n", argv[2], std::strerror(error));
            return 1;
        }
    }
    int worst = 0, status = 0;
    while (wait(&status) > 0) worst = status != 0 ? 1 : worst;
    return worst;
}
