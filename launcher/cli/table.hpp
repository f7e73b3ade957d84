#pragma once
/// Every option of dlaunch, once. Parsing, --help, the man page and the completions all come from this table.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::launcher {

/// What an option sets. Two rows with one Id are two names for the same thing; the last one given counts.
enum class Id {
    nnodes,
    nproc_per_node,
    role,
    module,
    no_python,
    run_path,
    env,
    chdir,
    stdin_of,
    wrap,
    start_method,
    pass_local_rank,
    virtual_local_rank,
    bind,
    rdzv_backend,
    rdzv_endpoint,
    rdzv_id,
    rdzv_conf,
    standalone,
    node_rank,
    master_addr,
    master_port,
    local_addr,
    scale_up,
    node_timeout,
    max_restarts,
    restart_backoff,
    crash_loop,
    timeout,
    shutdown_timeout,
    stop_signal,
    signals_to_handle,
    monitor_interval,
    log_dir,
    redirects,
    tee,
    local_ranks_filter,
    duplicate_stdout_filters,
    duplicate_stderr_filters,
    log_line_prefix_template,
    timestamps,
    fold,
    rotate,
    logs_specs,
    report,
    event_log,
    event_log_handler,
    quiet,
    verbose,
    config,
    dry_run,
    help,
    version,
    print_completion,
};

enum class Group { job, program, rendezvous, endings, logs, watching, general };

struct Option {
    Id id;
    std::string_view name;  ///< long name with dashes, without the leading two
    char letter = '\0';
    std::string_view value = {};     ///< "N|cpu|gpu|auto": words in lower case are choices; empty: a switch
    std::string_view fallback = {};  ///< the value that no mention means; empty: nothing, or `help` says what
    Group group;
    std::string_view help;
    bool torchrun = false;                 ///< abbreviations are looked for among these first
    bool pet = false;                      ///< PET_<NAME> stands for it
    std::string_view other_variable = {};  ///< read when neither of ours nor PET_ is set
    bool repeatable = false;               ///< all mentions count; else the last one
    bool only_on_command_line = false;     ///< no variable, no configuration key

    [[nodiscard]] bool is_switch() const { return value.empty(); }
    /// The words of `value` that stand for themselves.
    [[nodiscard]] std::vector<std::string_view> choices() const;
    /// "DLAUNCH_" or "PET_" before the name in upper case with underscores.
    [[nodiscard]] std::string variable(std::string_view prefix) const;
    /// All variables that set it, the strongest first.
    [[nodiscard]] std::vector<std::string> variables() const;
};

/// What may stand in a program's place, first of all words.
inline constexpr std::string_view kCommands = "backends check store version";

[[nodiscard]] std::span<const Option> all_options();
[[nodiscard]] std::string_view title(Group group);

/// By long name, dashes or underscores; nullptr when there is none.
[[nodiscard]] const Option* find_option(std::string_view name);
[[nodiscard]] const Option* find_option(char letter);
/// By variable: DLAUNCH_NNODES, PET_NNODES and the like.
[[nodiscard]] const Option* find_variable(std::string_view variable);

/// Names with dashes, whatever was typed.
[[nodiscard]] std::string with_dashes(std::string_view name);

}  // namespace dlaunch::launcher
