#include "graph/plugin_attribute.h"

#include <variant>

#include "leat/plugin_backend.h"

namespace leat {
namespace {

class RowWriter {
  public:
    RowWriter(LeatAttributeView& row, std::vector<const char*>& texts) : row_(row), texts_(texts) {}

    void operator()(const int64_t& number) const { set_ints(&number, 1); }
    void operator()(const float& real) const { set_floats(&real, 1); }
    void operator()(const std::string& text) const {
        texts_.assign(1, text.c_str());
        set_texts();
    }
    void operator()(const Tensor& /*tensor*/) const {
        row_.kind = kLeatAttributeTensor;
        row_.count = 1;
    }
    void operator()(const Graph& /*body*/) const {}  // has another list
    void operator()(const std::vector<int64_t>& numbers) const {
        row_.is_list = 1;
        set_ints(numbers.data(), numbers.size());
    }
    void operator()(const std::vector<float>& reals) const {
        row_.is_list = 1;
        set_floats(reals.data(), reals.size());
    }
    void operator()(const std::vector<std::string>& texts) const {
        row_.is_list = 1;
        texts_.clear();
        texts_.reserve(texts.size());
        for (const std::string& text : texts) {
            texts_.push_back(text.c_str());
        }
        set_texts();
    }

  private:
    void set_ints(const int64_t* ints, size_t count) const {
        row_.kind = kLeatAttributeInts;
        row_.count = int64_t(count);
        row_.ints = ints;
    }
    void set_floats(const float* floats, size_t count) const {
        row_.kind = kLeatAttributeFloats;
        row_.count = int64_t(count);
        row_.floats = floats;
    }
    void set_texts() const {
        row_.kind = kLeatAttributeStrings;
        row_.count = int64_t(texts_.size());
        row_.strings = texts_.data();
    }

    LeatAttributeView& row_;
    std::vector<const char*>& texts_;
};

}  // namespace

LeatAttributeView plugin_attribute(const std::string& name,
                                   const AttributeValue& value,
                                   std::vector<const char*>& texts) {
    auto row = plugin::made<LeatAttributeView>();
    row.name = name.c_str();
    std::visit(RowWriter(row, texts), value);
    return row;
}

}  // namespace leat
