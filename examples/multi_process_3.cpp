/// A worker needs no library: the launcher tells it its rank through the environment. Prints `hello world, r`.

#include <cstdlib>

#include "examples/print.hpp"

int main() {
    const char* rank = std::getenv("RANK");
    say("hello world, ", rank ? rank : "0");
}
