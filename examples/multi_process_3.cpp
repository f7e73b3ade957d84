/// A worker needs no library: the launcher passes the rank in the environment. Prints `hello world, r`.

#include <cstdlib>

#include "examples/print.hpp"

int main() {
    const char* rank = std::getenv("RANK");
    print("hello world, ", rank ? rank : "0");
}
