// Children of fork() with what they inherited from a Runtime: on the host, and on a device of a
// plugin, the simulated one here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "support/child_process.h"
#include "support/device_runs.h"

namespace leat {
namespace {

using testing_support::in_child;
using testing_support::wait_until_others_sleep;

constexpr int64_t kRows = 64;
constexpr int64_t kColumns = 64;

// Which child's check failed: its exit code.
enum Failed : int { kNone, kRun, kResult, kReport, kCompile, kNoError, kNewRuntime };

class RuntimeFork : public ::testing::Test {
  protected:
    void SetUp() override {
#if defined(__SANITIZE_THREAD__)
        GTEST_SKIP() << "the thread sanitizer does not start threads in children";
#endif
    }
};

// y = relu(x * 2 + 1), twice.
Graph chain() {
    Graph graph("chain");
    ValueId x = graph.input("x", DType::kFloat32, {"n", kColumns});
    const ValueId two = graph.constant("two", *Tensor::from<float>({1}, std::vector<float>{2}));
    const ValueId one = graph.constant("one", *Tensor::from<float>({1}, std::vector<float>{1}));
    for (int i = 0; i < 2; ++i) {
        x = graph.add("Relu", {graph.add("Add", {graph.add("Mul", {x, two}), one})});
    }
    graph.output("y", x);
    return graph;
}

// What a user holds.
class Session {
  public:
    static RuntimeOptions options(const std::string& devices) {
        RuntimeOptions options = testing_support::sim_options(2);
        if (devices == "virtual") {
            options.backend_settings["sim"] = {{"mode", "virtual"}};
        }
        return options;
    }
    // `devices`: of CompileOptions; "virtual": sim in virtual time.
    explicit Session(const std::string& devices) : runtime_(Session::options(devices)) {
        compile_options_.devices = devices == "virtual" ? "sim" : devices;
        Result<CompiledGraph> compiled = runtime_->compile(chain(), compile_options_);
        EXPECT_TRUE(compiled.ok()) << compiled.error().message();
        compiled_ = *std::move(compiled);
        request_ = *compiled_->make_request();
    }
    Status run() {
        Status status = request_->bind("x", {kRows, kColumns}, std::span<const float>(x_));
        return status.ok() ? request_->run() : status;
    }
    bool is_right() const {
        const std::span<const float> y = request_->get<float>("y");
        for (size_t i = 0; i < x_.size(); ++i) {
            const float once = std::max(x_[i] * 2 + 1, 0.0F);
            if (y[i] != std::max(once * 2 + 1, 0.0F)) {
                return false;
            }
        }
        return y.size() == x_.size();
    }
    Status make_request() const { return compiled_->make_request().error(); }
    Status compile() const { return runtime_->compile(chain(), compile_options_).error(); }
    Status unload() const { return runtime_->unload_backend("sim"); }
    const HostInfo& host() const { return runtime_->host(); }
    void destroy() {
        request_.reset();
        compiled_.reset();
        runtime_.reset();
    }

  private:
    static std::vector<float> ramp() {
        std::vector<float> x(size_t(kRows * kColumns));
        for (size_t i = 0; i < x.size(); ++i) {
            x[i] = float(int(i % 101) - 50) * 0.25F;
        }
        return x;
    }
    std::optional<Runtime> runtime_;
    CompileOptions compile_options_;
    std::optional<CompiledGraph> compiled_;
    std::optional<Request> request_;
    std::vector<float> x_ = ramp();
};

TEST_F(RuntimeFork, AChildRunsCompilesAndDestroysWhatItInherited) {
    Session session("cpu");
    for (int round = 0; round < 20; ++round) {
        ASSERT_TRUE(session.run().ok());
    }
    const auto child = [&] {
        for (int round = 0; round < 20; ++round) {
            if (!session.run().ok()) {
                return int(kRun);
            }
        }
        if (!session.is_right()) {
            return int(kResult);
        }
        if (!session.make_request().ok() || !session.compile().ok()) {
            return int(kCompile);
        }
        if (session.host().threads != 1 ||
            session.host().pinning_note.find("fork()") == std::string::npos) {
            return int(kReport);
        }
        session.destroy();
        return int(kNone);
    };
    wait_until_others_sleep();
    EXPECT_EQ(in_child(child), "0");
    EXPECT_EQ(session.host().threads, 2);
    EXPECT_TRUE(session.run().ok());
}

// The device's threads are the parent's. A Runtime of the child has a device of its own.
int use_device(Session& session, const std::string& devices) {
    for (const Status& status :
         {session.run(), session.make_request(), session.compile(), session.unload()}) {
        if (status.code() != StatusCode::kDeviceLost ||
            status.message().find("fork()") == std::string::npos) {
            return kNoError;
        }
    }
    session.destroy();
    Session own(devices);
    return own.run().ok() && own.is_right() ? kNone : kNewRuntime;
}

TEST_F(RuntimeFork, AChildLearnsThatADeviceIsItsParents) {
    for (const std::string devices : {"sim", "virtual"}) {
        Session session(devices);
        for (int round = 0; round < 3; ++round) {
            const Status status = session.run();
            ASSERT_TRUE(status.ok()) << status.message();
        }
        wait_until_others_sleep();
        EXPECT_EQ(in_child([&] { return use_device(session, devices); }), "0") << devices;
        EXPECT_TRUE(session.run().ok());
        EXPECT_TRUE(session.is_right());
    }
}

}  // namespace
}  // namespace leat
