#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/initiator.hpp>
#include <millpond/engine/replica_server.hpp>
#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/value.hpp>

#include "bench/harness/timing.hpp"

namespace millpond::bench {

/// Writes the body of a NewOrderSingle with this id.
inline void write_order(fix::Writer& writer, std::uint64_t id, std::int64_t utc_ns) {
    writer.add<11>(id).add<21>('1').add<38>(100).add<40>('2').add<44>(fix::Decimal{10'125, 2}).add<54>('1');
    writer.add<55>("MILL").add<59>('0').add_timestamp(60, utc_ns, fix::TimePrecision::millis);
}

/// Answers each order with an ExecutionReport.
class ReportingHouse final : public engine::Application {
public:
    fix::Verdict on_message(engine::SessionLink& link, const fix::Message& order) override {
        const auto id = order.text(11).value_or("");
        const bool sent = link.send("8", [&](fix::Writer& writer) {
            writer.add<37>(id).add<11>(id).add<17>(id).add<150>('0').add<39>('0');
            writer.add<38>(order.integer(38).value_or(0)).add<44>(order.decimal(44).value_or(fix::Decimal{}));
            writer.add<54>(order.character(54).value_or('1')).add<55>(order.text(55).value_or(""));
            writer.add<60>(order.text(60).value_or("")).add<151>(100).add<14>(0).add<6>(0);
        });
        return sent ? fix::Verdict::accepted : fix::Verdict::application_not_available;
    }
};

/// Keeps the id of the last report.
class OrderingDesk final : public engine::Application {
public:
    fix::Verdict on_message(engine::SessionLink&, const fix::Message& report) override {
        last_id = report.unsigned_integer(11).value_or(0);
        return fix::Verdict::accepted;
    }
    void on_logon(engine::SessionLink& session) override { link = &session; }
    std::uint64_t last_id{0};
    engine::SessionLink* link{nullptr};
};

/// Full sessions on both sides: the desk on the measuring thread, the house on its own I/O thread. A standby of the
/// house has a third thread, on the desk's processor.
class SessionPath {
public:
    SessionPath(core::Poll poll, bool in_files, std::optional<engine::StandbyMode> standby = {})
        : folder_(std::filesystem::temp_directory_path() / ("millpond_round_trip_" + std::to_string(::getpid()))),
          here_({.poll = poll}),
          there_({.poll = poll}) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        auto house = options("HOUSE", "DESK", in_files);
        if (standby) house.standby = start_standby(*standby, house);
        house_session_ = &acceptor_.add(house, house_);
        initiator_.add(options("DESK", "HOUSE", in_files), {.hosts = {{"127.0.0.1", acceptor_.port()}}}, desk_);
        there_.start();
        there_.call([] { run_on(two_cores().second); });
        const auto end = core::monotonic_nanos() + 10'000'000'000;
        while (desk_.link == nullptr) {
            if (core::monotonic_nanos() > end) throw std::runtime_error("no logon");
            here_.poll(std::chrono::milliseconds{1});
        }
    }
    SessionPath(const SessionPath&) = delete;
    SessionPath& operator=(const SessionPath&) = delete;
    ~SessionPath() {
        there_.stop();
        if (replicas_) standby_.stop();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    std::uint64_t round_trip(std::uint64_t id) {
        const bool sent =
            desk_.link->send("D", [&](fix::Writer& writer) { write_order(writer, id, core::utc_nanos()); });
        if (!sent) throw std::runtime_error("an order was refused");
        while (desk_.last_id != id) here_.poll(std::chrono::milliseconds{1'000});
        return desk_.last_id;
    }
    /// Sends `count` orders, with up to `window` unanswered. Returns the last id.
    std::uint64_t round_trips(std::uint64_t first_id, std::size_t count, std::size_t window) {
        desk_.last_id = first_id - 1;
        const auto end = first_id + count;
        for (auto next = first_id; desk_.last_id + 1 != end;) {
            for (; next != end && next - desk_.last_id <= window; ++next) {
                const bool sent =
                    desk_.link->send("D", [&](fix::Writer& writer) { write_order(writer, next, core::utc_nanos()); });
                if (!sent) throw std::runtime_error("an order was refused");
            }
            here_.poll(std::chrono::milliseconds{1'000});
        }
        return desk_.last_id;
    }
    /// True if the standby was never lost and has everything that the house has sent, or if there is no standby.
    [[nodiscard]] bool standby_has_all() {
        if (!replicas_) return true;
        const auto end = core::monotonic_nanos() + 10'000'000'000;
        while (core::monotonic_nanos() < end) {
            const auto status = house_session_->status();
            if (status.standby.losses != 0) return false;
            if (replicas_->replicas().at(0).next_sender == status.next_sender) return true;
            here_.poll(std::chrono::milliseconds{1});
        }
        return false;
    }

private:
    [[nodiscard]] engine::StandbyOptions start_standby(engine::StandbyMode mode, engine::SessionOptions held) {
        replicas_ = std::make_unique<engine::ReplicaServer>(standby_, engine::ReplicaServer::Options{});
        held.store.file = folder_ / "standby";
        if (!replicas_->add(held)) throw std::runtime_error("no standby");
        standby_.start();
        standby_.call([] { run_on(two_cores().first); });
        return {.host = {"127.0.0.1", replicas_->port()}, .mode = mode};
    }
    [[nodiscard]] engine::SessionOptions options(std::string sender, std::string target, bool in_files) const {
        engine::SessionOptions made{.config = {.sender_comp_id = std::move(sender), .target_comp_id = target},
                                    .dictionary = &dictionary_,
                                    .store = {.bytes = 16U << 20U}};
        if (in_files) made.store.file = folder_ / target;
        return made;
    }

    std::filesystem::path folder_;
    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    ReportingHouse house_;
    OrderingDesk desk_;
    engine::IoThread here_;
    engine::IoThread there_;
    engine::IoThread standby_{{.poll = core::Poll::block}};
    std::unique_ptr<engine::ReplicaServer> replicas_;
    engine::SessionHandle* house_session_{nullptr};
    engine::Acceptor acceptor_{there_, {}};
    engine::Initiator initiator_{here_};
};

}  // namespace millpond::bench
