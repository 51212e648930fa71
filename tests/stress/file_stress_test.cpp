// Saves and loads of the same files by threads and processes at once: every load is whole.
//
// The threads are in processes of their own: this program starts itself with other arguments. By
// default these have the numbers that the system gives them; with `equal` getpid() says 1 in all of
// them, as in containers, whose processes are often all number 1.
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/files/disk_cache.h"
#include "base/files/new_file.h"
#include "graph/graph_data.h"
#include "leat/leat.h"
#include "onnx/save.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"
#include "trace/chrome_trace.h"

namespace {
std::atomic<bool> g_has_equal_number{false};
}  // namespace

// Instead of the C library's.
extern "C" pid_t getpid() noexcept {
    return g_has_equal_number ? 1 : pid_t(syscall(SYS_getpid));
}

namespace leat {
namespace {

namespace fs = std::filesystem;

using testing_support::NamedTensors;
using testing_support::output_bytes;

constexpr int kVersions = 5;
constexpr int kThreads = 2;  // of each process
constexpr int kProcesses = 2;
constexpr int kCouldNotTry = 77;

// Versions differ in length, so that a mixture of two is neither.
int64_t extent_of(int version) {
    return 500 * int64_t{version + 1};
}

//  x --> Add(w: all are the version's number) --> y
Graph graph_of(int version) {
    const int64_t extent = extent_of(version);
    Graph graph(fmt::format("version {}", version));
    const ValueId x = graph.input("x", DType::kFloat32, {extent});
    const auto w = std::vector<float>(size_t(extent), float(version));
    graph.output("y",
                 graph.add("Add", {x, graph.constant("w", *Tensor::from<float>({extent}, w))}));
    return graph;
}

bool is_version(const Tensor& tensor, int version) {
    if (tensor.dtype() != DType::kFloat32 || tensor.shape() != Shape({extent_of(version)})) {
        return false;
    }
    const auto elements = tensor.data<float>();
    return std::all_of(elements.begin(), elements.end(),
                       [version](float element) { return element == float(version); });
}

// The file is one of the versions.
bool is_whole(const Tensor& tensor) {
    const bool has_some = tensor.dtype() == DType::kFloat32 && tensor.shape().element_count() > 0;
    const int version = has_some ? int(tensor.data<float>()[0]) : -1;
    return version >= 0 && version < kVersions && is_version(tensor, version);
}

bool is_whole(const Graph& graph) {
    for (const ValueData& value : graph.data().values) {
        if (value.constant && is_whole(*value.constant)) {
            const auto version = int(value.constant->data<float>()[0]);
            return graph.data().name == fmt::format("version {}", version) && graph.verify().ok();
        }
    }
    return false;
}

std::string text_of(int version) {
    return std::string(size_t(extent_of(version)), char('a' + version));
}
bool is_whole(const std::string& text) {
    const int version = text.empty() ? -1 : text.front() - 'a';
    return version >= 0 && version < kVersions && text == text_of(version);
}

// One thread's saves and loads. A fault ends it and is printed.
class Worker {
  public:
    Worker(fs::path folder, int number) : folder_(std::move(folder)), number_(number) {
        for (int version = 0; version < kVersions; ++version) {
            graphs_.push_back(graph_of(version));
            compiled_.push_back(*runtime_.compile(graphs_.back()));
        }
    }
    bool run(int rounds) {
        using Round = void (Worker::*)(int);
        // Compiled graphs take longest.
        constexpr std::array<Round, 10> kRounds = {
            &Worker::model, &Worker::value, &Worker::cache,    &Worker::model, &Worker::trace,
            &Worker::value, &Worker::cache, &Worker::compiled, &Worker::model, &Worker::divided};
        for (int i = 0; i < rounds && fault_.empty(); ++i) {
            (this->*kRounds[size_t(i + number_) % kRounds.size()])((i * 7 + number_) % kVersions);
        }
        if (!fault_.empty()) {
            fmt::print(stderr, "worker {}: {}\n", number_, fault_);
        }
        return fault_.empty();
    }

  private:
    void expect(bool is_right, std::string_view what, const Status& status = {}) {
        if (!is_right && fault_.empty()) {
            fault_ = fmt::format("{}: {}", what, status.ok() ? "is not whole" : status.message());
        }
    }
    void expect_saved(const Status& status) { expect(status.ok(), "a save", status); }
    std::string at(const char* name) const { return folder_ / name; }
    // Mapped and copied in turn.
    bool copies() { return (loads_++ & 1) != 0; }

