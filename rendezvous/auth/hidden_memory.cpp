#include "rendezvous/auth/hidden_memory.hpp"

#include <sys/prctl.h>

namespace dlaunch::auth {

void hide_memory() { prctl(PR_SET_DUMPABLE, 0); }

}  // namespace dlaunch::auth
