#include "base/files/new_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <system_error>

#include "base/error.h"
#include "base/split_mix.h"

namespace leat {
namespace {

namespace fs = std::filesystem;

// As many as the system follows.
constexpr int kMostLinks = 40;
// Of temporaries. Each failure means that another one has just this 64-bit number.
constexpr int kMostNames = 1000;

// With errno's reason.
Status cannot(const char* what) {
    const bool is_missing = errno == ENOENT || errno == ENOTDIR;
    return make_error(is_missing ? StatusCode::kNotFound : StatusCode::kInvalidArgument,
                      "cannot {}: {}", what, std::strerror(errno));
}

// Another one for each thread and process, in all likelihood: what must not go wrong where two are
// the same is up to O_EXCL. Process numbers alone do not do: each container counts its own.
uint64_t next_number() {
    static std::atomic<uint64_t> count{0};
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return mixed(mixed(uint64_t(now)) + (uint64_t(::getpid()) << 32) + count.fetch_add(1));
}

// The system's files about processes: links there lead to open files, whatever their names are now.
bool is_in_proc(const fs::path& file) {
    const fs::path folder = file.parent_path();
    struct statfs system = {};
    return ::statfs(folder.empty() ? "." : folder.c_str(), &system) == 0 &&
           system.f_type == PROC_SUPER_MAGIC;
}

// Where symbolic links lead from here, there or not. Those of folders are the system's to follow.
Result<fs::path> end_of_links(fs::path path) {
    for (int links = 0; links < kMostLinks; ++links) {
        std::error_code is_no_link;
        const fs::path next = fs::read_symlink(path, is_no_link);
        if (is_no_link) {
            return path;
        }
        struct stat named = {};
        if (is_in_proc(path) && ::stat(path.c_str(), &named) == 0 &&
            ::lstat(next.c_str(), &named) != 0) {
            return invalid_argument("cannot replace the file: it has no name any more")
                .with_found(next.string())
                .with_needed("a file in a folder");
        }
        path = path.parent_path() / next;  // or `next`, if it is absolute
    }
    errno = ELOOP;
    return cannot("create the file");
}

// The descriptor of this process that the path names: /dev/stdout, /dev/fd/3, links to them; -1: it
// names none.
int own_descriptor(fs::path path) {
    std::error_code error;
    for (int links = 0; links < kMostLinks && !error; ++links) {
        const std::string name = path.filename().string();
        int number = -1;
        const auto [stop, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
        const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
        std::error_code other;
        if (fault == std::errc() && stop == name.data() + name.size() && number >= 0 &&
            fs::equivalent(folder, "/proc/self/fd", other)) {
            return number;
        }
        const fs::path next = fs::read_symlink(path, error);
        path = path.parent_path() / next;
    }
    return -1;
}

const char* name_of_kind(mode_t mode) {
    return S_ISDIR(mode) ? "a folder" : S_ISBLK(mode) ? "a block device" : "a socket";
}

// The new file becomes as open to others as the one that it replaces, and not more. Where the
// system refuses, it stays with its maker.
void take_over_owner(int descriptor, const struct stat& replaced) {
    struct stat made = {};
    if (::fstat(descriptor, &made) != 0) {
        return;
    }
    const bool has_group = made.st_gid == replaced.st_gid;
    bool keeps_group = has_group;
    if (!has_group || made.st_uid != replaced.st_uid) {
        keeps_group = ::fchown(descriptor, replaced.st_uid, replaced.st_gid) == 0 || has_group ||
                      ::fchown(descriptor, uid_t(-1), replaced.st_gid) == 0;
    }
    mode_t mode = replaced.st_mode & 0777U;
    if (!keeps_group) {  // another group may do what everybody may
        mode = (mode & ~mode_t{070}) | (mode & 07U) << 3U;
    }
    (void)::fchmod(descriptor, mode);
}

}  // namespace

Status write_all(int descriptor, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return cannot("write the file");
        }
        bytes = bytes.subspan(size_t(written));
    }
    return {};
}

