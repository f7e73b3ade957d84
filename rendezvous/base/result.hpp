#pragma once
/// Errors are values: what happened, to whom, and the exit status that it leads to.

#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::base {

/// One line for a human, without the leading "dlaunch: ", and the status dlaunch ends with if nobody handles it.
struct Error {
    std::string text;
    int status = exit_status::kUsage;

    /// The same error seen from further outside: "config job.conf: line 3: ...".
    [[nodiscard]] Error within(const std::string& context) const { return {context + ": " + text, status}; }
};

template <class T>
using Result = boost::system::result<T, Error>;

/// Called by Result::value() when there is none: asking for it was a broken invariant.
[[noreturn]] inline void throw_exception_from_error(const Error& error, const boost::source_location&) {
    throw std::logic_error(error.text);
}

/// A result that holds a text. (A string alone would do for both the value and the Error of a Result.)
[[nodiscard]] inline Result<std::string> text_result(std::string text) {
    return Result<std::string>(boost::system::in_place_value, std::move(text));
}

}  // namespace dlaunch::base