    void model(int version) {
        expect_saved(save_onnx(graphs_[size_t(version)], at("model.onnx")));
        const auto loaded = load_onnx(at("model.onnx"), {.copies = copies()});
        expect(loaded.ok() && is_whole(*loaded), "a model", loaded.error());
    }
    // All save the same one: model and weights are two files.
    void divided(int /*version*/) {
        expect_saved(onnx::save_model(graphs_[3].data(), at("divided.onnx"), 0));
        const auto loaded = load_onnx(at("divided.onnx"), {.copies = copies()});
        expect(loaded.ok() && is_whole(*loaded), "a model of two files", loaded.error());
    }
    void value(int version) {
        const Tensor tensor = *graphs_[size_t(version)].data().values[1].constant;
        expect_saved(save_onnx_value(tensor, at("value.pb")));
        const auto loaded =
            load_onnx_value(at("value.pb"), Value::Kind::kTensor, {.copies = copies()});
        expect(loaded.ok() && is_whole(loaded->tensor()), "a value", loaded.error());
    }
    void compiled(int version) {
        expect_saved(compiled_[size_t(version)].save(at("graph.leat")));
        const auto loaded =
            runtime_.load(at("graph.leat"), {.verifies_weights = true, .copies = copies()});
        expect(loaded.ok(), "a compiled graph", loaded.error());
        if (!loaded.ok()) {
            return;
        }
        const int64_t extent = loaded->inputs()[0].dims[0].extent();
        const NamedTensors zeros = {
            {"x", *Tensor::from<float>({extent}, std::vector<float>(size_t(extent), 0.0F))}};
        auto request = *loaded->make_request();
        expect_saved(request.bind("x", zeros.at("x")));
        expect_saved(request.run());
        expect(is_whole(request.output("y")->tensor()), "the results of a compiled graph");
    }
    void cache(int version) {
        cache_.store("stress", "key", text_of(version));
        const auto loaded = cache_.load("stress", "key");
        expect(loaded && is_whole(*loaded), "an entry of the cache");
        // One that has no room for all its entries: any may be gone, none may be wrong.
        const std::string key = fmt::format("key {}", loads_++ % 40);
        small_cache_.store("stress", key, text_of(version));
        const auto kept = small_cache_.load("stress", key);
        expect(!kept || is_whole(*kept), "an entry of the small cache");
    }
    void trace(int version) {
        const std::string text = ChromeTrace(text_of(version)).json();
        expect_saved(write_whole_file(at("trace.json"), std::as_bytes(std::span(text))));
        const std::string loaded = contents_of(at("trace.json"));
        bool is_one = false;
        for (int one = 0; one < kVersions; ++one) {
            is_one = is_one || loaded == ChromeTrace(text_of(one)).json();
        }
        expect(is_one, "a trace");
    }

