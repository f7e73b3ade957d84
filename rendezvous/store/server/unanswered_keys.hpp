#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::store {

/// The keys of a MULTI_GET that still lack an answer. A value is read only when the client may receive it, so a reply
/// of any length costs only the memory of its keys.
class UnansweredKeys {
public:
    explicit UnansweredKeys(std::span<const std::string_view> keys) {
        std::size_t bytes = 0;
        for (const auto key : keys) bytes += sizeof(Length) + key.size();
        packed_.reserve(bytes);
        for (const auto key : keys) {
            const auto length = static_cast<Length>(key.size());
            packed_.append(reinterpret_cast<const char*>(&length), sizeof length);
            packed_.append(key);
        }
    }

    [[nodiscard]] bool empty() const { return at_ == packed_.size(); }
    [[nodiscard]] std::size_t bytes() const { return packed_.capacity(); }

    /// The next key; the view lives as long as this object.
    std::string_view take() {
        Length length = 0;
        std::memcpy(&length, packed_.data() + at_, sizeof length);
        const std::string_view key = std::string_view(packed_).substr(at_ + sizeof length, length);
        at_ += sizeof length + length;
        return key;
    }

private:
    using Length = std::uint16_t;
    static_assert(wire::kMaxKeyBytes <= UINT16_MAX);

    std::string packed_;
    std::size_t at_ = 0;
};

}  // namespace dlaunch::store
