#pragma once
// The layers of the training examples: a minimal neural network library.
//
// A model keeps all parameters in one array and all gradients in another, layer after layer, so that any part of the
// array can be sent without a copy, and backward() can report which part is complete. Inner loops run over contiguous
// elements and write each one once, so that compilers vectorize them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

using Row = std::vector<float>;

/// sum += factor * values
inline void add(float* sum, float factor, const float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) sum[i] += factor * values[i];
}

class Layer {
public:
    virtual ~Layer() = default;
    [[nodiscard]] virtual std::size_t parameters() const { return 0; }
    [[nodiscard]] virtual std::size_t fan_in() const { return 1; }
    /// Processes `batch` contiguous samples.
    virtual Row forward(const Row& in, std::size_t batch, bool training) = 0;
    /// Computes the gradient of forward()'s last input from the gradient of its output; adds to the parameters'
    /// gradients.
    virtual Row backward(const Row& out_gradient, std::size_t batch) = 0;

    float *values = nullptr, *gradients = nullptr;  // this layer's part of the model's arrays
};

/// A linear layer from `ins` to `outs` numbers: weights, one row per input, then one bias per output.
class Linear final : public Layer {
public:
    Linear(std::size_t ins, std::size_t outs) : ins_(ins), outs_(outs) {}
    std::size_t parameters() const override { return (ins_ + 1) * outs_; }
    std::size_t fan_in() const override { return ins_; }

    Row forward(const Row& in, std::size_t batch, bool) override {
        in_ = in;
        Row out(batch * outs_);
        for (std::size_t b = 0; b < batch; ++b) {
            float* to = &out[b * outs_];
            std::copy_n(values + ins_ * outs_, outs_, to);
            for (std::size_t i = 0; i < ins_; ++i) add(to, in[b * ins_ + i], values + i * outs_, outs_);
        }
        return out;
    }

    Row backward(const Row& out, std::size_t batch) override {
        Row in(batch * ins_);
        for (std::size_t b = 0; b < batch; ++b) {
            const float* from = &out[b * outs_];
            add(gradients + ins_ * outs_, 1, from, outs_);
            for (std::size_t i = 0; i < ins_; ++i) {
                add(gradients + i * outs_, in_[b * ins_ + i], from, outs_);
                for (std::size_t o = 0; o < outs_; ++o) in[b * ins_ + i] += values[i * outs_ + o] * from[o];
            }
        }
        return in;
    }

private:
    std::size_t ins_, outs_;
    Row in_;
};

/// 5 x 5 convolution of square images without padding: a matrix of patches times a matrix of weights.
class Convolution final : public Layer {
public:
    Convolution(std::size_t ins, std::size_t outs, std::size_t side)
        : ins_(ins), outs_(outs), side_(side), small_(side - 4) {}
    std::size_t parameters() const override { return (fan_in() + 1) * outs_; }
    std::size_t fan_in() const override { return ins_ * 25; }

    Row forward(const Row& in, std::size_t batch, bool) override {
        in_ = in;
        const std::size_t pixels = small_ * small_, weights = fan_in();
        Row out(batch * outs_ * pixels), patches(weights * pixels);
        for (std::size_t b = 0; b < batch; ++b) {
            visit([&](std::size_t weight, std::size_t pixel, std::size_t at) {
                patches[weight * pixels + pixel] = in[b * image() + at];
            });
            for (std::size_t o = 0; o < outs_; ++o) {
                float* to = &out[(b * outs_ + o) * pixels];
                std::fill_n(to, pixels, values[weights * outs_ + o]);
                for (std::size_t w = 0; w < weights; ++w)
                    add(to, values[o * weights + w], &patches[w * pixels], pixels);
            }
        }
        return out;
    }

    Row backward(const Row& out, std::size_t batch) override {
        const std::size_t pixels = small_ * small_, weights = fan_in();
        Row in(batch * image()), patches(pixels * weights), patch_gradients(weights * pixels);
        for (std::size_t b = 0; b < batch; ++b) {
            visit([&](std::size_t weight, std::size_t pixel, std::size_t at) {
                patches[pixel * weights + weight] = in_[b * image() + at];
            });
            std::fill(patch_gradients.begin(), patch_gradients.end(), 0.0F);
            for (std::size_t o = 0; o < outs_; ++o) {
                const float* from = &out[(b * outs_ + o) * pixels];
                for (std::size_t p = 0; p < pixels; ++p) {
                    if (from[p] == 0) continue;  // most gradients are zero after a pooling
                    gradients[weights * outs_ + o] += from[p];
                    add(gradients + o * weights, from[p], &patches[p * weights], weights);
                }
                for (std::size_t w = 0; !first && w < weights; ++w)
                    add(&patch_gradients[w * pixels], values[o * weights + w], from, pixels);
            }
            if (!first)
                visit([&](std::size_t weight, std::size_t pixel, std::size_t at) {
                    in[b * image() + at] += patch_gradients[weight * pixels + pixel];
                });
        }
        return in;
    }

    bool first = false;  // the gradient of the pictures is not needed

private:
    [[nodiscard]] std::size_t image() const { return ins_ * side_ * side_; }
    /// Calls back with each weight's index, the index of each result pixel, and the index of the input pixel to
    /// combine.
    template <class F>
    void visit(F&& f) const {
        for (std::size_t w = 0; w < fan_in(); ++w)
            for (std::size_t y = 0; y < small_; ++y)
                for (std::size_t x = 0; x < small_; ++x)
                    f(w, y * small_ + x, (w / 25 * side_ + y + w % 25 / 5) * side_ + x + w % 5);
    }
    std::size_t ins_, outs_, side_, small_;
    Row in_;
};

