#include "tests/support/agent/turn.hpp"

#include <boost/asio/io_context.hpp>

namespace dlaunch::agent {

void turn(base::Loop& loop) {
    constexpr int kChain = 10;  // callbacks may make further callbacks ready
    for (int i = 0; i < kChain; ++i) {
        loop.context().restart();
        loop.context().poll();
    }
}

void await_callback(base::Loop& loop) {
    loop.context().restart();
    loop.context().run_one();
}

}  // namespace dlaunch::agent
