#include "numa_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include "numa_cell.h"

namespace leat::numa_test {
namespace {

constexpr char kEnd = '\x1e';  // of a message

bool send_message(int socket, std::string text) {
    text += kEnd;
    size_t sent = 0;
    while (sent < text.size()) {
        const ssize_t bytes = ::write(socket, text.data() + sent, text.size() - sent);
        if (bytes <= 0) {
            return false;
        }
        sent += size_t(bytes);
    }
    return true;
}

// Up to the end mark; nothing: the other side is gone.
std::optional<std::string> receive_message(int socket) {
    std::string text;
    char block[4096];
    while (text.empty() || text.back() != kEnd) {
        const ssize_t bytes = ::read(socket, block, sizeof block);
        if (bytes <= 0) {
            return std::nullopt;
        }
        text.append(block, size_t(bytes));
    }
    text.pop_back();
    return text;
}

// Forks for each message; answers with what the child tells, and a line about its end.
[[noreturn]] void serve_cells(int socket) {
    while (const std::optional<std::string> words = receive_message(socket)) {
        const pid_t child = ::fork();
        if (child == 0) {
            const std::string facts = run_cell(*words);
            const bool is_told =
                ::write(socket, facts.data(), facts.size()) == ssize_t(facts.size());
            std::exit(is_told ? 0 : 1);
        }
        int status = -1;
        (void)::waitpid(child, &status, 0);
        (void)send_message(socket, "\n" + std::to_string(status));
    }
    std::_Exit(0);
}

Facts facts_in(const std::string& text) {
    Facts facts;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const size_t equals = line.find('=');
        if (line.compare(0, equals, "warning") == 0) {
            facts.warnings.push_back(line.substr(equals + 1));
        } else if (equals != std::string::npos) {
            facts.facts[line.substr(0, equals)] = line.substr(equals + 1);
        }
    }
    return facts;
}

// Words separated by blanks, each on a line of its own.
std::string one_a_line(const std::string& words) {
    std::string lines;
    std::istringstream blanks(words);
    for (std::string word; blanks >> word;) {
        lines.append(lines.empty() ? "" : "\n").append(word);
    }
    return lines;
}

const CellForker* forker = nullptr;

}  // namespace

std::string Facts::text(const std::string& name) const {
    const auto found = facts.find(name);
    return found == facts.end() ? "" : found->second;
}

int64_t Facts::number(const std::string& name) const {
    return std::atoll(text(name).c_str());
}

std::string machine() {
    const char* name = std::getenv("LEAT_NUMA_MACHINE");
    return name == nullptr ? "" : name;
}

CellForker::CellForker() {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        std::perror("socketpair");
        std::exit(2);
    }
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(ends[0]);
        serve_cells(ends[1]);
    }
    ::close(ends[1]);
    socket_ = ends[0];
}

CellForker::~CellForker() {
    ::close(socket_);
    (void)::waitpid(pid_, nullptr, 0);
}

std::string CellForker::run(const std::string& words, int& status) const {
    if (!send_message(socket_, words)) {
        return "error=the process that forks cells is gone";
    }
    std::string text = receive_message(socket_).value_or("");
    const size_t last_line = text.find_last_of('\n');
    status = last_line == std::string::npos ? -1 : std::atoi(text.c_str() + last_line);
    return text;
}

Facts run_here(const std::string& words) {
    return facts_in(run_cell(one_a_line(words)));
}

Facts run_forked(const std::string& words, const std::vector<std::string>& more_words) {
    std::string message = one_a_line(words);
    for (const std::string& word : more_words) {
        message.append(message.empty() ? "" : "\n").append(word);
    }
    int status = -1;
    Facts facts = facts_in(forker->run(message, status));
    EXPECT_EQ(status, 0) << message;
    return facts;
}

Facts run_program(const std::string& program, const std::string& words) {
    const std::filesystem::path folder =
        std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::string command = "exec " + (folder / program).string() + " " + words;
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    char block[4096];
    while (pipe != nullptr && std::fgets(block, sizeof block, pipe) != nullptr) {
        text += block;
    }
    EXPECT_EQ(pipe == nullptr ? -1 : ::pclose(pipe), 0) << command;
    return facts_in(text);
}

Facts run_cell_of(const std::string& words) {
    return restricts_process(one_a_line(words)) ? run_forked(words) : run_here(words);
}

}  // namespace leat::numa_test

int main(int argc, char** argv) {
    const auto forker = std::make_unique<leat::numa_test::CellForker>();
    leat::numa_test::forker = forker.get();
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
