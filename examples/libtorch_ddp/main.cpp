/// Data parallelism for a model of libtorch, as DistributedDataParallel in Python: rank 0's parameters are broadcast,
/// each rank computes the gradients of its part of the batch, and an all-reduce of each gradient starts as soon as the
/// backward pass has it. Prints, on rank 0, `step s: loss l` for 10 steps; the losses fall, and are the same for every
/// number of ranks that divides 240, up to rounding.

#include <torch/torch.h>
#include <dlaunch/dlaunch.hpp>
#include <dlaunch/interop.hpp>

#include <cstdio>
#include <vector>

namespace {

constexpr int kRows = 240, kSteps = 10;

/// Averages the gradients of a model over the ranks, during the backward pass.
class GradientAverage {
public:
    explicit GradientAverage(torch::nn::Module& model)
        : parameters_(model.parameters()), averages_(parameters_.size()) {
        for (torch::Tensor& parameter : parameters_) dlaunch::broadcast(dlaunch::view_of(parameter));
        for (std::size_t i = 0; i < parameters_.size(); ++i)
            parameters_[i].register_hook([this, i](const torch::Tensor& gradient) { begin(i, gradient); });
    }

    /// To be called after the backward pass.
    void finish() {
        dlaunch::wait_all(works_);
        works_.clear();
        for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].mutable_grad().copy_(averages_[i]);
    }

private:
    void begin(std::size_t i, const torch::Tensor& gradient) {
        averages_[i] = gradient.clone(torch::MemoryFormat::Contiguous);  // libtorch may go on with `gradient` itself
        works_.push_back(dlaunch::all_reduce_async(dlaunch::view_of(averages_[i]), dlaunch::ReduceOp::avg()));
    }

    std::vector<torch::Tensor> parameters_, averages_;
    std::vector<dlaunch::Work> works_;
};

}  // namespace

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    torch::manual_seed(1);
    const torch::Tensor all_points = torch::randn({kRows, 8}), all_values = all_points.square().sum(1, true);
    const torch::Tensor points = all_points.slice(0, rank, kRows, ranks),
                        values = all_values.slice(0, rank, kRows, ranks);

    torch::manual_seed(100 + rank);  // the broadcast makes the parameters equal
    torch::nn::Sequential model(torch::nn::Linear(8, 32), torch::nn::ReLU(), torch::nn::Linear(32, 1));
    GradientAverage average(*model);
    torch::optim::SGD optimizer(model->parameters(), 0.01);
    for (int step = 0; step < kSteps; ++step) {
        optimizer.zero_grad();
        torch::Tensor loss = torch::mse_loss(model->forward(points), values);
        loss.backward();
        average.finish();
        optimizer.step();
        torch::Tensor shown = loss.detach();
        dlaunch::all_reduce(dlaunch::view_of(shown), dlaunch::ReduceOp::avg());
        if (rank == 0) std::printf("step %d: loss %.4f\n", step, shown.item<float>());
    }
}