PipeGuard::PipeGuard() {
    sigset_t pending;
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &pipe, &before_);
}

PipeGuard::~PipeGuard() {
    if (!was_pending_) {
        sigset_t pipe;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        const timespec at_once = {};
        while (sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) {
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

NewFile::NewFile(const fs::path& target) : NewFile(target, next_number()) {}

NewFile::NewFile(const fs::path& target, uint64_t number) {
    status_ = open(target, number);
}

NewFile::~NewFile() {
    if (!temporary_.empty()) {
        ::unlinkat(folder_.value(), temporary_.c_str(), 0);
    }
}

Status NewFile::open(const fs::path& target, uint64_t number) {
    // What is open already goes on where it is: it may be a log that others write to, too.
    if (const int own = own_descriptor(target); own >= 0) {
        descriptor_ = Descriptor(::fcntl(own, F_DUPFD_CLOEXEC, 0));
        guard_.emplace();
        return descriptor_.is_open() ? Status() : cannot("write into it");
    }
    struct stat found = {};
    if (::stat(target.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
        return open_in_place(target, found.st_mode);
    }
    LEAT_ASSIGN_OR_RETURN(const fs::path file, end_of_links(target));
    name_ = file.filename().string();
    if (name_.empty()) {
        return invalid_argument("cannot create the file: its path ends without a name");
    }
    const fs::path folder = file.parent_path();
    folder_ =
        Descriptor(::open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder_.is_open()) {
        return cannot("open the file's folder");
    }
    return create_temporary(number);
}

Status NewFile::open_in_place(const fs::path& target, mode_t mode) {
    if (!S_ISCHR(mode) && !S_ISFIFO(mode)) {
        return invalid_argument("cannot write into it")
            .with_found(name_of_kind(mode))
            .with_needed("a regular file, a character device or a pipe");
    }
    // O_NONBLOCK: a pipe that nobody reads is an error (ENXIO), not a wait.
    descriptor_ = Descriptor(::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!descriptor_.is_open() && errno == ENXIO && S_ISFIFO(mode)) {
        return invalid_argument("cannot write into the pipe: nobody reads it");
    }
    if (!descriptor_.is_open()) {
        return cannot("write into it");
    }
    const int flags = ::fcntl(descriptor(), F_GETFL);
    if (flags < 0 || ::fcntl(descriptor(), F_SETFL, flags & ~O_NONBLOCK) != 0) {
        return cannot("write into it");
    }
    guard_.emplace();
    return {};
}

Status NewFile::create_temporary(uint64_t number) {
    struct stat replaced = {};
    const bool replaces =
        ::fstatat(folder_.value(), name_.c_str(), &replaced, AT_SYMLINK_NOFOLLOW) == 0;
    // Nobody may read more of it than of what it replaces, not even for a moment.
    const mode_t mode = replaces ? 0600 : 0666;
    std::string name;
    for (int tried = 0; tried < kMostNames && !descriptor_.is_open(); ++tried) {
        name = fmt::format(".{:016x}{}", number++, kTemporaryExtension);
        descriptor_ = Descriptor(
            ::openat(folder_.value(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
        if (!descriptor_.is_open() && errno != EEXIST) {
            break;
        }
    }
    if (!descriptor_.is_open()) {
        return cannot("create the file");
    }
    temporary_ = std::move(name);
    if (replaces) {
        take_over_owner(descriptor(), replaced);
    }
    return {};
}

Status NewFile::commit() {
    if (!descriptor_.close()) {
        return cannot("write the file");
    }
    if (temporary_.empty()) {
        return {};
    }
    const int folder = folder_.value();
    if (::renameat(folder, temporary_.c_str(), folder, name_.c_str()) != 0) {
        return cannot("write the file");
    }
    temporary_.clear();
    return {};
}

Status write_whole_file(const fs::path& target, std::span<const std::byte> bytes) {
    NewFile file(target);
    LEAT_RETURN_IF_ERROR(file.status());
    LEAT_RETURN_IF_ERROR(write_all(file.descriptor(), bytes));
    return file.commit();
}

}  // namespace leat