/// 2 x 2 maximum pooling; `side` is even.
class MaxPool final : public Layer {
public:
    explicit MaxPool(std::size_t side) : side_(side) {}
    Row forward(const Row& in, std::size_t, bool) override {
        Row out(in.size() / 4);
        chosen_.resize(out.size());
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::size_t half = side_ / 2, image = i / (half * half), y = i / half % half, x = i % half;
            const std::size_t corner = image * side_ * side_ + 2 * y * side_ + 2 * x;
            std::size_t best = corner;
            for (const std::size_t at : {corner + 1, corner + side_, corner + side_ + 1})
                if (in[at] > in[best]) best = at;
            chosen_[i] = best;
            out[i] = in[best];
        }
        return out;
    }
    Row backward(const Row& out, std::size_t) override {
        Row in(out.size() * 4);
        for (std::size_t i = 0; i < out.size(); ++i) in[chosen_[i]] = out[i];
        return in;
    }

private:
    std::size_t side_;
    std::vector<std::size_t> chosen_;
};

class Relu final : public Layer {
public:
    Row forward(const Row& in, std::size_t, bool) override {
        out_ = in;
        for (float& value : out_) value = std::max(value, 0.0F);
        return out_;
    }
    Row backward(const Row& out, std::size_t) override {
        Row in = out;
        for (std::size_t i = 0; i < in.size(); ++i)
            if (out_[i] <= 0) in[i] = 0;
        return in;
    }

private:
    Row out_;
};

/// In training drops half of the numbers, in runs of `together` (1, or a channel), and doubles the other numbers.
class Dropout final : public Layer {
public:
    Dropout(std::size_t together, std::mt19937& random) : together_(together), random_(random) {}
    Row forward(const Row& in, std::size_t, bool training) override {
        factors_.assign(in.size(), 1);
        for (std::size_t i = 0; training && i < in.size(); ++i)
            factors_[i] = i % together_ != 0 ? factors_[i - 1] : random_() % 2 == 0 ? 0.0F : 2.0F;
        return backward(in, 0);
    }
    Row backward(const Row& out, std::size_t) override {
        Row in = out;
        for (std::size_t i = 0; i < in.size(); ++i) in[i] *= factors_[i];
        return in;
    }

private:
    std::size_t together_;
    std::mt19937& random_;
    Row factors_;
};

class Model {
public:
    /// The last layer's outputs are the classes' scores. Initial weights are uniform within +-1 / sqrt(fan in).
    Model(std::vector<std::unique_ptr<Layer>> layers, std::mt19937& random) : layers_(std::move(layers)) {
        for (const auto& layer : layers_) begins_.push_back(begins_.back() + layer->parameters());
        parameters.resize(begins_.back());
        gradients = momenta = parameters;
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            layers_[i]->values = &parameters[begins_[i] % parameters.size()];
            layers_[i]->gradients = &gradients[begins_[i] % gradients.size()];
            const float bound = 1 / std::sqrt(static_cast<float>(layers_[i]->fan_in()));
            for (std::size_t p = begins_[i]; p < begins_[i + 1]; ++p)
                parameters[p] = bound * (static_cast<float>(random()) * 0x1p-31F - 1);
        }
    }

    Row forward(Row values, std::size_t batch, bool training) {
        for (const auto& layer : layers_) values = layer->forward(values, batch, training);
        return values;
    }

    /// Runs forward and backward and fills `gradients`; returns the mean negative log-likelihood. Calls `complete` for
    /// each layer, from the last to the first, with the gradients that are final.
    float learn(const Row& samples, std::span<const int> labels,
                const std::function<void(std::span<float>)>& complete = {}) {
        const std::size_t batch = labels.size();
        Row scores = forward(samples, batch, true);
        const std::size_t classes = scores.size() / batch;
        float loss = 0;
        for (std::size_t b = 0; b < batch; ++b) {  // replaces the scores by their gradients
            float* row = &scores[b * classes];
            const float most = *std::max_element(row, row + classes);
            float sum = 0;
            for (std::size_t c = 0; c < classes; ++c) sum += std::exp(row[c] - most);
            loss += std::log(sum) + most - row[labels[b]];
            for (std::size_t c = 0; c < classes; ++c)
                row[c] = std::exp(row[c] - most) / sum / static_cast<float>(batch);
            row[labels[b]] -= 1 / static_cast<float>(batch);
        }
        std::fill(gradients.begin(), gradients.end(), 0.0F);
        for (std::size_t i = layers_.size(); i-- > 0;) {
            scores = layers_[i]->backward(scores, batch);
            if (complete && layers_[i]->parameters() > 0)
                complete(std::span(gradients).subspan(begins_[i], layers_[i]->parameters()));
        }
        return loss / static_cast<float>(batch);
    }

    void step(float rate, float momentum) {
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            momenta[i] = momentum * momenta[i] + gradients[i];
            parameters[i] -= rate * momenta[i];
        }
    }

    Row parameters, gradients, momenta;

private:
    std::vector<std::unique_ptr<Layer>> layers_;
    std::vector<std::size_t> begins_{0};
};
