// Competitor: another process at the same nice value that keeps one CPU busy.
#pragma once

#include <sys/types.h>

namespace leat::micro {

class Competitor {
  public:
    // Binds it to the last CPU that this process may use.
    Competitor();
    ~Competitor();
    Competitor(const Competitor&) = delete;
    Competitor& operator=(const Competitor&) = delete;
    bool is_running() const { return process_ > 0; }

  private:
    pid_t process_ = 0;
};

}  // namespace leat::micro
