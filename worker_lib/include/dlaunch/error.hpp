#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlaunch/standard.hpp>

namespace dlaunch {

enum class ErrorCode {
    timeout,           ///< ranks() did not take part in time
    peer_lost,         ///< the processes of ranks() have ended
    mismatch,          ///< ranks() made different calls; the group remains usable
    aborted,           ///< the group has ended: an earlier error, abort(), or a Work destroyed by an exception
    invalid_argument,  ///< refused before anything was sent; the group remains usable
    backend,           ///< failure of the transport, the store or the system
};

/// The enumerator's name, such as "peer_lost".
[[nodiscard]] const char* name_of(ErrorCode code);

/// The exception type of this library. what() is one line: the call, the ranks (by RANK, as in logs; else by
/// their rank in the world), what happened and what to do.
class Error : public std::runtime_error {
public:
    struct Where {
        std::string op;              ///< "all_reduce"; empty: no call is concerned
        std::uint64_t sequence = 0;  ///< number of the collective in its group, from 1; 0: none
        std::string group;           ///< name of the group; empty: no group is concerned
    };

    Error(ErrorCode code, const std::string& text) : Error(code, text, {}, {}) {}
    Error(ErrorCode code, const std::string& text, std::vector<int> ranks, Where where)
        : std::runtime_error(text), code_(code), ranks_(std::move(ranks)), where_(std::move(where)) {}

    [[nodiscard]] ErrorCode code() const { return code_; }
    /// The failed, missing or mismatching ranks, as ranks in the group.
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
