/// speed: all_reduce through libdlaunch beside NCCL called directly, on the same streams, by the same number of ranks.
///
///     speed [MOST_BYTES]
///     speed version          which library that is

#include <dlfcn.h>

#include <dlaunch/dlaunch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "worker_lib/src/nccl/library.hpp"

namespace {

namespace nccl = dlaunch::worker::nccl;
using nccl::Result;

/// NCCL without us.
class Raw {
public:
    Raw() {
        const char* file = std::getenv("DLAUNCH_NCCL_LIBRARY");
        library_ = dlopen(file ? file : "libnccl.so.2", RTLD_NOW);
        bind(table_.get_version, "ncclGetVersion");
        bind(table_.get_unique_id, "ncclGetUniqueId");
        bind(table_.init, "ncclCommInitRankConfig");
        bind(table_.all_reduce, "ncclAllReduce");
        bind(table_.get_async_error, "ncclCommGetAsyncError");
    }
    [[nodiscard]] int version() const {
        int version = 0;
        table_.get_version(&version);
        return version;
    }
    void join(const dlaunch::ProcessGroup& world) {
        nccl::UniqueId id{};
        if (world.rank() == 0) table_.get_unique_id(&id);
        std::string bytes(id.bytes, sizeof(id.bytes));
        world.broadcast_object(bytes);
        std::memcpy(id.bytes, bytes.data(), sizeof(id.bytes));
        nccl::Config config;
        table_.init(&comm_, world.size(), id, world.rank(), &config);
        settle();
    }
    void all_reduce(const dlaunch::DeviceSpan<float>& in, const dlaunch::DeviceSpan<float>& out) const {
        table_.all_reduce(in.data, out.data, in.count, nccl::Type::float32, 0, comm_, in.stream);
        settle();
    }

private:
    template <class Function>
    void bind(Function& function, const char* name) {
        function = library_ ? reinterpret_cast<Function>(dlsym(library_, name)) : nullptr;
        if (!function) throw std::runtime_error(std::string("NCCL has no ") + name);
    }
    void settle() const {
        Result state = Result::in_progress;
        while (state == Result::in_progress) table_.get_async_error(comm_, &state);
        if (state != Result::success) throw std::runtime_error("NCCL failed");
    }
    void* library_ = nullptr;
    nccl::NcclTable table_{};
    nccl::Comm comm_ = nullptr;
};

/// Microseconds of one call, where calls follow each other on the stream: the median over rounds of the slowest rank.
double measure(const dlaunch::ProcessGroup& world, const dlaunch::DeviceStream& stream, int calls,
               const std::function<void()>& call) {
    std::vector<double> times;
    for (int round = -1; round < 9; ++round) {
        world.barrier();
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) call();
        stream.synchronize();
        double time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
        world.all_reduce(time, dlaunch::ReduceOp::max());
        if (round >= 0) times.push_back(time / calls);
    }
    std::nth_element(times.begin(), times.begin() + 4, times.end());
    return times[4];
}

void compare(std::size_t most) {
    dlaunch::use_device();
    const dlaunch::ProcessGroup world = dlaunch::init_process_group({.backend = "auto"});
    const dlaunch::DeviceStream stream;
    Raw raw;
    raw.join(world);
    if (world.rank() == 0)
        std::printf("%12s %10s %10s %7s   all_reduce of floats, %d ranks\n", "bytes", "raw us", "ours us", "ratio",
                    world.size());
    for (const std::size_t bytes : {8, 65536, 1 << 20, 16 << 20, 256 << 20}) {
        if (bytes > most) break;
        dlaunch::DeviceBuffer<float> in(bytes / 4, stream.handle()), out(bytes / 4, stream.handle());
        const int calls = bytes <= 65536 ? 200 : 20;
        const double theirs = measure(world, stream, calls, [&] { raw.all_reduce(in.span(), out.span()); });
        const double ours = measure(world, stream, calls, [&] { world.all_reduce(in.span(), out.span()); });
        if (world.rank() == 0) std::printf("%12zu %10.2f %10.2f %7.3f\n", bytes, theirs, ours, ours / theirs);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc > 1 && std::string(argv[1]) == "version") {
            const int version = Raw().version();
            return std::printf("NCCL %d.%d.%d\n", version / 10000, version % 10000 / 100, version % 100) < 0;
        }
        compare(argc > 1 ? std::stoul(argv[1]) : 256 << 20);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "speed: %s\n", error.what());
        return 1;
    }
}
