#include "agent/errors/failure.hpp"

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {

int Failure::exit_status() const {
    switch (how) {
        case ExitKind::signalled: return dlaunch::exit_status::kSignalBase + signal;
        case ExitKind::stopped: return signal > 0 ? dlaunch::exit_status::kSignalBase + signal : code;
        case ExitKind::timed_out:
        case ExitKind::hung: return dlaunch::exit_status::kHang;
        case ExitKind::exited:
        case ExitKind::judged:
        case ExitKind::not_executed: break;
    }
    return code;
}

}  // namespace dlaunch::agent
