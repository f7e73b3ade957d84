#pragma once
// Partition of the data: every rank shuffles with the same seed and keeps its share.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <span>
#include <vector>

class Partitioner {
public:
    explicit Partitioner(std::size_t count, const std::vector<double>& sizes = {0.7, 0.2, 0.1}, unsigned seed = 1234)
        : indexes_(count) {
        std::iota(indexes_.begin(), indexes_.end(), std::size_t{0});
        std::mt19937 random(seed);
        for (std::size_t i = count; i > 1; --i) std::swap(indexes_[i - 1], indexes_[random() % i]);
        std::size_t begin = 0;
        for (const double size : sizes) {
            const auto part = static_cast<std::size_t>(size * static_cast<double>(count) + 1e-6);
            parts_.push_back(std::span(indexes_).subspan(begin, part));
            begin += part;
        }
    }
    /// One part per rank, all of the same size; the remainder is left out.
    static Partitioner equal(std::size_t count, int ranks) {
        return Partitioner(count, std::vector<double>(static_cast<std::size_t>(ranks), 1.0 / ranks));
    }

    Partitioner(const Partitioner&) = delete;
    Partitioner& operator=(const Partitioner&) = delete;

    [[nodiscard]] std::span<const std::size_t> part(int number) const {
        return parts_[static_cast<std::size_t>(number)];
    }
    [[nodiscard]] std::size_t parts() const { return parts_.size(); }

private:
    std::vector<std::size_t> indexes_;
    std::vector<std::span<const std::size_t>> parts_;
};

/// A rank's share of a batch of 128; at least 1.
inline std::size_t batch_size(int ranks) { return std::max<std::size_t>(1, 128 / static_cast<std::size_t>(ranks)); }

/// The i-th batch of `size` indexes; the last batch may be shorter.
inline std::span<const std::size_t> batch_of(std::span<const std::size_t> indexes, std::size_t i, std::size_t size) {
    return indexes.subspan(i * size, std::min(size, indexes.size() - i * size));
}