    const fs::path folder_;
    const int number_;
    const Runtime runtime_{testing_support::without_numa(1)};
    std::vector<Graph> graphs_;
    std::vector<CompiledGraph> compiled_;
    std::string fault_;
    int loads_ = 0;
    const DiskCache::Log log_ = [this](std::string_view line) { expect(false, line); };
    DiskCache cache_{folder_ / "cache", "stress", log_};
    DiskCache small_cache_{folder_ / "small", "stress", log_, 40'000};
};

// The process that run_processes() starts. 0: every load was whole.
int work(const fs::path& folder, int number, int rounds) {
    std::atomic<int> faults{0};
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            faults += Worker(folder, number * kThreads + thread).run(rounds) ? 0 : 1;
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return faults == 0 ? 0 : 1;
}

enum class Numbers : uint8_t {
    kOfSystem,
    kEqual,         // getpid() says so
    kOfContainers,  // each process is number 1 of a namespace
};

// In the child: becomes number 1 of a namespace of its own. False: the system does not let us.
bool enter_container() {
    return ::unshare(CLONE_NEWPID) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
}

// The exit status of the process.
int wait_for(pid_t process) {
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

[[noreturn]] void become(const std::vector<std::string>& arguments) {
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (const std::string& argument : arguments) {
        pointers.push_back(const_cast<char*>(argument.c_str()));
    }
    pointers.push_back(nullptr);
    ::execv("/proc/self/exe", pointers.data());
    ::_exit(2);
}

pid_t start(const std::vector<std::string>& arguments, Numbers numbers) {
    const pid_t child = ::fork();
    if (child != 0) {
        return child;
    }
    if (numbers == Numbers::kOfContainers) {
        if (!enter_container()) {
            ::_exit(kCouldNotTry);
        }
        const pid_t inner = ::fork();
        if (inner != 0) {
            ::_exit(inner < 0 ? kCouldNotTry : wait_for(inner));
        }
    }
    become(arguments);
}

class FileStress : public ::testing::Test {
  protected:
    // Each thread of each process saves and loads so often.
    void run_processes(int rounds, Numbers numbers) {
        fs::create_directory(folder_.path() / "files");
        const std::array<const char*, 3> names = {"system", "equal", "container"};
        std::vector<pid_t> processes;
        processes.reserve(kProcesses);
        for (int number = 0; number < kProcesses; ++number) {
            processes.push_back(
                start({"file_stress", "--work", folder_.path() / "files", std::to_string(number),
                       std::to_string(rounds), names[size_t(numbers)]},
                      numbers));
        }
        std::vector<int> statuses;
        statuses.reserve(kProcesses);
        for (const pid_t process : processes) {
            statuses.push_back(wait_for(process));
        }
        if (std::count(statuses.begin(), statuses.end(), kCouldNotTry) == kProcesses) {
            GTEST_SKIP() << "this process may not make PID namespaces";
        }
        for (const int status : statuses) {
            EXPECT_EQ(status, 0) << "what failed is above";
        }
        for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
            EXPECT_NE(entry.path().extension(), kTemporaryExtension) << entry.path();
        }
    }

    const ScratchFolder folder_;
};

// 10,000 saves and as many loads.
TEST_F(FileStress, LoadsAreWhole) {
    run_processes(10'000 / (kProcesses * kThreads), Numbers::kOfSystem);
}

TEST_F(FileStress, LoadsAreWholeWhereProcessesHaveOneNumber) {
    run_processes(500, Numbers::kEqual);
}

TEST_F(FileStress, LoadsAreWholeWhereProcessesAreInContainers) {
    run_processes(500, Numbers::kOfContainers);
}

// Above a few MiB the structure is read apart from the weights: it has to be that of the same file.
TEST_F(FileStress, ALargeModelIsReadFromOneFile) {
    constexpr int kLoads = 300;
    constexpr int64_t kExtent = 9 << 18;  // 9 MiB of floats
    const std::string model = folder_.path() / "model.onnx";
    for (int version = 0; version < 2; ++version) {
        // x --> Relu, the more the later the version --> Add(w) --> y
        Graph graph;
        ValueId value = graph.input("x", DType::kFloat32, {kExtent});
        for (int node = 0; node < 1 + 40 * version; ++node) {
            value = graph.add("Relu", {value});
        }
        const auto w = std::vector<float>(size_t(kExtent), float(version));
        graph.output(
            "y",
            graph.add("Add", {value, graph.constant("w", *Tensor::from<float>({kExtent}, w))}));
        ASSERT_TRUE(save_onnx(graph, folder_.path() / std::to_string(version)).ok());
    }
    fs::create_hard_link(folder_.path() / "0", model);
    std::atomic<bool> is_done{false};
    std::thread writer([&] {
        const fs::path next = folder_.path() / "next";
        for (int version = 0; !is_done; version = 1 - version) {
            fs::create_hard_link(folder_.path() / std::to_string(version), next);
            fs::rename(next, model);
            fs::remove(next);  // there still where it was the same file
        }
    });
    int wrong = 0;
    for (int i = 0; i < kLoads; ++i) {
        const auto graph = load_onnx(model);
        const bool has_version_1 = graph.ok() && graph->node_count() == 42;
        const bool has_version_0 = graph.ok() && graph->node_count() == 2;
        float element = -1;
        for (const ValueData& value :
             graph.ok() ? graph->data().values : std::vector<ValueData>()) {
            element = value.constant ? value.constant->data<float>()[kExtent - 1] : element;
        }
        wrong += (has_version_0 && element == 0) || (has_version_1 && element == 1) ? 0 : 1;
    }
    is_done = true;
    writer.join();
    EXPECT_EQ(wrong, 0);
}

int main_of_worker(const std::vector<std::string>& arguments) {
    const auto number_of = [&](size_t at) {
        int number = 0;
        std::from_chars(arguments[at].data(), arguments[at].data() + arguments[at].size(), number);
        return number;
    };
    const std::string& numbers = arguments[5];
    g_has_equal_number = numbers == "equal";
    if (numbers != "system" && ::getpid() != 1) {
        fmt::print(stderr, "this process has number {}\n", ::getpid());
        return 3;
    }
    return work(arguments[2], number_of(3), number_of(4));
}

}  // namespace
}  // namespace leat

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv, argv + argc);
    if (arguments.size() == 6 && arguments[1] == "--work") {
        return leat::main_of_worker(arguments);
    }
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
