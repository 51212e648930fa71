// A cell of the NUMA tests as a program: its words are the arguments, see numa_cell.h.
#include <cstdio>
#include <string>

#include "numa_cell.h"

int main(int argc, char** argv) {
    std::string words;
    for (int i = 1; i < argc; ++i) {
        words.append(words.empty() ? "" : "\n").append(argv[i]);
    }
    std::fputs(leat::numa_test::run_cell(words).c_str(), stdout);
    return 0;
}
