#pragma once
/// Errors as values: a text and the exit status that the error leads to.

#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::base {

/// One line of text, without the leading "dlaunch: ", and dlaunch's exit status if no caller handles the error.
struct Error {
    std::string text;
    int status = exit_status::kUsage;

    /// The same error with context prepended: "config job.conf: line 3: ...".
    [[nodiscard]] Error within(const std::string& context) const { return {context + ": " + text, status}; }
};

template <class T>
using Result = boost::system::result<T, Error>;

/// Called by Result::value() on an error, which is a broken invariant.
[[noreturn]] inline void throw_exception_from_error(const Error& error, const boost::source_location&) {
    throw std::logic_error(error.text);
}

/// A Result<std::string> with a text. (A bare string would convert to the value and to the Error.)
[[nodiscard]] inline Result<std::string> text_result(std::string text) {
    return Result<std::string>(boost::system::in_place_value, std::move(text));
}

}  // namespace dlaunch::base
