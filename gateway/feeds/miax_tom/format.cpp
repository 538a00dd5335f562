#include <fmt/format.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/product_names.hpp>

#include "gateway/feeds/format_of.hpp"
#include "gateway/feeds/miax_tom/settings.hpp"
#include "service/config_error.hpp"
#include "service/regular_file.hpp"

namespace millpond::gateway::miax_tom {
namespace {

constexpr settings::Key<Settings> kKeys[] = {
    settings::KeyOf<Settings>::file<&Settings::symbols>("symbols", "miax-tom: file with lines 'product id,symbol'."),
};

feed::ProductNames names_of(const std::string& path) {
    if (path.empty()) return {};
    const auto text = [&] {
        try {
            return service::read_regular_file(path).text;
        } catch (const std::runtime_error& error) {
            throw std::runtime_error(fmt::format("cannot read '{}': {}", path, error.what()));
        }
    }();
    try {
        return feed::ProductNames::parse(text);
    } catch (const std::invalid_argument& error) {
        throw std::runtime_error(fmt::format("'{}': {}", path, error.what()));
    }
}

class Format final : public FeedFormatOf<Settings, feed::MiaxTomDecoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "miax-tom"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    void check(const Settings& settings) const override { static_cast<void>(names_of(settings.symbols)); }
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const Settings& settings,
                                             const FeedHost& host) const override {
        feed::MiaxTomDecoder::Options options;
        set_venue(options, feed);
        options.names = names_of(settings.symbols);
        return std::make_unique<OpenFeed>(feed, FeedOptions{}, host.instruments, options);
    }
};

}  // namespace

const FeedFormat& Settings::format() noexcept {
    static const Format format;
    return format;
}

}  // namespace millpond::gateway::miax_tom
