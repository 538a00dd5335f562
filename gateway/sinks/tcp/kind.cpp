#include <fmt/format.h>

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/sinks/ring_sink.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/tcp/tcp_sink.hpp"

namespace millpond::gateway::tcp {
namespace {

constexpr auto kKeys = line_keys<Settings>();

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "tcp"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "JSON lines to TCP clients"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        return line_outputs(settings);
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        const auto make = [options = line_options<Options>(settings)](const SinkHost& host) {
            auto sink = std::make_unique<TcpSink>(options, host.say);
            host.say(service::Severity::info, options.name,
                     fmt::format("tcp sink '{}': listens on {}", options.name, sink->address().to_string()));
            return sink;
        };
        return prepare_ring_sink({.basics = static_cast<const SinkBasics&>(settings),
                                  .check = [settings] { check_listen_host(settings.listen); }},
                                 make);
    }
};

}  // namespace

const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::tcp
