#include "progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "machine.h"

namespace leat::bench {

bool stderr_is_terminal() {
    return isatty(STDERR_FILENO) == 1;
}

Progress::Progress(std::string title, bool enabled)
    : title_(std::move(title)), enabled_(enabled && stderr_is_terminal()) {}

Progress::~Progress() {
    clear();
}

void Progress::update(double share, std::string_view note) {
    constexpr int64_t kRedrawNs = 100'000'000;
    constexpr int kWidth = 30;
    int64_t now = now_ns();
    if (!enabled_ || now - last_ns_ < kRedrawNs) {
        return;
    }
    last_ns_ = now;
    drawn_ = true;
    int filled = int(std::clamp(share, 0.0, 1.0) * kWidth);
    std::string line = fmt::format(
        "\r\x1b[K{} [{}{}] {:3.0f} % {}", title_, std::string(size_t(filled), '#'),
        std::string(size_t(kWidth - filled), '.'), std::clamp(share, 0.0, 1.0) * 100, note);
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
}

void Progress::clear() {
    if (drawn_) {
        std::fputs("\r\x1b[K", stderr);
        std::fflush(stderr);
        drawn_ = false;
    }
}

}  // namespace leat::bench
