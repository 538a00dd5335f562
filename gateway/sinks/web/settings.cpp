#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/json_lines/json_lines_keys.hpp"
#include "gateway/sinks/ring_sink.hpp"
#include "gateway/sinks/web/settings.hpp"
#include "gateway/sinks/web/web_sink.hpp"
#include "service/listening.hpp"

namespace millpond::gateway::web {
namespace {

constexpr auto kKeys = json_lines_keys<Settings>();

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "web"; }
    [[nodiscard]] std::string_view summary() const noexcept override {
        return "the web page, and JSON lines to WebSocket clients";
    }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    void complete(Settings& settings, const SinkContext& context) const override {
        complete_replays(settings, context);
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        return json_lines_outputs(settings);
    }
    [[nodiscard]] std::string exposure(const Settings& settings) const override {
        return json_lines_exposure(settings);
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        const auto make = [settings, access = read_access(settings)](const SinkHost& host) {
            auto sink = std::make_unique<WebSink>(settings, access, host.pages, host.log, host.acts);
            host.log(service::Severity::info, settings.name,
                     fmt::format("web sink '{}': {}://{}/", settings.name, access.tls.on() ? "https" : "http",
                                 sink->address().to_string()));
            return sink;
        };
        return prepare_ring_sink({.basics = static_cast<const SinkBasics&>(settings),
                                  .check = [settings] { service::check_listen_host(settings.listen); }},
                                 make);
    }
};

}  // namespace

const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::web
