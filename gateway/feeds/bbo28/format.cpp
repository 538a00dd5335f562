#include <memory>
#include <string_view>

#include <millpond/feed/bbo28_decoder.hpp>

#include "gateway/feeds/bbo28/settings.hpp"
#include "gateway/feeds/format_of.hpp"

namespace millpond::gateway::bbo28 {
namespace {

class Format final : public FeedFormatOf<Settings, feed::Bbo28Decoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "bbo28"; }

protected:
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const Settings&,
                                             const FeedHost& host) const override {
        feed::Bbo28Decoder::Options options;
        set_venue(options, feed);
        return std::make_unique<OpenFeed>(feed, FeedOptions{}, host.instruments, options);
    }
};

}  // namespace

const FeedFormat& Settings::format() noexcept {
    static const Format format;
    return format;
}

}  // namespace millpond::gateway::bbo28
