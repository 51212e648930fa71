// Where the NUMA tests run their cells: in this process one after the other, or each in a process
// of its own. See numa_test.sh for the machines.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace leat::numa_test {

// What a cell told (numa_cell.h).
struct Facts {
    std::map<std::string, std::string> facts;
    std::vector<std::string> warnings;

    std::string text(const std::string& name) const;
    int64_t number(const std::string& name) const;
};

// The name of the machine that the test runs on; empty: none of numa_test.sh.
std::string machine();

// Skips a case that is about another machine.
#define LEAT_ON_MACHINE(name)                                   \
    if (machine() != (name)) {                                  \
        GTEST_SKIP() << "about the machine '" << (name) << "'"; \
    }

// A process that forks one for each cell that restricts itself, so that nothing has to be loaded
// again. It is forked before this one has read a topology or started a thread: its children know as
// little of the machine as programs that have just been started.
class CellForker {
  public:
    CellForker();
    // Ends the process, which expects that all cells have.
    ~CellForker();
    CellForker(const CellForker&) = delete;
    CellForker& operator=(const CellForker&) = delete;

    // What the cell printed; sets `status` to how its process ended, as waitpid has it.
    std::string run(const std::string& words, int& status) const;

  private:
    pid_t pid_ = -1;
    int socket_ = -1;
};

// Words are separated by blanks: see numa_cell.h.
Facts run_here(const std::string& words);
// In a process of its own. Some words are given one by one, as they have blanks.
Facts run_forked(const std::string& words, const std::vector<std::string>& more_words = {});
// A program of the folder of this one, with words as arguments.
Facts run_program(const std::string& program, const std::string& words);
// The same as run_forked if the words ask for it, else as run_here.
Facts run_cell_of(const std::string& words);

}  // namespace leat::numa_test
