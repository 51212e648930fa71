#include "parameters.h"

#include <fmt/core.h>

#include <charconv>
#include <string>

#include "suggestion.h"

namespace leat::zoo {
namespace {

std::vector<std::string_view> names_of(const NetworkInfo& network) {
    std::vector<std::string_view> names;
    for (const ParameterInfo& parameter : network.parameters) {
        names.push_back(parameter.name);
    }
    return names;
}

}  // namespace

Parameters::Parameters(const NetworkInfo& network) : network_(&network) {
    for (const ParameterInfo& parameter : network.parameters) {
        values_.push_back(parameter.default_value);
    }
}

int64_t Parameters::operator[](std::string_view name) const {
    for (size_t i = 0; i < values_.size(); ++i) {
        if (network_->parameters[i].name == name) {
            return values_[i];
        }
    }
    return 0;
}

DimSpec Parameters::batch() const {
    const int64_t batch = (*this)["batch"];
    return batch == 0 ? DimSpec("batch") : DimSpec(batch);
}

Status Parameters::set(std::string_view assignment) {
    size_t equals = assignment.find('=');
    std::string_view name = assignment.substr(0, equals);
    size_t index = 0;
    while (index < values_.size() && network_->parameters[index].name != name) {
        ++index;
    }
    if (index == values_.size()) {
        std::vector<std::string_view> names = names_of(*network_);
        return Status(StatusCode::kNotFound,
                      fmt::format("network '{}' has no parameter '{}'{} It has: {}", network_->name,
                                  name, did_you_mean(name, names), comma_list(names)));
    }
    const ParameterInfo& info = network_->parameters[index];
    std::string_view digits =
        equals == std::string_view::npos ? std::string_view() : assignment.substr(equals + 1);
    int64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    bool is_number = error == std::errc() && end == digits.data() + digits.size();
    if (!is_number || value < info.min_value || value > info.max_value) {
        return Status(
            StatusCode::kInvalidArgument,
            fmt::format("network '{}': {} is '{}'; needed: a whole number from {} to {} ({})",
                        network_->name, name, digits, info.min_value, info.max_value,
                        info.meaning));
    }
    values_[index] = value;
    return Status();
}

Result<Parameters> Parameters::parse(const NetworkInfo& network, std::string_view text) {
    Parameters parameters(network);
    while (!text.empty()) {
        size_t comma = text.find_first_of(",&");
        if (Status status = parameters.set(text.substr(0, comma)); !status.ok()) {
            return status;
        }
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    return parameters;
}

}  // namespace leat::zoo
