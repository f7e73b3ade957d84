#pragma once
/// A Boost.Process v2 launcher for a supervisor. Boost 1.81's own launchers leak descriptors into children, run exit
/// handlers in them and may signal a reused pid (its issues 314, 360, 514). Initializers follow Boost's protocol: their
/// on_setup runs in the parent before the clone, and fills the orders that run_child executes.

#include <boost/asio/detail/throw_error.hpp>  // missing in Boost 1.81's launcher
#include <boost/process/v2/posix/default_launcher.hpp>
#include <memory>

#include "agent/process/clone.hpp"

namespace dlaunch::agent {

namespace process = boost::process::v2;

/// One per child. Its orders must stay valid until await_child() returns.
struct WorkerLauncher : process::posix::default_launcher {
    ChildOrders orders{};
    int cgroup = -1;
    std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kChildStackBytes);

    /// `paths`, `arguments` and `env` end with a null pointer, and must stay valid as long as the orders.
    template <class... Initializers>
    Cloned operator()(boost::system::error_code& error, const char* const* paths, const char* const* arguments,
                      Initializers&&... initializers) {
        error = process::posix::detail::on_setup(*this, process::filesystem::path(), arguments, initializers...);
        if (error) return {};
        orders.paths = paths;
        orders.arguments = const_cast<char* const*>(arguments);
        orders.environment = const_cast<char* const*>(env);
        return run();
    }

private:
    /// Blocks all signals around the clone, so that the child runs no handler before it executes.
    Cloned run();
};

}  // namespace dlaunch::agent
