// Files as memory: mapped, or copied so that what happens to the file does not matter.
#include "base/files/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "support/scratch_folder.h"

namespace leat {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

std::string text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

class MappedFiles : public ::testing::Test {
  protected:
    MappedFiles() { write_contents(file_, text_); }

    const ScratchFolder folder_;
    const fs::path file_ = folder_.path() / "file";
    const std::string text_ = std::string(100'000, 'x') + "the end";
};

TEST_F(MappedFiles, HaveTheBytesOfTheFileEitherWay) {
    for (const FileAccess access : {FileAccess::kMap, FileAccess::kCopy}) {
        const Result<MappedFile> file = MappedFile::open(file_, access);
        ASSERT_TRUE(file.ok()) << file.error().message();
        EXPECT_TRUE(text_of(*file) == text_);
        EXPECT_GT(file->modified_ns(), 0);
        EXPECT_TRUE(check_mapping(file->owner()).ok());
    }
}

TEST_F(MappedFiles, ACopyStaysAsItWas) {
    const MappedFile copy = *MappedFile::open(file_, FileAccess::kCopy);
    fs::resize_file(file_, 10);
    EXPECT_TRUE(check_mapping(copy.owner()).ok());
    EXPECT_TRUE(text_of(copy) == text_);
    fs::remove(file_);
    EXPECT_TRUE(text_of(copy) == text_);
}

// Its pages are nowhere else, so nobody may give them back.
TEST_F(MappedFiles, PagesOfACopyAreKept) {
    const MappedFile copy = *MappedFile::open(file_, FileAccess::kCopy);
    const Shape shape{int64_t(text_.size())};
    drop_source_pages(Tensor::view(DType::kUint8, shape, copy.bytes().data(), copy.owner()));
    EXPECT_TRUE(text_of(copy) == text_);
}

TEST_F(MappedFiles, AreNamedWhereTheyBecameShorter) {
    const MappedFile mapped = *MappedFile::open(file_);
    fs::resize_file(file_, 10);
    const Status status = check_mapping(mapped.owner());
    EXPECT_EQ(status.code(), StatusCode::kParse);
    EXPECT_THAT(status.message(), HasSubstr(file_.string()));
    EXPECT_THAT(status.message(), HasSubstr("found 10 bytes; needed 100007 bytes"));
    EXPECT_THAT(status.message(), HasSubstr("copies"));
    fs::resize_file(file_, 200'000);
    EXPECT_TRUE(check_mapping(mapped.owner()).ok());
}

TEST_F(MappedFiles, AreWholeWhereAnotherOneHasTheNameNow) {
    const MappedFile mapped = *MappedFile::open(file_);
    write_contents(folder_.path() / "other", "short");
    fs::rename(folder_.path() / "other", file_);
    EXPECT_TRUE(check_mapping(mapped.owner()).ok());
    EXPECT_TRUE(text_of(mapped) == text_);
    fs::remove(file_);
    EXPECT_TRUE(check_mapping(mapped.owner()).ok());
}

// A file of the kernel says a page and gives less: to who reads it, it became shorter.
TEST(MappedFileCopies, OfAFileThatBecomesShorterAreErrors) {
    const char* const file = "/sys/kernel/mm/transparent_hugepage/enabled";
    std::error_code error;
    if (fs::file_size(file, error) < 100 || error || contents_of(file).size() >= 100) {
        GTEST_SKIP() << "there is no such file here";
    }
    const Result<MappedFile> copy = MappedFile::open(file, FileAccess::kCopy);
    ASSERT_FALSE(copy.ok());
    EXPECT_EQ(copy.error().code(), StatusCode::kParse);
    EXPECT_THAT(copy.error().message(), HasSubstr("became shorter while it was read"));
    EXPECT_THAT(copy.error().message(), HasSubstr(file));
}

TEST_F(MappedFiles, OtherThingsAreErrorsEitherWay) {
    for (const FileAccess access : {FileAccess::kMap, FileAccess::kCopy}) {
        EXPECT_EQ(MappedFile::open(folder_.path() / "none", access).error().code(),
                  StatusCode::kNotFound);
        EXPECT_THAT(MappedFile::open(folder_.path(), access).error().message(),
                    HasSubstr("a folder"));
        EXPECT_EQ(MappedFile::open("/dev/zero", access).error().code(),
                  StatusCode::kInvalidArgument);
        write_contents(file_, "");
        EXPECT_TRUE(MappedFile::open(file_, access)->bytes().empty());
    }
}

}  // namespace
}  // namespace leat
