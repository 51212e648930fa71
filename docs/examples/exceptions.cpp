// Errors: a callable returns a Status or a Result, or throws; run() returns the first error with
// the name of the node. Nothing throws across the API, nothing leaks, and the graph can run again.
#include <leat/scheduler/task_graph.h>

#include <cstdio>
#include <stdexcept>
#include <string>

using namespace leat::scheduler;  // NOLINT(google-build-using-namespace): a program of its own

int main() {
    TaskGraph graph;
    const auto text = graph.source<std::string>("text");
    const auto number = graph.add(
        "parse", [](const std::string& digits) { return std::stoi(digits); }, text);  // may throw
    const auto root = graph.add(
        "root",
        [](int value) -> leat::Result<int> {
            if (value < 0) {
                return leat::Status(leat::StatusCode::kInvalidArgument, "a negative number");
            }
            int result = 0;
            while ((result + 1) * (result + 1) <= value) {
                ++result;
            }
            return result;
        },
        number);
    Executor executor({.threads = 2});

    bool is_right = true;
    const auto root_of = [&](const char* digits) {
        leat::Status status = graph.set(text, digits);
        if (status.ok()) {
            status = graph.run(executor);
        }
        std::printf("%-6s %s\n", digits, status.ok() ? "ok" : status.message().c_str());
        return status;
    };
    is_right = is_right && root_of("144").ok() && graph.take(root).value() == 12;
    leat::Status status = root_of("twelve");
    is_right = is_right && status.code() == leat::StatusCode::kUserException &&
               status.node() == "parse" && graph.result(root) == nullptr;
    status = root_of("-4");
    is_right =
        is_right && status.code() == leat::StatusCode::kInvalidArgument && status.node() == "root";
    is_right = is_right && root_of("99").ok() && *graph.result(root) == 9;
    // Mistakes of building come back in the same way.
    status = graph.run(executor);
    std::printf("again  %s\n", status.message().c_str());
    return is_right && status.code() == leat::StatusCode::kInvalidArgument ? 0 : 1;
}
