/// view_of(): memory of other libraries, recognized by their members. The types here have the members of theirs.

#include <dlaunch/interop.hpp>

#include <numeric>

#include "tests/conformance/fake_gpu.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

// NOLINTBEGIN(readability-identifier-naming): the names are the libraries'

/// As torch::Tensor of torch 2.
struct Tensor {
    enum class ScalarType : std::int8_t {
        Byte,
        Char,
        Short,
        Int,
        Long,
        Half,
        Float,
        Double,
        ComplexHalf,
        ComplexFloat,
        ComplexDouble,
        Bool,
        BFloat16 = 15,
        Float8 = 23,
        UInt16 = 27,
        UInt32,
        UInt64
    };

    void* data = nullptr;
    std::int64_t count = 0;
    ScalarType type = ScalarType::Float;
    std::size_t size = 4;
    bool contiguous = true, cuda = false, cpu = true;

    [[nodiscard]] void* data_ptr() const { return data; }
    [[nodiscard]] std::int64_t numel() const { return count; }
    [[nodiscard]] std::size_t element_size() const { return size; }
    [[nodiscard]] bool is_contiguous(int memory_format = 0) const { return memory_format == 0 && contiguous; }
    [[nodiscard]] ScalarType scalar_type() const { return type; }
    [[nodiscard]] bool is_cuda() const { return cuda; }
    [[nodiscard]] bool is_cpu() const { return cpu; }
};

/// As Eigen::MatrixXd, or a block of one.
struct Matrix {
    std::vector<double> values;
    long rows = 0, columns = 0, stride = 0;

    double* data() { return values.data(); }
    [[nodiscard]] const double* data() const { return values.data(); }
    [[nodiscard]] long size() const { return rows * columns; }
    [[nodiscard]] long innerStride() const { return 1; }
    [[nodiscard]] long outerStride() const { return stride; }
    [[nodiscard]] long innerSize() const { return rows; }
    [[nodiscard]] long outerSize() const { return columns; }
};

/// As std::mdspan.
template <class T>
struct Mdspan {
    T* where;
    std::size_t elements;
    bool exhaustive = true;
    [[nodiscard]] T* data_handle() const { return where; }
    [[nodiscard]] std::size_t size() const { return elements; }
    [[nodiscard]] bool is_exhaustive() const { return exhaustive; }
};

/// As c10::cuda::CUDAStream.
struct CurrentStream {
    struct Handle;
    void* handle;
    [[nodiscard]] Handle* stream() const { return static_cast<Handle*>(handle); }
};

// NOLINTEND(readability-identifier-naming)

static_assert(TensorLike<Tensor> && MatrixLike<Matrix> && MatrixLike<const Matrix> && MdspanLike<Mdspan<const int>>);
static_assert(!MatrixLike<std::vector<bool>> && !MatrixLike<Tensor> && !TensorLike<Matrix>);
static_assert(StreamLike<CurrentStream> && StreamLike<void*> && !StreamLike<int>);

void expect_refusal(const std::string& way_out, const std::function<void()>& call) {
    const Error error = expect_error(ErrorCode::invalid_argument, call);
    check(std::string(error.what()).find(way_out) != std::string::npos, error.what());
}

using InteropTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, InteropTest, testing::ValuesIn(cases({1, 2, 3})), name_of);

TEST_P(InteropTest, tensors) {
    run([](const ProcessGroup& world) {
        std::vector<float> values(100, static_cast<float>(world.rank()));
        Tensor tensor{.data = values.data(), .count = 100};
        world.all_reduce(view_of(tensor));
        const int sum = world.size() * (world.size() - 1) / 2;
        check(values.back() == static_cast<float>(sum), "the sum");
        const Tensor half{.data = values.data(), .count = 3, .type = Tensor::ScalarType::Half, .size = 2};
        check(view_of(half).type == ElementType(DType::float16), "a half");
        const Tensor words{.data = values.data(), .count = 3, .type = Tensor::ScalarType::UInt32, .size = 4};
        check(view_of(words).type == ElementType(DType::uint32), "a type of torch 2.3");
        Tensor tiny{.data = values.data(), .count = 8, .type = Tensor::ScalarType::Float8, .size = 1};
        world.broadcast(view_of(tiny));
        expect_refusal("does not exist for bytes", [&] { world.all_reduce(view_of(tiny)); });
        tensor.contiguous = false;
        expect_refusal("tensor.contiguous()", [&] { world.all_reduce(view_of(tensor)); });
        Tensor elsewhere{.cpu = false};
        expect_refusal("tensor.cpu()", [&] { world.all_reduce(view_of(elsewhere)); });
        Work work = world.all_reduce_async(view_of(words), ReduceOp::max());
        work.wait();
    });
}

TEST_P(InteropTest, matrices_mdspans_and_pointers) {
    run([](const ProcessGroup& world) {
        Matrix matrix{std::vector<double>(6, 1), 2, 3, 2};
        world.all_reduce(view_of(matrix));
        check(matrix.values == std::vector<double>(6, world.size()), "a matrix");
        const Matrix& constant = matrix;
        std::vector<double> all(6 * static_cast<std::size_t>(world.size()));
        world.all_gather(view_of(constant), all);
        check(all.back() == world.size(), "a constant matrix");
        const Matrix block{std::vector<double>(6), 1, 3, 2}, column{std::vector<double>(6), 2, 1, 100};
        expect_refusal("a matrix of its own", [&] { world.send(view_of(block), 0); });
        check(view_of(column).size() == 2, "a column has no gaps");

        int numbers[4] = {1, 2, 3, 4};
        world.all_reduce(view_of(Mdspan<int>{numbers, 4}), [](int* into, const int* from, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) into[i] *= from[i];
        });
        check(numbers[0] == 1 && numbers[1] == 1 << world.size(), "an mdspan and a function");
        expect_refusal("to an array", [&] { world.broadcast(view_of(Mdspan<int>{numbers, 4, false})); });
        world.broadcast(view_of(numbers + 1, 2));
        static_assert(std::same_as<decltype(view_of(Mdspan<const int>{numbers, 4})), std::span<const int>>);
    });
}

TEST(InteropOnGpusTest, tensors_and_streams) {
    run_world(2, {.backend = "nccl"}, [](const ProcessGroup& world) {
        OneFloat one;
        const CurrentStream current{one.stream.handle()};
        const DeviceSpan<float> span = one.buffer.span();
        const Tensor tensor{.data = span.data, .count = 1, .cuda = true, .cpu = false};
        world.all_reduce(view_of(tensor, current));
        check(one.value() == 2, "a tensor");
        world.all_reduce(view_of(span.data, 1, current));
        world.all_reduce(view_of(span.data, 1, one.stream.handle()));
        check(one.value() == 8, "a pointer");
    });
}

}  // namespace
}  // namespace dlaunch::conformance
