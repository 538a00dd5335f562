#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include <sched.h>
#include <sys/socket.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/fix/writer.hpp>

#include "bench/engine/session_path.hpp"
#include "bench/gateway/tcp_socket.hpp"
#include "bench/harness/timing.hpp"

namespace millpond::bench {

/// HOUSE for one connection of RawDesk, on a bare socket: the minimum that a peer must do. It reads only the ClOrdID of
/// an order, of seven characters, copies it into a finished report and corrects the CheckSum.
template <bool kSpins>
class BareHouse {
public:
    BareHouse() : thread_([this] { serve(); }) {}
    BareHouse(const BareHouse&) = delete;
    BareHouse& operator=(const BareHouse&) = delete;
    /// True after the client has closed its connection.
    ~BareHouse() { thread_.join(); }

    [[nodiscard]] int port() const { return listener_.port(); }

private:
    static constexpr std::string_view kTypeTag =
        "\x01"
        "35=";
    static constexpr std::string_view kIdTag =
        "\x01"
        "11=";
    static constexpr std::string_view kId = "0000000";
    static constexpr std::size_t kTrailerBytes = 7;

    void serve() {
        run_on(two_cores().second);
        const auto client = listener_.accept_one();
        const auto logon = message("A", [](fix::Writer& writer) { writer.add<98>('0').add<108>(30); });
        auto report = message("8", [](fix::Writer& writer) {
            writer.add<37>(kId).add<11>(kId).add<17>(kId).add<150>('0').add<39>('0');
            writer.add<38>(100).add<44>(fix::Decimal{10'125, 2}).add<54>('1').add<55>("MILL");
            writer.add_timestamp(60, core::utc_nanos(), fix::TimePrecision::millis).add<151>(100).add<14>(0).add<6>(0);
        });
        const auto places = places_in(report);
        const auto sum_without_id = sum_of(report.substr(0, report.size() - kTrailerBytes)) - 3 * sum_of(kId);
        for (auto text = read(client); !text.empty(); text = read(client)) {
            const auto type = behind(text, kTypeTag).front();
            if (type == '5') return;
            if (type == 'A') {
                client.write(logon);
                continue;
            }
            const auto id = behind(text, kIdTag).substr(0, kId.size());
            for (const auto at : places) id.copy(report.data() + at, id.size());
            const auto sum = (sum_without_id + 3 * sum_of(id)) % 256;
            auto* const digits = report.data() + report.size() - 4;
            digits[0] = static_cast<char>('0' + sum / 100);
            digits[1] = static_cast<char>('0' + sum / 10 % 10);
            digits[2] = static_cast<char>('0' + sum % 10);
            client.write(report);
        }
    }

    [[nodiscard]] static std::string_view behind(std::string_view text, std::string_view tag) {
        return text.substr(text.find(tag) + tag.size());
    }

    /// The next message, which is the only one in the socket; empty at the end.
    [[nodiscard]] std::string_view read(const TcpSocket& client) {
        std::size_t have = 0;
        for (std::uint32_t spins = 0;;) {
            const auto got =
                ::recv(client.descriptor(), buffer_.data() + have, buffer_.size() - have, kSpins ? MSG_DONTWAIT : 0);
            if (got == 0) return {};
            if (got > 0) {
                have += static_cast<std::size_t>(got);
                const std::string_view text{buffer_.data(), have};
                if (have > kTrailerBytes && text.substr(have - kTrailerBytes, 3) == "10=") return text;
                continue;
            }
            core::cpu_relax();
            if (++spins % 20'000 == 0) sched_yield();
        }
    }

    template <class Body>
    [[nodiscard]] static std::string message(std::string_view type, Body body) {
        std::array<char, 512> buffer;
        fix::Writer writer{buffer, "FIX.4.4"};
        writer.add<35>(type).add<34>(1).add<49>("HOUSE");
        writer.add_timestamp(52, core::utc_nanos(), fix::TimePrecision::millis).add<56>("DESK");
        body(writer);
        return std::string{writer.finish().value()};
    }
    [[nodiscard]] static std::array<std::size_t, 3> places_in(std::string_view report) {
        std::array<std::size_t, 3> places{};
        for (std::size_t i = 0, from = 0; i < places.size(); ++i, from = places[i - 1] + 1) {
            places[i] = report.find(kId, from);
        }
        return places;
    }
    [[nodiscard]] static unsigned sum_of(std::string_view bytes) {
        unsigned sum = 0;
        for (const auto byte : bytes) sum += static_cast<unsigned char>(byte);
        return sum;
    }

    TcpListener listener_;
    std::array<char, 4096> buffer_{};
    std::thread thread_;
};

}  // namespace millpond::bench
