// RecordedMachineTest: a fixture with a folder in place of /, for files of /proc and /sys.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace leat {

class RecordedMachineTest : public ::testing::Test {
  protected:
    void SetUp() override {
        char path[] = "/tmp/leat_machine_XXXXXX";
        ASSERT_NE(::mkdtemp(path), nullptr);
        root_ = path;
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    // `path` begins with "/".
    void write(const std::string& path, const std::string& text) {
        const std::filesystem::path file = root_ + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    std::string root_;
};

}  // namespace leat
