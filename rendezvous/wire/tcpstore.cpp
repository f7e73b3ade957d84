#include "rendezvous/wire/tcpstore.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace dlaunch::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "the protocol's integers are copied as they lie in memory");

constexpr std::size_t kKeepCapacity = 64 << 10;  // larger buffers are freed after use

/// By 1.13's number. 7 is WATCH_KEY, which torch itself never sends.
constexpr std::array<std::optional<StoreOperation>, 9> kOldOperations{
    StoreOperation::set,       StoreOperation::compare_set, StoreOperation::get,      StoreOperation::add,
    StoreOperation::check,     StoreOperation::wait,        StoreOperation::num_keys, std::nullopt,
    StoreOperation::delete_key};

std::uint8_t number_of(StoreOperation operation, Numbering numbering) {
    if (numbering == Numbering::newest) return static_cast<std::uint8_t>(operation);
    const auto found = std::find(kOldOperations.begin(), kOldOperations.end(), operation);
    assert(found != kOldOperations.end());
    return static_cast<std::uint8_t>(found - kOldOperations.begin());
}

}  // namespace

Decoder::Layout Decoder::layout_of(StoreOperation operation) {
    using enum Field;
    switch (operation) {
        case StoreOperation::set:
        case StoreOperation::append:
        case StoreOperation::queue_push: return {key, value};
        case StoreOperation::compare_set: return {key, value, value};
        case StoreOperation::get:
        case StoreOperation::delete_key:
        case StoreOperation::queue_pop:
        case StoreOperation::queue_len: return {key};
        case StoreOperation::add:
        case StoreOperation::barrier: return {key, integer};
        case StoreOperation::check:
        case StoreOperation::wait:
        case StoreOperation::multi_get: return {keys};
        case StoreOperation::multi_set: return {pairs};
        case StoreOperation::ping: return {nonce};
        case StoreOperation::extension: return {payload};
        case StoreOperation::validate:
        case StoreOperation::num_keys:
        case StoreOperation::cancel_wait:
        case StoreOperation::list_keys: break;
    }
    return {};
}

void Decoder::feed(std::string_view bytes) {
    if (held_.empty()) {
        view_ = bytes;
    } else {
        held_.append(bytes);
        view_ = held_;
    }
}

void Decoder::keep() {
    if (held_.empty())
        held_.assign(view_.substr(start_));
    else
        held_.erase(0, start_);
    at_ -= start_;
    start_ = 0;
    if (held_.empty() && held_.capacity() > kKeepCapacity) held_.shrink_to_fit();
    if (!operation_ && pieces_.capacity() * sizeof(Piece) > kKeepCapacity) {
        pieces_ = {};
        words_ = {};
    }
    view_ = held_;
}

Decoder::Outcome Decoder::next(Request& request) {
    if (!numbering_) {
        if (const Outcome outcome = greet(); outcome != Outcome::request) return outcome;
    }
    if (!operation_) {
        if (const Outcome outcome = begin(); outcome != Outcome::request) return outcome;
    }
    const Layout layout = layout_of(*operation_);
    for (; field_ < layout.size() && layout[field_] != Field::none; ++field_) {
        if (const Outcome outcome = step(layout[field_]); outcome != Outcome::request) return outcome;
    }
    fill(request);
    operation_.reset();
    start_ = at_;
    return Outcome::request;
}

/// Detects the client's numbering.
Decoder::Outcome Decoder::greet() {
    if (view_.empty()) return Outcome::more;
    const auto first = static_cast<std::uint8_t>(view_[0]);
    if (first >= kOldOperations.size()) return Outcome::refused;
    const std::string_view head = view_.substr(0, kGreeting.size());
    if (!kGreeting.starts_with(head)) {
        numbering_ = Numbering::torch_1_13;
    } else if (head.size() < kGreeting.size()) {
        return Outcome::more;
    } else {
        numbering_ = Numbering::newest;
        start_ = at_ = kGreeting.size();
    }
    return Outcome::request;
}

/// Reads a message's number.
Decoder::Outcome Decoder::begin() {
    if (rest() == 0) return Outcome::more;
    number_ = static_cast<std::uint8_t>(view_[at_]);
    if (*numbering_ == Numbering::torch_1_13) {
        if (number_ >= kOldOperations.size() || !kOldOperations[number_]) return Outcome::refused;
        if (takes_ == Takes::extensions) return Outcome::refused;
        operation_ = kOldOperations[number_];
    } else if (number_ >= static_cast<std::uint8_t>(StoreOperation::extension)) {
        if (takes_ == Takes::requests) return Outcome::refused;
        operation_ = StoreOperation::extension;
    } else if (number_ > static_cast<std::uint8_t>(StoreOperation::barrier) || number_ == 0) {
        return Outcome::refused;  // a second VALIDATE among them
    } else if (takes_ == Takes::extensions || takes_ == Takes::frames) {
        return Outcome::refused;
    } else {
        operation_ = static_cast<StoreOperation>(number_);
    }
    ++at_;
    field_ = 0;
    pieces_.clear();
    return Outcome::request;
}

