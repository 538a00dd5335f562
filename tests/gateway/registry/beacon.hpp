#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/tally.hpp>

#include "gateway/sinks/kind_of.hpp"
#include "gateway/sinks/ring_sink.hpp"
#include "service/token.hpp"

/// A kind of sink that no folder of the gateway knows: all that a new kind needs.
namespace millpond::gateway::beacon {

struct Settings : SinkBasics {
    std::string place;
    std::uint64_t bursts{7};
    service::TokenSource password;
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

class Beacon final : public Sink {
public:
    /// A flash cannot fail: an event is delivered when it is taken, and nothing is held.
    [[nodiscard]] std::size_t room() const noexcept override { return 1'000; }
    [[nodiscard]] Delivery mode() const noexcept override { return Delivery::every; }
    void name(feed::InstrumentId, const feed::Venue&, const feed::Symbol&) override {}
    void board(const feed::Quote&, std::uint64_t) override {}
    void board(const feed::Status&, std::uint64_t) override {}
    Taken on(const feed::Quote&, std::uint64_t) override {
        flashes_.add();
        return Taken::kept;
    }
    Taken on(const feed::Trade&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::TradeBreak&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::Status&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::Gap&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::Clear&, std::uint64_t) override { return Taken::filtered; }
    void missed(std::uint64_t, std::uint64_t) override {}
    void step(std::int64_t) override {}
    void finish() override {}
    [[nodiscard]] std::uint64_t held() const noexcept override { return 0; }
    [[nodiscard]] std::string_view type() const noexcept override { return "beacon"; }
    void visit_metrics(const MetricVisitor& visit) const override { visit("flashes_total", "Flashes.", flashes_); }

private:
    core::Tally flashes_;
};

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "beacon"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "a light that flashes for each quote"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override {
        using K = settings::KeyOf<Settings>;
        using Keys = SinkKeys<Settings>;
        static constexpr settings::Key<Settings> kKeys[] = {
            Keys::kName,
            Keys::kRing,
            K::text<&Settings::place>("place", "TEXT", "Where the light is."),
            K::integer<&Settings::bursts, 1, 9>("bursts", "N", "Flashes for each quote."),
            K::text<[](auto& s) -> auto& { return s.password.file; }>("password_file", "FILE",
                                                                      "File with the password of the light."),
            Keys::kPoll,
            Keys::kPin,
        };
        return kKeys;
    }
    void complete(Settings& settings, const SinkContext& context) const override {
        if (settings.place.empty()) throw settings::ConfigError(context.user + ": key 'place' is missing");
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        return {{.name = settings.place, .claim = "light " + settings.place}};
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        static_cast<void>(service::read_secret(settings.password, "password"));
        return prepare_ring_sink({.basics = settings}, [](const SinkHost&) { return std::make_unique<Beacon>(); });
    }
};

inline const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

/// The array that a program with this kind passes.
inline std::span<const SinkKind* const> kinds() {
    static const SinkKind* const all[] = {&Settings::kind()};
    return all;
}

}  // namespace millpond::gateway::beacon
