// Files that appear as a whole, whoever else writes them, and whatever is there already.
#include "base/files/new_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/files/descriptor.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

Status write(const fs::path& target, std::string_view text) {
    return write_whole_file(target, bytes_of(text));
}

struct stat info_of(const fs::path& file) {
    struct stat info = {};
    EXPECT_EQ(::stat(file.c_str(), &info), 0) << file;
    return info;
}
mode_t mode_of(const fs::path& file) {
    return info_of(file).st_mode & 07777U;
}

class NewFiles : public ::testing::Test {
  protected:
    const ScratchFolder folder_;
    const fs::path file_ = folder_.path() / "file";
};

TEST_F(NewFiles, WhoHasTheOldOneKeepsIt) {
    ASSERT_TRUE(write(file_, "old").ok());
    std::ifstream old(file_);
    ASSERT_TRUE(write(file_, "newer").ok());
    std::string text;
    old >> text;
    EXPECT_EQ(text, "old");
    EXPECT_EQ(contents_of(file_), "newer");
    EXPECT_EQ(file_count_in(folder_.path()), 1);
}

TEST_F(NewFiles, OfOneNumberDoNotShareATemporary) {
    NewFile a(file_, 7);
    NewFile b(file_, 7);
    ASSERT_TRUE(a.status().ok() && b.status().ok());
    ASSERT_TRUE(write_all(a.descriptor(), bytes_of("aaaa")).ok());
    ASSERT_TRUE(write_all(b.descriptor(), bytes_of("b")).ok());
    ASSERT_TRUE(a.commit().ok());
    EXPECT_EQ(contents_of(file_), "aaaa");
    ASSERT_TRUE(b.commit().ok());
    EXPECT_EQ(contents_of(file_), "b");
    EXPECT_EQ(file_count_in(folder_.path()), 1);
}

