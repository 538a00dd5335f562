#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <millpond/core/tally.hpp>

#include "gateway/sinks/kind_of.hpp"
#include "gateway/sinks/ring_sink.hpp"
#include "service/config_error.hpp"
#include "service/token.hpp"

/// A kind of sink outside of the gateway's folders, with everything that a new kind needs.
namespace millpond::gateway::beacon {

struct Settings : SinkBasics {
    std::string place;
    std::uint64_t bursts{7};
    std::string password_file;
    friend bool operator==(const Settings&, const Settings&) = default;
    [[nodiscard]] static const SinkKind& kind() noexcept;
};

/// A sink with a light for each instrument, which is on while the instrument's newest quote is complete.
class Beacon final : public Sink {
public:
    explicit Beacon(std::uint64_t bursts) : bursts_(bursts) {}
    /// A large constant: events are delivered in on(), and none are held.
    [[nodiscard]] std::size_t available() const noexcept override { return 1'000; }
    [[nodiscard]] Delivery mode() const noexcept override { return Delivery::every; }
    void name(feed::InstrumentId, const feed::Venue&, const feed::Symbol&, unsigned) override {}
    void board(const feed::Quote& quote, std::uint64_t) override {
        lit_.erase(quote.instrument);
        if ((quote.flags & feed::kIncomplete) == 0) lit_[quote.instrument] = quote.channel;
    }
    void board(const feed::Status&, std::uint64_t) override {}
    Admission on(const feed::Quote& quote, std::uint64_t number) override {
        board(quote, number);
        flashes_.add(bursts_);
        return Admission::kept;
    }
    Admission on(const feed::Trade&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::TradeBreak&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::Status&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::Gap& gap, std::uint64_t) override { return turn_off(gap.channel, feed::kNoInstrument); }
    Admission on(const feed::Clear& clear, std::uint64_t) override { return turn_off(clear.channel, clear.instrument); }
    void missed(std::uint64_t, std::uint64_t) override { lit_.clear(); }
    void step(std::int64_t) override { lights_.set(lit_.size()); }
    void finish() override {}
    [[nodiscard]] std::uint64_t held() const noexcept override { return 0; }
    [[nodiscard]] std::string_view type() const noexcept override { return "beacon"; }
    void visit_metrics(const MetricVisitor& visit) const override {
        visit("flashes_total", "Flashes.", flashes_);
        visit("lights", "Lights that are on.", lights_);
    }
    [[nodiscard]] SinkHealth health() const noexcept override { return {}; }

private:
    Admission turn_off(std::uint16_t channel, feed::InstrumentId id) {
        const bool all = id == feed::kNoInstrument;
        std::erase_if(lit_, [&](const auto& one) { return one.second == channel && (all || one.first == id); });
        return Admission::kept;
    }
    std::uint64_t bursts_;
    std::map<feed::InstrumentId, std::uint16_t> lit_;  // lit instruments with their channels
    core::Tally flashes_, lights_;
};

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "beacon"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "a light that flashes for each quote"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override {
        using Keys = SinkKeys<Settings>;
        static constexpr settings::Key<Settings> kKeys[] = {
            Keys::kName, Keys::kRing, Keys::K::text<&Settings::place>("place", "TEXT", "Where the light is."),
            Keys::K::integer<&Settings::bursts, 1, 9>("bursts", "N", "Flashes for each quote."),
            Keys::K::text<&Settings::password_file>("password_file", "FILE", "File with the password of the light.")};
        return kKeys;
    }
    void complete(Settings& settings, const SinkContext& context) const override {
        if (settings.place.empty()) throw service::ConfigError(context.user + ": key 'place' is missing");
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        return {{.name = settings.place, .claim = "light " + settings.place}};
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        static_cast<void>(service::read_secret({settings.password_file, {}}, "password"));
        const auto make = [n = settings.bursts](const SinkHost&) { return std::make_unique<Beacon>(n); };
        return prepare_ring_sink({.basics = settings}, make);
    }
};

inline const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::beacon
