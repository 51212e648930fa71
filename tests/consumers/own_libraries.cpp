// A host program with its own oneTBB and its own protobuf beside leat: nothing may clash.
#include <google/protobuf/struct.pb.h>
#include <leat/leat.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

int main() {
    google::protobuf::Struct message;
    (*message.mutable_fields())["answer"].set_number_value(42);
    const std::string bytes = message.SerializeAsString();

    leat::Graph graph("square");
    const auto x = graph.input("x", leat::DType::kFloat32, {4});
    graph.output("y", graph.add("Mul", {x, x}));
    leat::Runtime runtime;
    auto compiled = runtime.compile(graph);
    if (!compiled) {
        return std::fprintf(stderr, "%s\n", compiled.error().message().c_str()), 1;
    }
    std::atomic<int> wrong = 0;
    tbb::parallel_for(0, 100, [&](int i) {
        auto request = compiled->make_request();
        const std::vector<float> values(4, float(i));
        if (!request || !request->bind("x", std::span<const float>(values)).ok() ||
            !request->run().ok() || request->get<float>("y")[3] != float(i) * float(i)) {
            ++wrong;
        }
    });
    google::protobuf::Struct parsed;
    if (!parsed.ParseFromString(bytes) || parsed.fields().at("answer").number_value() != 42) {
        return 1;
    }
    std::printf("%d of 100 wrong\n", wrong.load());
    return wrong == 0 ? 0 : 1;
}
