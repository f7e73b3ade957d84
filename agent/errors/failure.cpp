#include "agent/errors/failure.hpp"

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {

int Failure::exit_status() const {
    switch (how) {
        case HowEnded::signalled: return dlaunch::exit_status::kSignalBase + signal;
        case HowEnded::timed_out:
        case HowEnded::hung: return dlaunch::exit_status::kHang;
        case HowEnded::exited:
        case HowEnded::not_executed: break;
    }
    return code;
}

}  // namespace dlaunch::agent
