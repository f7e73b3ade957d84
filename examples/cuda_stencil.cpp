/// The heat equation of halo_exchange on GPUs: cuda_stencil [SIZE [STEPS]]. Each rank has some rows of the square in
/// the memory of its GPU. A step sends the border rows from there to the neighbours' halos, and a kernel of our own
/// behind them computes the next rows; the host waits for neither. Rank 0 prints `sum x`. Needs a GPU per rank:
/// `dlaunch --nproc-per-node=gpu cuda_stencil`.

#include <dlaunch/dlaunch.hpp>

#include <cstdlib>
#include <utility>
#include <vector>

#include "examples/kernel.hpp"
#include "examples/on_gpu.hpp"
#include "examples/part.hpp"
#include "examples/print.hpp"

namespace {

/// clang++ --cuda-device-only made this of:
///
///     __global__ void heat_step(const float* now, float* next, int width, int height) {
///         const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
///         if (x >= width || y >= height) return;
///         const long stride = width + 2, at = (y + 1) * stride + x + 1;
///         next[at] = now[at] + 0.2f * (now[at - 1] + now[at + 1] + now[at - stride] + now[at + stride] - 4 * now[at]);
///     }
constexpr const char* kHeatStep = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry heat_step(.param .u64 now, .param .u64 next, .param .u32 width, .param .u32 height)
{
    .reg .pred %p<4>;
    .reg .b32 %r<13>;
    .reg .f32 %f<11>;
    .reg .b64 %rd<18>;
    ld.param.u32 %r3, [width];
    ld.param.u32 %r4, [height];
    mov.u32 %r5, %ctaid.x;
    mov.u32 %r6, %ntid.x;
    mov.u32 %r7, %tid.x;
    mad.lo.s32 %r1, %r5, %r6, %r7;
    mov.u32 %r8, %ctaid.y;
    mov.u32 %r9, %ntid.y;
    mov.u32 %r10, %tid.y;
    mad.lo.s32 %r2, %r8, %r9, %r10;
    setp.lt.s32 %p1, %r1, %r3;
    setp.lt.s32 %p2, %r2, %r4;
    and.pred %p3, %p1, %p2;
    @!%p3 bra outside;
    ld.param.u64 %rd3, [now];
    ld.param.u64 %rd4, [next];
    cvta.to.global.u64 %rd1, %rd4;
    cvta.to.global.u64 %rd2, %rd3;
    add.s32 %r11, %r3, 2;
    cvt.s64.s32 %rd5, %r11;
    add.s32 %r12, %r2, 1;
    mul.wide.s32 %rd6, %r11, %r12;
    cvt.s64.s32 %rd7, %r1;
    add.s64 %rd8, %rd6, %rd7;
    shl.b64 %rd9, %rd8, 2;
    add.s64 %rd10, %rd2, %rd9;
    ld.global.f32 %f1, [%rd10+4];
    ld.global.f32 %f2, [%rd10];
    add.s64 %rd11, %rd10, 8;
    ld.global.f32 %f3, [%rd10+8];
    add.f32 %f4, %f2, %f3;
    sub.s64 %rd12, %rd8, %rd5;
    shl.b64 %rd13, %rd12, 2;
    add.s64 %rd14, %rd2, %rd13;
    ld.global.f32 %f5, [%rd14+4];
    add.f32 %f6, %f4, %f5;
    mul.wide.s32 %rd15, %r3, 4;
    add.s64 %rd16, %rd11, %rd15;
    ld.global.f32 %f7, [%rd16+4];
    add.f32 %f8, %f6, %f7;
    fma.rn.f32 %f9, %f1, 0fC0800000, %f8;
    fma.rn.f32 %f10, %f9, 0f3E4CCCCD, %f1;
    add.s64 %rd17, %rd1, %rd9;
    st.global.f32 [%rd17+4], %f10;
outside:
    ret;
}
)";

/// A rank's rows with a halo of one cell around them. Beyond the square's border the halo stays 0.
class Rows {
public:
    Rows(int size, const dlaunch::ProcessGroup& group)
        : group_(group),
          width_(size),
          begin_(Part(size, group.rank(), group.size()).begin),
          height_(Part(size, group.rank(), group.size()).size()),
          now_(initial(), stream_.handle()),
          next_(std::vector<float>(now_.size()), stream_.handle()) {}

    void step() {
        std::vector<dlaunch::P2POp> batch;
        const auto exchange = [&](int peer, int border, int halo) {
            if (peer < 0 || peer >= group_.size()) return;
            batch.push_back(dlaunch::send_op(row(border), peer));
            batch.push_back(dlaunch::recv_op(row(halo), peer));
        };
        exchange(group_.rank() - 1, 0, -1);
        exchange(group_.rank() + 1, height_ - 1, height_);
        auto works = group_.batch_isend_irecv(batch);
        dlaunch::wait_all(works);  // makes the stream wait, not the host
        const float* now = now_.span().data;
        float* next = next_.span().data;
        void* arguments[] = {&now, &next, &width_, &height_};
        heat_step_.launch(static_cast<unsigned>(width_), static_cast<unsigned>(height_), stream_.handle(), arguments);
        std::swap(now_, next_);
    }

    [[nodiscard]] double sum() const {
        const std::vector<float> cells = now_.to_host();
        double heat = 0;
        for (std::size_t at = row_begin(0); at < row_begin(height_); ++at) heat += cells[at];
        group_.all_reduce(heat);
        return heat;
    }

private:
    [[nodiscard]] std::size_t stride() const { return static_cast<std::size_t>(width_) + 2; }
    [[nodiscard]] std::size_t row_begin(int y) const { return static_cast<std::size_t>(y + 1) * stride(); }
    [[nodiscard]] dlaunch::DeviceSpan<float> row(int y) { return now_.span(row_begin(y), stride()); }
    [[nodiscard]] std::vector<float> initial() const {
        std::vector<float> cells((static_cast<std::size_t>(height_) + 2) * stride());
        for (int y = 0; y < height_; ++y)
            for (int x = 0; x < width_; ++x)
                cells[row_begin(y) + static_cast<std::size_t>(x) + 1] =
                    1.0F + static_cast<float>(x % 7) * 0.25F + static_cast<float>((begin_ + y) % 5) * 0.5F;
        return cells;
    }

    const dlaunch::ProcessGroup group_;
    int width_, begin_, height_;
    const dlaunch::DeviceStream stream_;
    dlaunch::DeviceBuffer<float> now_, next_;
    const Kernel heat_step_{kHeatStep, "heat_step"};
};

int size = 64, steps = 100;

void stencil() {
    const dlaunch::ProcessGroup world = dlaunch::init_process_group();
    Rows rows(size, world);
    for (int step = 0; step < steps; ++step) rows.step();
    const double sum = rows.sum();
    if (world.rank() == 0) print("sum ", sum);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) size = std::atoi(argv[1]);
    if (argc > 2) steps = std::atoi(argv[2]);
    return on_gpu(stencil);
}
