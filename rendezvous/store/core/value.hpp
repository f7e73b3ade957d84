#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace dlaunch::store {

/// The bytes of a key. Replies share large values, so that any number of reads costs no copies; small values are
/// cheaper to copy.
class Value {
public:
    static constexpr std::size_t kSharedBytes = 4 << 10;
    using Shared = std::shared_ptr<const std::string>;

    Value() = default;
    explicit Value(std::string_view bytes) { assign(bytes); }

    void assign(std::string_view bytes) {
        if (bytes.size() < kSharedBytes) {
            large_.reset();
            if (small_.capacity() > 2 * bytes.size() + kSlackBytes) small_ = {};
            small_.assign(bytes);
        } else {
            small_ = {};
            large_ = std::make_shared<std::string>(bytes);
        }
    }

    void append(std::string_view bytes) {
        if (!large_ && small_.size() + bytes.size() < kSharedBytes) {
            small_ += bytes;
        } else if (large_ && large_.use_count() == 1) {
            *large_ += bytes;
        } else {
            auto joined = std::make_shared<std::string>();
            joined->reserve(this->bytes().size() + bytes.size());
            joined->append(this->bytes()).append(bytes);
            small_ = {};
            large_ = std::move(joined);
        }
    }

    [[nodiscard]] std::string_view bytes() const { return large_ ? *large_ : small_; }
    /// Whether a reply holds these bytes by reference.
    [[nodiscard]] bool is_shared() const { return large_.use_count() > 1; }

    /// Null if the value is small. The string never changes.
    [[nodiscard]] Shared shared() const { return large_; }

private:
    static constexpr std::size_t kSlackBytes = 64;  // a short value must not keep a long one's memory

    std::string small_;
    std::shared_ptr<std::string> large_;  // changed only while it is not shared
};

}  // namespace dlaunch::store