Decoder::Outcome Decoder::step(Field field) {
    switch (field) {
        case Field::key: return take(8, kMaxKeyBytes);
        case Field::value: return take(8, kMaxValueBytes);
        case Field::payload: return take(4, payload_limit_);
        case Field::integer: return take_fixed(8);
        case Field::nonce: return take_fixed(4);
        case Field::keys: return step_list(false);
        case Field::pairs: return step_list(true);
        case Field::none: break;
    }
    return Outcome::request;
}

Decoder::Outcome Decoder::step_list(bool pairs) {
    if (!left_) {
        if (rest() < 8) return Outcome::more;
        const std::uint64_t count = integer_at(at_, 8);
        if (count > kMaxKeys) return Outcome::refused;
        at_ += 8;
        left_ = pairs ? 2 * count : count;
    }
    for (; *left_ > 0; --*left_) {
        const bool is_value = pairs && *left_ % 2 == 1;
        const Outcome outcome = take(8, is_value ? kMaxValueBytes : kMaxKeyBytes);
        if (outcome != Outcome::request) return outcome;
    }
    left_.reset();
    return Outcome::request;
}

/// A length and that many bytes.
Decoder::Outcome Decoder::take(std::size_t prefix_bytes, std::size_t limit) {
    if (rest() < prefix_bytes) return Outcome::more;
    const std::uint64_t size = integer_at(at_, prefix_bytes);
    const std::size_t before = at_ + prefix_bytes - start_;
    if (size > limit || before + size > message_limit_) return Outcome::refused;
    if (rest() - prefix_bytes < size) return Outcome::more;
    pieces_.push_back({static_cast<std::uint32_t>(before), static_cast<std::uint32_t>(size)});
    at_ += prefix_bytes + size;
    return Outcome::request;
}

Decoder::Outcome Decoder::take_fixed(std::size_t size) {
    if (rest() < size) return Outcome::more;
    pieces_.push_back({static_cast<std::uint32_t>(at_ - start_), static_cast<std::uint32_t>(size)});
    at_ += size;
    return Outcome::request;
}

void Decoder::fill(Request& request) {
    request = Request{};
    request.operation = *operation_;
    const Layout layout = layout_of(*operation_);
    for (std::size_t i = 0; i < layout.size() && layout[i] != Field::none; ++i) {
        switch (layout[i]) {
            case Field::key: request.key = text(pieces_[i]); break;
            case Field::value: (i < 2 ? request.value : request.desired) = text(pieces_[i]); break;
            case Field::integer:
            case Field::nonce:
                request.integer = static_cast<std::int64_t>(integer_at(start_ + pieces_[i].offset, pieces_[i].size));
                break;
            case Field::payload:
                request.number = number_;
                request.value = text(pieces_[i]);
                break;
            case Field::keys:
            case Field::pairs:
                words_.clear();
                words_.reserve(pieces_.size());
                for (const Piece piece : pieces_) words_.push_back(text(piece));
                request.words = words_;
                break;
            case Field::none: break;
        }
    }
}

std::uint64_t Decoder::integer_at(std::size_t offset, std::size_t size) const {
    std::uint64_t number = 0;
    std::memcpy(&number, view_.data() + offset, size);
    return number;
}

void encode(const Request& request, std::string& out, Numbering numbering) {
    using Field = Decoder::Field;
    const bool ours = request.operation == StoreOperation::extension;
    out += static_cast<char>(ours ? request.number : number_of(request.operation, numbering));
    const auto layout = Decoder::layout_of(request.operation);
    for (std::size_t i = 0; i < layout.size(); ++i) {
        switch (layout[i]) {
            case Field::key: put_vector(out, request.key); break;
            case Field::value: put_vector(out, i < 2 ? request.value : request.desired); break;
            case Field::integer: put_u64(out, static_cast<std::uint64_t>(request.integer)); break;
            case Field::nonce: put_u32(out, static_cast<std::uint32_t>(request.integer)); break;
            case Field::payload:
                put_u32(out, static_cast<std::uint32_t>(request.value.size()));
                out += request.value;
                break;
            case Field::keys:
            case Field::pairs:
                put_u64(out, layout[i] == Field::pairs ? request.words.size() / 2 : request.words.size());
                for (const auto word : request.words) put_vector(out, word);
                break;
            case Field::none: break;
        }
    }
}

void put_u32(std::string& out, std::uint32_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    out.append(bytes, sizeof number);
}

void put_u64(std::string& out, std::uint64_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    out.append(bytes, sizeof number);
}

void put_vector(std::string& out, std::string_view bytes) {
    put_u64(out, bytes.size());
    out += bytes;
}

std::uint64_t get_u64(std::string_view bytes) {
    assert(bytes.size() >= 8);
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

}  // namespace dlaunch::wire
