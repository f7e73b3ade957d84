#pragma once
/// Large values that the store has replaced or deleted while pending replies still hold them. No key accounts for this
/// memory, and it stays until the clients read.

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "rendezvous/store/core/value.hpp"

namespace dlaunch::store {

class Retired {
public:
    void add(const Value::Shared& value) {
        held_.emplace_back(value, value->size());
        bytes_ += value->size();
    }

    /// An upper bound of the bytes held; cheap.
    [[nodiscard]] std::size_t at_most() const { return bytes_; }

    /// The exact number of bytes held; visits all values.
    [[nodiscard]] std::size_t count() {
        std::erase_if(held_, [](const auto& each) { return each.first.expired(); });
        bytes_ = 0;
        for (const auto& [value, size] : held_) bytes_ += size;
        return bytes_;
    }

private:
    std::vector<std::pair<std::weak_ptr<const std::string>, std::size_t>> held_;
    std::size_t bytes_ = 0;
};

}  // namespace dlaunch::store
