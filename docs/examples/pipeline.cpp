// A pipeline: frames are read in a thread that may block, processed on any worker, and shown by the
// thread that called run(), as window systems ask for. At most three frames are under way.
#include <leat/scheduler/task_graph.h>

#include <chrono>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

using namespace leat::scheduler;  // NOLINT(google-build-using-namespace): a program of its own

int main() {
    constexpr int kFrames = 12;
    constexpr int kInFlight = 3;
    using Frame = std::vector<int>;

    TaskGraph graph;
    // One camera and one window: each is used for one frame after the other.
    const Resource camera = graph.resource("camera");
    const Resource window = graph.resource("window");
    int next_frame = 0;
    std::vector<long> shown;
    bool is_main_thread = true;
    const auto main_thread = std::this_thread::get_id();
    std::vector<Node<void>> shows;
    for (int frame = 0; frame < kFrames; ++frame) {
        const auto read = graph
                              .add("read",
                                   [&next_frame] {
                                       std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                       return Frame(1000, next_frame++);
                                   })
                              .writes(camera)
                              .on(Domain::blocking());
        if (frame >= kInFlight) {
            read.after(shows[size_t(frame - kInFlight)]);
        }
        // The only consumer of a frame takes it by value: it is moved, not copied.
        const auto blur = graph.add(
            "blur",
            [](Frame pixels) {
                for (int& pixel : pixels) {
                    pixel *= 2;
                }
                return pixels;
            },
            read);
        shows.push_back(graph
                            .add(
                                "show",
                                [&](const Frame& pixels) {
                                    shown.push_back(
                                        std::accumulate(pixels.begin(), pixels.end(), 0L));
                                    is_main_thread &= std::this_thread::get_id() == main_thread;
                                },
                                blur)
                            .writes(window)
                            .on(Domain::caller()));
    }

    Executor executor({.threads = 4});
    if (const leat::Status status = graph.run(executor); !status.ok()) {
        return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
    }
    bool is_right = is_main_thread && shown.size() == size_t(kFrames);
    for (size_t frame = 0; frame < shown.size(); ++frame) {
        is_right = is_right && shown[frame] == long(2000 * frame);
    }
    std::printf("%zu frames shown in order: %s\n", shown.size(), is_right ? "yes" : "no");
    return is_right ? 0 : 1;
}
