// NewFile: a file that appears under its name only when it is complete: what replaces a file may be
// views of that very file. write_all: what goes into it.
//
// It is written beside its target under a name that nobody else has, and commit() renames it. So
// threads, and processes of any container, may write one target at a time: readers see one of the
// whole files, and the last one stays. Where commit() was not called, or failed, nothing is
// left; a process that is killed leaves its temporary.
//
// A symbolic link stays, and the file that it leads to is replaced, in that one's folder. The new
// file gets the permissions of the one that it replaces, and its owner as far as the system allows.
// Devices of characters, pipes, and what this process has open already (/dev/stdout, /dev/fd/3) are
// written into as they are: there is nothing to rename, and what was written before an error stays.
// Other things (folders, disks, sockets, pipes that nobody reads) are errors.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/files/descriptor.h"
#include "leat/status.h"

namespace leat {

// Ends the names of files that are not complete. Names begin with a dot.
constexpr std::string_view kTemporaryExtension = ".leattmp";

// Writes all bytes, in as many calls as it takes. An error carries the system's reason.
Status write_all(int descriptor, std::span<const std::byte> bytes);

// While it lives, a pipe that nobody reads any more is an error of the thread that writes, not the
// end of the process.
class PipeGuard {
  public:
    PipeGuard();
    ~PipeGuard();
    PipeGuard(const PipeGuard&) = delete;
    PipeGuard& operator=(const PipeGuard&) = delete;

  private:
    sigset_t before_ = {};  // the thread's mask
    bool was_pending_ = false;
};

// Used by one thread. Errors do not name the target: callers do.
class NewFile {
  public:
    explicit NewFile(const std::filesystem::path& target);
    // `number`: the first that is tried in the temporary's name. Files that begin with the same one
    // are safe from each other.
    NewFile(const std::filesystem::path& target, uint64_t number);
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    // Why there is no file to write to.
    const Status& status() const { return status_; }
    int descriptor() const { return descriptor_.value(); }
    Status commit();

  private:
    Status open(const std::filesystem::path& target, uint64_t number);
    Status open_in_place(const std::filesystem::path& target, mode_t mode);
    Status create_temporary(uint64_t number);

    Descriptor folder_;  // that a relative path leads to also when the process has gone elsewhere
    std::string name_;   // in the folder
    std::string temporary_;  // the same; empty: there is none
    Descriptor descriptor_;
    std::optional<PipeGuard> guard_;  // where it is written in place
    Status status_;
};

// All of a file in one call.
Status write_whole_file(const std::filesystem::path& target, std::span<const std::byte> bytes);

}  // namespace leat
