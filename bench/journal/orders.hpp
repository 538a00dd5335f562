#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include <millpond/feed/event.hpp>
#include <millpond/journal/checkpoint.hpp>
#include <millpond/journal/journal_writer.hpp>

#include "bench/journal/input.hpp"

namespace millpond::bench {

inline constexpr feed::InstrumentId kBooks = 2'000;
inline constexpr std::uint64_t kOrders = 520'000;
/// A time at which a checkpoint of a FilledJournal is due.
inline constexpr std::int64_t kDue = std::chrono::nanoseconds{std::chrono::hours{2}}.count();

/// The n-th order, or its end.
inline feed::Order order_of(std::uint64_t n, bool is_removed = false) {
    feed::Order order;
    order.instrument = static_cast<feed::InstrumentId>(n % kBooks);
    order.flags = feed::kLast;
    order.action = is_removed ? feed::OrderAction::remove : feed::OrderAction::add;
    order.side = n / kBooks % 2 == 0 ? feed::Side::bid : feed::Side::ask;
    order.order_id = n;
    const auto away = static_cast<feed::Price>(n * 7 / kBooks % 40) * 10'000'000;
    order.price = order.side == feed::Side::bid ? 100 * feed::kPriceScale - away : 101 * feed::kPriceScale + away;
    order.size = 100;
    order.size_left = is_removed ? 0 : 100;
    return order;
}

/// A journal with kOrders live orders, and no checkpoint.
class FilledJournal {
public:
    explicit FilledJournal(std::filesystem::path folder) : folder_(std::move(folder)) {
        std::filesystem::remove_all(folder_);
        writer_ = std::make_unique<journal::JournalWriter>(
            journal::WriterOptions{.folder = folder_,
                                   .ring = "bench",
                                   .segment_bytes = std::uint64_t{512} << 20U,
                                   .roll_after = std::chrono::nanoseconds{0},
                                   .sync = journal::Sync::none,
                                   .checkpoint_interval = std::chrono::hours{1}},
            1);
        writer_->set_epoch(1);
        writer_->keep_books();
        writer_->set_depth(0, {.orders = true});
        append(feed::Clear{});
        writer_->step(1);
        for (std::uint64_t n = 1; n <= kOrders; ++n) append(order_of(n));
    }
    template <class Event>
    void append(const Event& event) {
        ++ring_;
        while (!writer_->append(event, ring_)) static_cast<void>(writer_->service(1));
    }
    [[nodiscard]] journal::JournalWriter& writer() { return *writer_; }
    [[nodiscard]] bool has_checkpoint() const { return writer_->counters().checkpoints.read() != 0; }
    /// Orders in the checkpoint.
    [[nodiscard]] std::uint64_t orders() const {
        const auto origin = journal::find_books_before(folder_, UINT64_MAX);
        if (!origin || !origin->checkpoint) throw std::runtime_error("there is no checkpoint");
        return origin->checkpoint->orders;
    }

private:
    std::filesystem::path folder_;
    std::unique_ptr<journal::JournalWriter> writer_;
    std::uint64_t ring_{0};
};

}  // namespace millpond::bench
