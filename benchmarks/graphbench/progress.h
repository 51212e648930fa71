// A progress bar on stderr, only when that is a terminal, redrawn at most ten times a second.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace leat::bench {

class Progress {
  public:
    Progress(std::string title, bool enabled);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // share in [0, 1].
    void update(double share, std::string_view note = {});
    void clear();

  private:
    std::string title_;
    bool enabled_;
    bool drawn_ = false;
    int64_t last_ns_ = 0;
};

// True when stderr is a terminal.
bool stderr_is_terminal();

}  // namespace leat::bench
