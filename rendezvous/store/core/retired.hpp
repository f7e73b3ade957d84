#pragma once
/// Large values that the store has replaced or deleted while replies on their way still carry them. Such a reply holds
/// memory that no key accounts for, as long as its client does not read.

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

    /// At least as many bytes are held; cheap.
    [[nodiscard]] std::size_t at_most() const { return bytes_; }

    /// As many bytes are held.
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
