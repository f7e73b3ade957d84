#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace dlaunch {

enum class ErrorCode {
    timeout,           ///< ranks() did not come in time
    peer_lost,         ///< the processes of ranks() ended
    mismatch,          ///< ranks() called different things; the group can be used on
    aborted,           ///< the group ended before: an earlier error, abort(), or the Work's owner went away
    invalid_argument,  ///< refused before anything was sent; the group can be used on
    backend,           ///< the transport, the store or the system says no
};

/// "peer_lost" and so on.
[[nodiscard]] const char* name_of(ErrorCode code);

/// The one exception of this library. what() is one line: who, what happened, to whom, and what to do.
class Error : public std::runtime_error {
public:
    struct Where {
        std::string op;              ///< "all_reduce"; empty where no call was made
        std::uint64_t sequence = 0;  ///< number of the call in its group, from 1; 0: none
        std::string group;           ///< name of the group; empty: none
    };

    Error(ErrorCode code, const std::string& text) : Error(code, text, {}, {}) {}
    Error(ErrorCode code, const std::string& text, std::vector<int> ranks, Where where)
        : std::runtime_error(text), code_(code), ranks_(std::move(ranks)), where_(std::move(where)) {}

    [[nodiscard]] ErrorCode code() const { return code_; }
    /// Who is to blame or missing, by their ranks in the group.
    [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }
    [[nodiscard]] const std::string& op() const { return where_.op; }
    [[nodiscard]] std::uint64_t sequence() const { return where_.sequence; }
    [[nodiscard]] const std::string& group() const { return where_.group; }

private:
    ErrorCode code_;
    std::vector<int> ranks_;
    Where where_;
};

}  // namespace dlaunch
