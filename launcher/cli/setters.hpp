#pragma once
/// The setters in the rows of the option table. values.hpp and its neighbours parse the values.

#include "launcher/cli/normalize.hpp"
#include "launcher/cli/settings.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Stores a parsed value, or returns the parser's error.
template <class T, class U>
base::Result<void> store(T& place, base::Result<U>&& parsed) {
    if (!parsed) return parsed.error();
    place = std::move(*parsed);
    return {};
}

/// Checks the value of an option without effect.
template <class T>
base::Result<void> only_check(base::Result<T>&& parsed) {
    return parsed ? base::Result<void>() : base::Result<void>(parsed.error());
}

// Setters that do more than parse and store one value.

base::Result<void> set_nodes(const OptionUse& use, Settings& to);
base::Result<void> add_variable(const OptionUse& use, Settings& to);
base::Result<void> add_wrap(const OptionUse& use, Settings& to);
base::Result<void> set_start_method(const OptionUse& use, Settings& to);
base::Result<void> set_mpi(const OptionUse& use, Settings& to);
base::Result<void> set_local_rank_option(const OptionUse& use, Settings& to);
base::Result<void> set_endpoint(const OptionUse& use, Settings& to);
base::Result<void> set_backend(const OptionUse& use, Settings& to);
base::Result<void> set_rdzv_conf(const OptionUse& use, Settings& to);
base::Result<void> set_scale_up(const OptionUse& use, Settings& to);
base::Result<void> set_store(const OptionUse& use, Settings& to);
base::Result<void> set_backoff(const OptionUse& use, Settings& to);
base::Result<void> set_cooldown(const OptionUse& use, Settings& to);
base::Result<void> set_signals(const OptionUse& use, Settings& to);
base::Result<void> set_shown_ranks(const OptionUse& use, Settings& to);
base::Result<void> set_ui(const OptionUse& use, Settings& to);
base::Result<void> set_prefix(const OptionUse& use, Settings& to);
base::Result<void> set_rotation(const OptionUse& use, Settings& to);
base::Result<void> check_seconds(const OptionUse& use, Settings& to);
base::Result<void> check_choice(const OptionUse& use, Settings& to);
base::Result<void> refuse_logs_specs(const OptionUse& use, Settings& to);

}  // namespace dlaunch::launcher
