// NewFile: a file that appears under its name only when it is complete: what replaces a file may be
// views of that very file. write_all: what goes into it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"

namespace leat {

// Writes all bytes, in as many calls as it takes. An error carries the system's reason.
inline Status write_all(int descriptor, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return invalid_argument("cannot write the file: {}", std::strerror(errno));
        }
        bytes = bytes.subspan(size_t(written));
    }
    return {};
}

class NewFile {
  public:
    explicit NewFile(std::filesystem::path target)
        : target_(std::move(target)),
          temporary_(target_.string() + fmt::format(".{}.tmp", ::getpid())) {
        descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    ~NewFile() {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
            ::unlink(temporary_.c_str());
        }
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    int descriptor() const { return descriptor_; }
    Status check_open() const {
        return descriptor_ >= 0
                   ? Status()
                   : invalid_argument("cannot create the file: {}", std::strerror(errno));
    }
    Status commit() {
        const bool closed = ::close(descriptor_) == 0;
        descriptor_ = -1;
        if (!closed || ::rename(temporary_.c_str(), target_.c_str()) != 0) {
            const int reason = errno;
            ::unlink(temporary_.c_str());
            return invalid_argument("cannot write the file: {}", std::strerror(reason));
        }
        return {};
    }

  private:
    std::filesystem::path target_;
    std::string temporary_;
    int descriptor_ = -1;
};

}  // namespace leat
