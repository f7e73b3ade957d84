#pragma once
/// torch's error files: $TORCHELASTIC_ERROR_FILE, written by @record or by worker_lib.
/// Forms: reference is torch.distributed.elastic.multiprocessing.errors.

#include <optional>
#include <string>
#include <string_view>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// Parses a file's text; none if it is not a record (empty, invalid JSON, no message, null message). Never throws.
[[nodiscard]] std::optional<ErrorRecord> parse_error_file(std::string_view text);

/// Reads a worker's error file; none if it is missing or empty. For an invalid file the message quotes its first bytes.
[[nodiscard]] std::optional<ErrorRecord> read_error_file(const std::string& path);

/// The content of the agent's own TORCHELASTIC_ERROR_FILE for the first cause: the worker's file, with
/// message.errorCode added where `message` is an object (negative for a signal, as in torch). If the worker wrote none,
/// a record made from the failure's summary.
[[nodiscard]] std::string agent_error_file(const Failure& cause);

}  // namespace dlaunch::agent
