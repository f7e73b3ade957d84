/// Data and tensor parallelism together, on a grid of 2 x N/2 ranks: data_and_tensor_parallel. The two ranks of a
/// column share the hidden layer: each has one half of its units, and their outputs are added. The ranks of a row have
/// the same half and share the samples: each trains on some of them, and the gradients are added. Needs an even number
/// of ranks. Rank 0 prints `loss x` for each of 20 steps; it does not depend on the number of ranks.

#include <dlaunch/dlaunch.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "examples/part.hpp"
#include "examples/print.hpp"

namespace {

constexpr int kInputs = 4, kHidden = 16, kSamples = 48, kSteps = 20;
constexpr double kRate = 0.05;

double input(int sample, int i) { return std::sin(sample * 7 + i * 13); }
double target(int sample) { return std::tanh(input(sample, 0) - 2 * input(sample, 1)) + 0.5 * input(sample, 2); }

/// A rank's units of the hidden layer; the same weights wherever the layer is cut.
class HalfLayer {
public:
    explicit HalfLayer(const Part& units) {
        for (int unit = units.begin; unit < units.end; ++unit) {
            for (int i = 0; i < kInputs; ++i) in_.push_back(std::cos(unit * 5 + i));
            out_.push_back(std::cos(unit * 3) / 4);
        }
    }

    /// What these units add to the output.
    [[nodiscard]] double forward(int sample) const {
        double output = 0;
        for (std::size_t unit = 0; unit < out_.size(); ++unit) output += out_[unit] * active(unit, sample);
        return output;
    }

    using Gradient = std::vector<double>;  // of in_, then of out_
    [[nodiscard]] Gradient no_gradient() const { return Gradient(in_.size() + out_.size()); }
    void backward(int sample, double error, Gradient& gradient) const {
        for (std::size_t unit = 0; unit < out_.size(); ++unit) {
            const double value = active(unit, sample), at_unit = error * out_[unit] * (1 - value * value);
            for (int i = 0; i < kInputs; ++i) gradient[weight(unit, i)] += at_unit * input(sample, i);
            gradient[in_.size() + unit] += error * value;
        }
    }
    void step(const Gradient& gradient) {
        for (std::size_t i = 0; i < in_.size(); ++i) in_[i] -= kRate * gradient[i] / kSamples;
        for (std::size_t u = 0; u < out_.size(); ++u) out_[u] -= kRate * gradient[in_.size() + u] / kSamples;
    }

private:
    static std::size_t weight(std::size_t unit, int i) { return unit * kInputs + static_cast<std::size_t>(i); }
    [[nodiscard]] double active(std::size_t unit, int sample) const {
        double sum = 0;
        for (int i = 0; i < kInputs; ++i) sum += in_[weight(unit, i)] * input(sample, i);
        return std::tanh(sum);
    }

    std::vector<double> in_, out_;
};

}  // namespace

int main() {
    const dlaunch::ProcessGroup world = dlaunch::init_process_group();
    const int columns = world.size() / 2;
    if (world.size() % 2 != 0) {
        std::fprintf(stderr, "data_and_tensor_parallel: %d ranks, expected an even number\n", world.size());
        return 2;
    }
    const dlaunch::ProcessGroup column = world.split(world.rank() % columns), row = world.split(world.rank() / columns);
    HalfLayer layer(Part(kHidden, column.rank(), column.size()));
    const Part samples(kSamples, row.rank(), row.size());

    for (int step = 0; step < kSteps; ++step) {
        std::vector<double> outputs;
        for (int s = samples.begin; s < samples.end; ++s) outputs.push_back(layer.forward(s));
        column.all_reduce(outputs);  // the other half's units

        HalfLayer::Gradient gradient = layer.no_gradient();
        double loss = 0;
        for (int s = samples.begin; s < samples.end; ++s) {
            const double error = outputs[static_cast<std::size_t>(s - samples.begin)] - target(s);
            loss += error * error / kSamples;
            layer.backward(s, error, gradient);
        }
        row.all_reduce(gradient);  // the other samples'
        row.all_reduce(loss);
        layer.step(gradient);
        if (world.rank() == 0) print("loss ", loss);
    }
}
