#include "agent/process/terminal.hpp"

#include <unistd.h>

#include "agent/process/proc.hpp"

namespace dlaunch::agent {

Terminal::Terminal(pid_t guard) : guard_(guard), job_group_(getpgid(guard)) {
    termios modes{};
    if (usable() && tcgetattr(STDIN_FILENO, &modes) == 0) modes_ = modes;
}

bool Terminal::usable() const { return isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == job_group_; }

bool Terminal::is_ours() const { return isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) >= 0; }

bool Terminal::taken() const { return is_ours() && tcgetpgrp(STDIN_FILENO) != getpgrp(); }

bool Terminal::orphaned() const {
    pid_t above = guard_;
    do {
        above = stat_of(above).value_or(ProcessStat()).parent;
    } while (above > 0 && getpgid(above) == job_group_);
    return above <= 0 || getsid(above) != getsid(0);
}

void Terminal::give(pid_t group) {
    // A worker takes the terminal itself before it executes; nothing is to be done then.
    if (tcgetpgrp(STDIN_FILENO) != group && (!usable() || tcsetpgrp(STDIN_FILENO, group) != 0)) return;
    given_ = group;
}

bool Terminal::is_given() const { return given_ != 0 && tcgetpgrp(STDIN_FILENO) == given_; }

void Terminal::take_back() {
    if (is_given()) tcsetpgrp(STDIN_FILENO, job_group_);
    given_ = 0;
}

void Terminal::restore_modes() {
    if (modes_ && usable()) tcsetattr(STDIN_FILENO, TCSADRAIN, &*modes_);
}

}  // namespace dlaunch::agent
