#pragma once
/// Writes and reads the fields of a message. A class is written and read by the fields() of its type, one function for
/// both directions (rounds_fields.hpp).

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::wire {

/// A failure record: up to kMaxRecord bytes.
struct Record {
    std::string& text;
};

/// A list of at most kMost elements.
template <class T, std::size_t kMost>
struct List {
    std::vector<T>& all;
};

class Writer {
public:
    explicit Writer(std::string& out) : out_(out) {}

    template <class... Fields>
    void operator()(const Fields&... fields) {
        (write(fields), ...);
    }

private:
    template <std::integral Number>
    void write(Number number) {
        using Bits = std::make_unsigned_t<std::conditional_t<std::same_as<Number, bool>, char, Number>>;
        auto bits = static_cast<Bits>(number);
        for (std::size_t byte = 0; byte < sizeof(Number); ++byte) {
            out_.push_back(static_cast<char>(bits & 0xFF));
            bits = static_cast<Bits>(static_cast<std::uint64_t>(bits) >> 8);
        }
    }
    template <class Enum>
    requires std::is_enum_v<Enum>
    void write(Enum value) { write(static_cast<std::uint8_t>(value)); }
    void write_bytes(std::string_view text) {
        write(static_cast<std::uint32_t>(text.size()));
        out_.append(text);
    }
    void write(const std::string& text) { write_bytes(std::string_view(text).substr(0, kMaxText)); }
    void write(const Record& record) {
        write_bytes(record.text.size() > kMaxRecord ? std::string_view() : record.text);
    }
    void write(std::chrono::milliseconds time) {
        write(static_cast<std::uint32_t>(std::clamp<std::int64_t>(time.count(), 0, UINT32_MAX)));
    }
    template <class T, std::size_t kMost>
    void write(const List<T, kMost>& list) {
        const std::size_t count = std::min(list.all.size(), kMost);
        write(static_cast<std::uint32_t>(count));
        for (std::size_t at = 0; at < count; ++at) write(list.all[at]);
    }
    void write(const std::vector<std::string>& records) {
        const std::size_t count = std::min(records.size(), kMaxRecords);
        write(static_cast<std::uint32_t>(count));
        for (std::size_t at = 0; at < count; ++at)
            write_bytes(records[at].size() > kMaxRecord ? std::string_view() : records[at]);
    }
    template <class T>
    void write(const std::optional<T>& value) {
        write(value.has_value());
        if (value) write(*value);
    }
    template <class T>
    requires std::is_class_v<T>
    void write(const T& part) {
        fields(*this, const_cast<T&>(part));  // fields() serves both directions; a Writer changes nothing
    }

    std::string& out_;
};

class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    template <class... Fields>
    void operator()(Fields&&... fields) {
        (read(fields), ...);
    }
    [[nodiscard]] bool good() const { return good_; }
    [[nodiscard]] bool at_end() const { return bytes_.empty(); }

private:
    template <std::integral Number>
    void read(Number& number) {
        if (bytes_.size() < sizeof(Number)) return fail();
        std::uint64_t bits = 0;
        for (std::size_t byte = 0; byte < sizeof(Number); ++byte)
            bits |= std::uint64_t{static_cast<unsigned char>(bytes_[byte])} << (8 * byte);
        bytes_.remove_prefix(sizeof(Number));
        if constexpr (std::same_as<Number, bool>) {
            if (bits > 1) return fail();
            number = bits == 1;
        } else {
            number = static_cast<Number>(bits);
        }
    }
    template <class Enum>
    requires std::is_enum_v<Enum>
    void read(Enum& value) {
        std::uint8_t number = 0;
        read(number);
        value = static_cast<Enum>(number);
    }
    void read_bytes(std::string& text, std::size_t limit) {
        std::uint32_t size = 0;
        read(size);
        if (!good_ || size > limit || size > bytes_.size()) return fail();
        text.assign(bytes_.substr(0, size));
        bytes_.remove_prefix(size);
    }
    void read(std::string& text) { read_bytes(text, kMaxText); }
    void read(Record& record) { read_bytes(record.text, kMaxRecord); }
    void read(std::chrono::milliseconds& time) {
        std::uint32_t count = 0;
        read(count);
        time = std::chrono::milliseconds(count);
    }
    template <class T, std::size_t kMost>
    void read(List<T, kMost>& list) {
        std::uint32_t count = 0;
        read(count);
        if (count > kMost) return fail();
        list.all.clear();
        for (; good_ && count > 0; --count) read(list.all.emplace_back());
    }
    void read(std::vector<std::string>& records) {
        std::uint32_t count = 0;
        read(count);
        if (count > kMaxRecords) return fail();
        for (; good_ && count > 0; --count) read_bytes(records.emplace_back(), kMaxRecord);
    }
    template <class T>
    void read(std::optional<T>& value) {
        bool there = false;
        read(there);
        if (good_ && there) read(value.emplace());
    }
    template <class T>
    requires std::is_class_v<T>
    void read(T& part) { fields(*this, part); }

    void fail() {
        good_ = false;
        bytes_ = {};
    }

    std::string_view bytes_;
    bool good_ = true;
};

}  // namespace dlaunch::wire
