#include "rendezvous/store/core/output.hpp"

#include <algorithm>

#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::store {
namespace {

constexpr std::size_t kKeepCapacity = 64 << 10;  // a larger buffer is freed when it is empty
constexpr std::size_t kKeepAttachments = 64;

iovec part_of(std::string_view bytes) {
    return {const_cast<char*>(bytes.data()), bytes.size()};  // writev() only reads
}

}  // namespace

void Output::u32(std::uint32_t number) { wire::put_u32(bytes_, number); }

void Output::u64(std::uint64_t number) { wire::put_u64(bytes_, number); }

void Output::vector(std::string_view bytes) { wire::put_vector(bytes_, bytes); }

void Output::vector(const Value& value) {
    u64(value.bytes().size());
    raw(value);
}

void Output::raw(const Value& value) {
    Value::Shared shared = value.shared();
    if (!shared) return raw(value.bytes());
    attach(std::move(shared));
}

void Output::attach(Value::Shared bytes) {
    shared_bytes_ += bytes->size();
    attachments_.push_back({bytes_.size(), std::move(bytes)});
}

std::size_t Output::gather(std::span<iovec> parts) const {
    std::size_t count = 0, at = at_, skip = attachment_at_;
    const auto add = [&](std::string_view bytes) {
        if (!bytes.empty()) parts[count++] = part_of(bytes);
        return count == parts.size();
    };
    for (std::size_t each = first_; each < attachments_.size(); ++each) {
        const auto& [position, value] = attachments_[each];
        if (add(std::string_view(bytes_).substr(at, position - at))) return count;
        if (add(std::string_view(*value).substr(skip))) return count;
        at = position;
        skip = 0;
    }
    add(std::string_view(bytes_).substr(at));
    return count;
}

void Output::consume(std::size_t count) {
    for (; first_ < attachments_.size(); ++first_, attachment_at_ = 0) {
        auto& [position, value] = attachments_[first_];
        const std::size_t before = std::min(count, position - at_);
        at_ += before;
        count -= before;
        const std::size_t inside = at_ == position ? std::min(count, value->size() - attachment_at_) : 0;
        attachment_at_ += inside;
        shared_bytes_ -= inside;
        count -= inside;
        if (at_ < position || attachment_at_ < value->size()) return compact();
        value.reset();
    }
    at_ += count;
    compact();
}

/// Frees consumed bytes, also for a client that always leaves something unread: the buffer must not grow for ever.
void Output::compact() {
    if (empty()) {
        bytes_.clear();
        attachments_.clear();
        at_ = first_ = 0;
        if (bytes_.capacity() > kKeepCapacity) bytes_.shrink_to_fit();
        if (attachments_.capacity() > kKeepAttachments) attachments_.shrink_to_fit();
        return;
    }
    if (first_ > kKeepAttachments && first_ * 2 >= attachments_.size()) {
        attachments_.erase(attachments_.begin(), attachments_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
    }
    if (at_ < kKeepCapacity || at_ * 2 < bytes_.size()) return;
    bytes_.erase(0, at_);
    for (std::size_t each = first_; each < attachments_.size(); ++each) attachments_[each].position -= at_;
    at_ = 0;
}

std::string Output::text() const {
    std::string all;
    std::size_t at = at_, skip = attachment_at_;
    for (std::size_t each = first_; each < attachments_.size(); ++each) {
        const auto& [position, value] = attachments_[each];
        all.append(bytes_, at, position - at).append(*value, skip);
        at = position;
        skip = 0;
    }
    return all.append(bytes_, at);
}

}  // namespace dlaunch::store
