// SHA-256 against the examples that NIST publishes for FIPS 180-4.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "graphbench/sha256.h"

namespace leat::bench {
namespace {

std::string sha256(std::string_view text) {
    Sha256 sum;
    sum.add(text);
    return sum.hex();
}

TEST(Sha256, MatchesThePublishedExamples) {
    EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, MatchesTheMillionLettersExample) {
    EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesOfAnySizeGiveTheSameSum) {
    const std::string text(200, 'x');
    for (size_t step : {1U, 7U, 55U, 63U, 64U, 65U, 128U, 199U}) {
        Sha256 sum;
        for (size_t begin = 0; begin < text.size(); begin += step) {
            sum.add(std::string_view(text).substr(begin, step));
        }
        EXPECT_EQ(sum.hex(), sha256(text)) << step;
    }
}

TEST(Sha256, ReadsFilesAndReportsMissingOnes) {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / "graphbench_sha256_test";
    const std::string text(100'000, 'y');
    std::ofstream(file, std::ios::binary) << text;
    EXPECT_EQ(sha256_of_file(file).value(), sha256(text));
    std::filesystem::remove(file);
    EXPECT_EQ(sha256_of_file(file).error().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace leat::bench
