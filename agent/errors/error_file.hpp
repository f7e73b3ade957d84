#pragma once
/// torch's error files: $TORCHELASTIC_ERROR_FILE, written by @record or by worker_lib.
/// Forms: reference is torch.distributed.elastic.multiprocessing.errors.

#include <optional>
#include <string>
#include <string_view>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// The record in a file's text, or none when it is not one (empty, no JSON, no message, null message).
/// Never throws, whatever the bytes are.
[[nodiscard]] std::optional<ErrorRecord> parse_error_file(std::string_view text);

/// The record in the file a worker left; none without a file, or with an empty one. Of a file that is no record the
/// message says so, with its first bytes.
[[nodiscard]] std::optional<ErrorRecord> read_error_file(const std::string& path);

/// What the agent writes into its own TORCHELASTIC_ERROR_FILE for the first cause: the worker's file with
/// message.errorCode = `code` added where `message` is an object (negative for a signal, as torch), or a record made
/// from the failure's summary when the worker left none.
[[nodiscard]] std::string agent_error_file(const Failure& cause);

}  // namespace dlaunch::agent
