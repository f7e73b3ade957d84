#include "rendezvous/wire/reply_reader.hpp"

#include <algorithm>
#include <utility>

namespace dlaunch::wire {
namespace {

constexpr std::size_t kNumber = 8;

}  // namespace

ReplyReader::ReplyReader(const Request& request) {
    switch (request.operation) {
        case StoreOperation::add:
        case StoreOperation::num_keys:
        case StoreOperation::delete_key:
        case StoreOperation::queue_len: left_ = kNumber; break;
        case StoreOperation::ping: left_ = 4; break;
        case StoreOperation::check:
        case StoreOperation::wait:
        case StoreOperation::cancel_wait:
        case StoreOperation::barrier: left_ = 1; break;
        case StoreOperation::get:
        case StoreOperation::compare_set: strings_ = 1; break;
        case StoreOperation::multi_get: strings_ = request.words.size(); break;
        case StoreOperation::queue_pop:
            left_ = kNumber;
            field_ = Field::filled;
            break;
        case StoreOperation::list_keys:
            left_ = kNumber;
            field_ = Field::count;
            break;
        case StoreOperation::validate:
        case StoreOperation::set:
        case StoreOperation::append:
        case StoreOperation::multi_set:
        case StoreOperation::queue_push:
        case StoreOperation::extension: break;
    }
    if (left_ == 0 && strings_ > 0) next_string();
}

void ReplyReader::next_string() {
    --strings_;
    field_ = Field::length;
    left_ = kNumber;
    number_ = 0;
    shift_ = 0;
}

void ReplyReader::end_field() {
    switch (std::exchange(field_, Field::plain)) {
        case Field::length: left_ = number_; break;
        case Field::count: strings_ = number_; break;
        case Field::filled: strings_ = number_ > 0 ? 1 : 0; break;
        case Field::plain: break;
    }
    if (left_ == 0 && strings_ > 0) next_string();
}

std::size_t ReplyReader::take(std::string_view bytes) {
    const std::size_t size = bytes.size();
    has_begun_ = has_begun_ || size > 0;
    while (left_ > 0 && !bytes.empty()) {
        const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
        if (field_ != Field::plain) {
            for (const char byte : bytes.substr(0, part)) {
                number_ |= std::uint64_t{static_cast<std::uint8_t>(byte)} << shift_;
                shift_ += 8;
            }
        }
        bytes.remove_prefix(part);
        left_ -= part;
        while (left_ == 0 && field_ != Field::plain) end_field();
        if (left_ == 0 && strings_ > 0) next_string();
    }
    return size - bytes.size();
}

}  // namespace dlaunch::wire