TEST_F(NewFiles, OfOneNumberAreWholeInAllThreads) {
    constexpr int kRounds = 300;
    ASSERT_TRUE(write(file_, "aaa").ok());
    std::atomic<int> wrong{0};
    const auto save_and_read = [&](char mine) {
        const std::string text(size_t(mine) * 20, mine);
        for (int i = 0; i < kRounds; ++i) {
            NewFile file(file_, 7);
            const bool is_saved = file.status().ok() &&
                                  write_all(file.descriptor(), bytes_of(text)).ok() &&
                                  file.commit().ok();
            const std::string found = contents_of(file_);
            const char letter = found.empty() ? ' ' : found.front();
            const bool is_whole =
                found == "aaa" || found == std::string(size_t(letter) * 20, letter);
            wrong += is_saved && is_whole ? 0 : 1;
        }
    };
    std::vector<std::thread> threads;
    for (const char mine : {'p', 'q', 'r', 's'}) {
        threads.emplace_back(save_and_read, mine);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(file_count_in(folder_.path()), 1);
}

TEST_F(NewFiles, LeaveNothingWithoutCommit) {
    ASSERT_TRUE(write(file_, "old").ok());
    {
        NewFile file(file_);
        ASSERT_TRUE(write_all(file.descriptor(), bytes_of("half")).ok());
        EXPECT_EQ(file_count_in(folder_.path()), 2);
    }
    EXPECT_EQ(file_count_in(folder_.path()), 1);
    EXPECT_EQ(contents_of(file_), "old");
}

TEST_F(NewFiles, LeaveNothingWhereCommitFails) {
    {
        NewFile file(file_);
        ASSERT_TRUE(write_all(file.descriptor(), bytes_of("text")).ok());
        fs::create_directory(file_);  // a folder is no file to replace
        EXPECT_THAT(file.commit().message(), HasSubstr("cannot write the file"));
    }
    EXPECT_TRUE(fs::is_directory(file_));
    EXPECT_EQ(file_count_in(folder_.path()), 1);
}

// The limit of the process stands for a full disk: some bytes can be written, the rest cannot.
TEST_F(NewFiles, AFullDiskLeavesTheOldOne) {
    ASSERT_TRUE(write(file_, "old").ok());
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{100, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const Status status = write(file_, std::string(1000, 'x'));
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_THAT(status.message(), HasSubstr("cannot write the file"));
    EXPECT_EQ(contents_of(file_), "old");
    EXPECT_EQ(file_count_in(folder_.path()), 1);
}

TEST_F(NewFiles, HaveNamesAsLongAsTheSystemTakes) {
    const fs::path longest = folder_.path() / std::string(255, 'x');
    EXPECT_TRUE(write(longest, "text").ok());
    EXPECT_EQ(contents_of(longest), "text");
    EXPECT_THAT(write(folder_.path() / std::string(256, 'x'), "text").message(),
                HasSubstr("too long"));
    EXPECT_EQ(file_count_in(folder_.path()), 1);
}

TEST_F(NewFiles, WithoutAFolderOrANameAreErrors) {
    EXPECT_EQ(write(folder_.path() / "none" / "file", "text").code(), StatusCode::kNotFound);
    EXPECT_THAT(write(folder_.path() / "", "text").message(), HasSubstr("a folder"));
    EXPECT_THAT(write(folder_.path() / "none" / "", "text").message(), HasSubstr("without a name"));
    EXPECT_THAT(write("", "text").message(), HasSubstr("without a name"));
    ASSERT_TRUE(write(file_, "text").ok());
    EXPECT_EQ(write(file_ / "below", "text").code(), StatusCode::kNotFound);
    EXPECT_EQ(file_count_in(folder_.path()), 1);
}

TEST_F(NewFiles, StayInTheFolderThatARelativePathMeant) {
    const fs::path before = fs::current_path();
    const ScratchFolder other;
    fs::current_path(folder_.path());
    NewFile file("file");
    ASSERT_TRUE(write_all(file.descriptor(), bytes_of("text")).ok());
    fs::current_path(other.path());
    const Status status = file.commit();
    fs::current_path(before);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(contents_of(file_), "text");
    EXPECT_EQ(file_count_in(other.path()), 0);
}

//  a/first --> ../b/second --> (absolute) c/target
class LinkedFiles : public NewFiles {
  protected:
    LinkedFiles() {
        for (const char* name : {"a", "b", "c"}) {
            fs::create_directory(folder_.path() / name);
        }
        fs::create_symlink("../b/second", link_);
        fs::create_symlink(target_, folder_.path() / "b" / "second");
    }
    void expect_links() {
        EXPECT_TRUE(fs::is_symlink(link_));
        EXPECT_TRUE(fs::is_symlink(folder_.path() / "b" / "second"));
        EXPECT_FALSE(fs::is_symlink(target_));
        for (const char* name : {"a", "b", "c"}) {
            EXPECT_EQ(file_count_in(folder_.path() / name), 1) << name;
        }
    }
    const fs::path link_ = folder_.path() / "a" / "first";
    const fs::path target_ = folder_.path() / "c" / "target";
};

TEST_F(LinkedFiles, ReplaceWhatTheLinkLeadsTo) {
    ASSERT_TRUE(write(target_, "old").ok());
    std::ifstream old(target_);
    {
        NewFile file(link_);
        ASSERT_TRUE(write_all(file.descriptor(), bytes_of("new")).ok());
        EXPECT_EQ(file_count_in(folder_.path() / "c"), 2) << "the temporary is beside the target";
        ASSERT_TRUE(file.commit().ok());
    }
    EXPECT_EQ(contents_of(target_), "new");
    std::string text;
    old >> text;
    EXPECT_EQ(text, "old") << "replaced, not written into";
    expect_links();
}

TEST_F(LinkedFiles, AreMadeWhereTheLinkLeadsToNothing) {
    ASSERT_TRUE(write(link_, "new").ok());
    EXPECT_EQ(contents_of(target_), "new");
    expect_links();
}

TEST_F(LinkedFiles, GoThroughLinksOfFolders) {
    fs::create_directory_symlink(folder_.path() / "a", folder_.path() / "way");
    ASSERT_TRUE(write(folder_.path() / "way" / "first", "new").ok());
    EXPECT_EQ(contents_of(target_), "new");
    expect_links();
}

// /dev/stdout may be a log that others write to, too.
TEST_F(LinkedFiles, ThatLeadToWhatIsOpenAreWrittenInto) {
    const fs::path log = folder_.path() / "log";
    ASSERT_TRUE(write(log, "old ").ok());
    const Descriptor open(::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    ASSERT_TRUE(open.is_open());
    const auto before = file_count_in(folder_.path());
    const fs::path name = "/proc/self/fd/" + std::to_string(open.value());
    EXPECT_TRUE(write(name, "new").ok());
    EXPECT_EQ(contents_of(log), "old new");
    fs::create_symlink(name, folder_.path() / "link");
    EXPECT_TRUE(write(folder_.path() / "link", " again").ok());
    EXPECT_EQ(contents_of(log), "old new again");
    EXPECT_EQ(file_count_in(folder_.path()), before + 1);
    const Descriptor to_read(::open(log.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_FALSE(write("/proc/self/fd/" + std::to_string(to_read.value()), "no").ok());
    EXPECT_EQ(contents_of(log), "old new again");
}

TEST_F(LinkedFiles, ThatLeadInACircleAreErrors) {
    fs::create_symlink("circle", folder_.path() / "circle");
    EXPECT_THAT(write(folder_.path() / "circle", "text").message(), HasSubstr("symbolic links"));
    EXPECT_TRUE(fs::is_symlink(folder_.path() / "circle"));
}

// Nobody could read it afterwards.
TEST_F(LinkedFiles, ThatLeadToAFileOfOthersWithoutANameAreErrors) {
    const fs::path log = folder_.path() / "log";
    ASSERT_TRUE(write(log, "old").ok());
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t other = ::fork();
    if (other == 0) {
        const int open = ::open(log.c_str(), O_WRONLY);
        (void)!::write(ready[1], &open, sizeof open);
        ::pause();
        ::_exit(0);
    }
    int number = -1;
    ASSERT_EQ(::read(ready[0], &number, sizeof number), ssize_t(sizeof number));
    fs::remove(log);
    const auto before = file_count_in(folder_.path());
    const Status status = write(fmt::format("/proc/{}/fd/{}", other, number), "new");
    EXPECT_THAT(status.message(), HasSubstr("it has no name any more"));
    EXPECT_EQ(file_count_in(folder_.path()), before);
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
}

// As where several processes share a folder of a cache that makes room.
TEST_F(NewFiles, AreMadeWhileOthersRemoveTheOldOne) {
    std::atomic<bool> is_done{false};
    std::thread other([&] {
        while (!is_done) {
            ::unlink(file_.c_str());
        }
    });
    for (int i = 0; i < 20'000; ++i) {
        const Status status = write(file_, "text");
        EXPECT_TRUE(status.ok()) << status.message();
        if (!status.ok()) {
            break;
        }
    }
    is_done = true;
    other.join();
}

TEST_F(NewFiles, HaveThePermissionsOfTheOldOne) {
    ASSERT_TRUE(write(file_, "old").ok());
    const mode_t mask = ::umask(0);
    (void)::umask(mask);
    EXPECT_EQ(mode_of(file_), 0666U & ~mask);
    for (const mode_t mode : {0600U, 0640U, 0664U, 0444U, 0755U}) {
        ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
        NewFile file(file_);
        struct stat begun = {};
        ASSERT_EQ(::fstat(file.descriptor(), &begun), 0);
        EXPECT_EQ(begun.st_mode & 07777U, mode) << "also before it is complete";
        ASSERT_TRUE(file.commit().ok());
        EXPECT_EQ(mode_of(file_), mode);
    }
}

TEST_F(NewFiles, HaveTheOwnerOfTheOldOne) {
    constexpr uid_t kSomebody = 12345;
    ASSERT_TRUE(write(file_, "old").ok());
    if (::chown(file_.c_str(), kSomebody, kSomebody) != 0) {
        GTEST_SKIP() << "files cannot be given to others here: " << std::strerror(errno);
    }
    ASSERT_TRUE(write(file_, "new").ok());
    EXPECT_EQ(info_of(file_).st_uid, kSomebody);
    EXPECT_EQ(info_of(file_).st_gid, kSomebody);
}

// Nodes of the test's own: a fault would replace those of the machine.
TEST_F(NewFiles, DevicesAreWrittenInto) {
    const fs::path null = folder_.path() / "null";
    const fs::path full = folder_.path() / "full";
    if (::mknod(null.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0 ||
        ::mknod(full.c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0) {
        GTEST_SKIP() << "no device nodes can be made here: " << std::strerror(errno);
    }
    if (const int probe = ::open(null.c_str(), O_WRONLY | O_CLOEXEC); probe < 0) {
        GTEST_SKIP() << "device nodes cannot be opened here: " << std::strerror(errno);
    } else {
        ::close(probe);
    }
    fs::create_symlink("null", folder_.path() / "link");
    EXPECT_TRUE(write(null, "text").ok());
    EXPECT_TRUE(write(folder_.path() / "link", "text").ok());
    EXPECT_THAT(write(full, "text").message(), HasSubstr("No space left"));
    EXPECT_TRUE(fs::is_character_file(null));
    EXPECT_TRUE(fs::is_character_file(full));
    EXPECT_TRUE(fs::is_symlink(folder_.path() / "link"));
    EXPECT_EQ(file_count_in(folder_.path()), 3);
}

class Pipes : public NewFiles {
  protected:
    Pipes() { EXPECT_EQ(::mkfifo(file_.c_str(), 0600), 0); }
};

TEST_F(Pipes, ThatNobodyReadsAreErrorsAtOnce) {
    EXPECT_THAT(write(file_, "text").message(), HasSubstr("nobody reads it"));
    EXPECT_TRUE(fs::is_fifo(file_));
}

TEST_F(Pipes, AreWrittenInto) {
    // More than a pipe holds, so that the writer has to wait for its reader.
    const std::string text(1 << 20, 'x');
    const Descriptor reader(::open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    Status status;
    std::atomic<bool> is_done{false};
    std::thread writer([&] {
        status = write(file_, text);
        is_done = true;
    });
    std::string found;
    std::array<char, 4096> block{};
    ssize_t count = 0;
    for (bool was_done = false; !was_done || count > 0;) {
        was_done = is_done;
        count = ::read(reader.value(), block.data(), block.size());
        found.append(block.data(), size_t(std::max<ssize_t>(count, 0)));
    }
    writer.join();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(found, text);
    EXPECT_TRUE(fs::is_fifo(file_));
    EXPECT_EQ(file_count_in(folder_.path()), 1);
}

TEST_F(Pipes, WhoseReaderLeavesAreErrorsAndNoSignal) {
    Descriptor reader(::open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    {
        NewFile file(file_);
        ASSERT_TRUE(file.status().ok()) << file.status().message();
        reader.close();
        EXPECT_THAT(write_all(file.descriptor(), bytes_of("text")).message(),
                    HasSubstr("Broken pipe"));
    }
    sigset_t pending;
    sigset_t blocked;
    ASSERT_EQ(sigpending(&pending), 0);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
    EXPECT_EQ(sigismember(&blocked, SIGPIPE), 0);
}

TEST_F(NewFiles, OtherThingsStayAndAreNamed) {
    EXPECT_THAT(write(folder_.path(), "text").message(), HasSubstr("a folder"));
    const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(file_.string().size(), sizeof address.sun_path);
    std::strcpy(address.sun_path, file_.c_str());
    ASSERT_EQ(::bind(listener.value(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const Status status = write(file_, "text");
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("a socket"));
    EXPECT_THAT(status.message(), HasSubstr("a regular file"));
    EXPECT_TRUE(fs::is_socket(file_));
}

}  // namespace
}  // namespace leat
