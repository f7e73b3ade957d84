/// Measures memory bandwidth: the median time of one memcpy for each size, in microseconds. This is a lower bound for
/// any collective of the same size.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
    using Clock = std::chrono::steady_clock;
    for (int i = 1; i < argc; ++i) {
        const std::size_t bytes = std::strtoul(argv[i], nullptr, 10);
        // Several copies per measurement if one is shorter than the clock's resolution.
        const std::size_t batch = std::max<std::size_t>(1, (64 << 10) / bytes), rounds = bytes <= 1 << 20 ? 200 : 15;
        std::vector<char> from(bytes, 1), to(bytes);
        std::vector<double> times;
        for (std::size_t k = 0; k < rounds + 3; ++k) {
            const auto begin = Clock::now();
            for (std::size_t j = 0; j < batch; ++j) {
                std::memcpy(to.data(), from.data(), bytes);
                asm volatile("" : : "r"(to.data()) : "memory");
            }
            const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
            if (k >= 3) times.push_back(us / static_cast<double>(batch));
        }
        std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(rounds / 2), times.end());
        std::printf("%zu,%.4f\n", bytes, times[rounds / 2]);
    }
}
