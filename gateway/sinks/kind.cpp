#include "gateway/sinks/kind.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "service/config_error.hpp"

namespace millpond::gateway {

std::string SinkConfig::title() const { return fmt::format("[[{}]] '{}'", kind_->name(), name()); }
std::string SinkConfig::user() const { return origin.prefix() + title(); }

std::unique_ptr<PreparedSink> SinkConfig::prepare() const {
    try {
        return kind_->prepare(settings_);
    } catch (const service::ConfigError& error) {
        throw service::ConfigError(fmt::format("{}: {}", user(), error.what()));
    }
}

}  // namespace millpond::gateway
