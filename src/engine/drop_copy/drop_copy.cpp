#include <millpond/engine/drop_copy.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <millpond/fix/msg_type.hpp>

#include "src/engine/drop_copy/drop_copy_pump.hpp"
#include "src/engine/io/io_loop.hpp"

namespace millpond::engine {

DropCopy::DropCopy(Options options) : options_(std::move(options)) {
    adopt_files();
    const auto there = is_in_file() ? CopyQueue::numbers(options_.file) : std::vector<std::size_t>{};
    auto number = there.empty() ? 0 : there.back();
    for (std::size_t i = 0; i < options_.producers; ++i) {
        producers_.push_back(std::make_unique<Producer>());
        producers_.back()->queue = is_in_file()
                                       ? std::make_unique<CopyQueue>(CopyQueue::numbered(options_.file, ++number),
                                                                     options_.queue_bytes, options_.file_mode)
                                       : std::make_unique<CopyQueue>(options_.queue_bytes);
    }
}

DropCopy::~DropCopy() { detach(); }

/// Opens the files that no other process, and no other drop copy of this process, uses.
void DropCopy::adopt_files() {
    if (!is_in_file()) return;
    std::vector<std::string> unusable;
    for (const auto number : CopyQueue::numbers(options_.file)) {
        auto found = CopyQueue::left_in(CopyQueue::numbered(options_.file, number));
        if (!found) {
            unusable.push_back(found.error());
            continue;
        }
        if (*found == nullptr) continue;
        const auto& ring = (*found)->ring();
        recovered_.add(ring.records() + ring.left_out());
        counters_.not_encoded.add(ring.left_out());  // there is no pump that adds to it
        if (ring.records() == 0) continue;
        const std::lock_guard guard{left_lock_};
        left_.push_back(*std::move(found));
    }
    const std::lock_guard guard{left_lock_};
    unusable_ = std::move(unusable);
}

void DropCopy::forget_empty_files() noexcept {
    const std::lock_guard guard{left_lock_};
    std::erase_if(left_, [](const auto& left) { return left->ring().records() == 0; });
}

void DropCopy::discard() noexcept {
    detach();
    for (const auto& left : left_) left->discard();
    for (const auto& producer : producers_) producer->queue->discard();
}

void DropCopy::attach(SessionHandle& target, const Terms& terms) {
    detach();
    adopt_files();
    resets_seen_ = 0;  // counts of another store
    pump_ = std::make_unique<Pump>(*this, target, terms);
    slot_.store(pump_->slot(), std::memory_order_relaxed);
    io_.store(&pump_->io(), std::memory_order_release);  // sync "target known": wake
    wake();
}

void DropCopy::detach() noexcept {
    io_.store(nullptr, std::memory_order_release);
    pump_.reset();
    forget_empty_files();
}

/// The slot may already belong to another participant, which an extra signal does not harm.
void DropCopy::wake() noexcept {
    auto* const io = io_.load(std::memory_order_acquire);  // sync "target known": attach
    if (io != nullptr) io->loop().signal(slot_.load(std::memory_order_relaxed));
}

bool DropCopy::offer(std::size_t producer, Direction direction, fix::ApplicationVersion version,
                     std::string_view message) noexcept {
    auto& from = *producers_[producer];
    from.offered.add();
    const CopyHead head{.direction = direction, .version = version};
    auto* const place = from.queue->ring().claim(sizeof head + message.size());
    if (place == nullptr) {
        const bool is_long = sizeof head + message.size() > from.queue->ring().max_bytes();
        const bool is_stores = !is_long && store_is_full_.load(std::memory_order_relaxed);
        (is_stores ? from.store_full : from.queue_full).add();
        return false;
    }
    std::memcpy(place, &head, sizeof head);
    std::memcpy(place + sizeof head, message.data(), message.size());
    from.queue->ring().publish();
    wake();
    return true;
}

bool DropCopy::offer_sent(std::size_t producer, const fix::Session& source, std::string_view message) noexcept {
    auto version = usual_version(source);
    const auto type = fix::msg_type_of(message);
    for (const auto& one : source.config().logon_types) {
        if (one.sends && one.is_default && one.type == type) version = *one.version;
    }
    return offer(producer, Direction::out, version, message);
}

bool DropCopy::offer_received(std::size_t producer, const fix::Session& source, const fix::Message& message) noexcept {
    auto version = usual_version(source);
    if (source.config().version == fix::Version::fixt11) {
        version = source.application_versions().of(message).value_or(version);
    }
    return offer(producer, Direction::in, version, message.bytes());
}

DropCopy::Status DropCopy::status() const noexcept {
    Status status;
    status.mirrored = counters_.mirrored.read();
    status.not_encoded = counters_.not_encoded.read();
    status.wrong_version = counters_.wrong_version.read();
    status.abandoned = counters_.abandoned.read();
    status.discarded = counters_.discarded.read();
    status.overwritten = counters_.overwritten.read();
    status.recovered = recovered_.read();
    {
        const std::lock_guard guard{left_lock_};
        for (const auto& left : left_) status.waiting += left->ring().records();
        status.unusable = unusable_.size();
    }
    for (const auto& producer : producers_) {
        status.waiting += producer->queue->ring().records();
        status.queue_full += producer->queue_full.read();
        status.store_full += producer->store_full.read();
        status.offered += producer->offered.read();
    }
    return status;
}

std::vector<metrics::Registration> DropCopy::add_metrics(metrics::Registry& registry) const {
    std::vector<metrics::Registration> list;
    const metrics::Labels labels{{"drop_copy", options_.name}};
    const auto counter = [&](const char* metric, const char* help, std::uint64_t Status::* part) {
        list.push_back(
            registry.add_counter({metric, help, labels}, [this, part] { return static_cast<double>(status().*part); }));
    };
    counter("millpond_fix_drop_copy_offered_total", "Messages to mirror.", &Status::offered);
    counter("millpond_fix_drop_copy_recovered_total", "Copies that an earlier process left in its queues.",
            &Status::recovered);
    counter("millpond_fix_drop_copy_mirrored_total", "Copies with a number in the store of their session.",
            &Status::mirrored);
    const auto lost = [&](const char* reason, std::uint64_t Status::* part) {
        auto with = labels;
        with.emplace_back("reason", reason);
        list.push_back(registry.add_counter({"millpond_fix_drop_copy_lost_total", "Copies that were lost.", with},
                                            [this, part] { return static_cast<double>(status().*part); }));
    };
    lost("queue_full", &Status::queue_full);
    lost("store_full", &Status::store_full);
    lost("not_encoded", &Status::not_encoded);
    lost("wrong_version", &Status::wrong_version);
    lost("abandoned", &Status::abandoned);
    lost("discarded", &Status::discarded);
    lost("overwritten", &Status::overwritten);
    list.push_back(registry.add_gauge({"millpond_fix_drop_copy_waiting", "Copies that wait for a number.", labels},
                                      [this] { return static_cast<double>(status().waiting); }));
    list.push_back(registry.add_gauge(
        {"millpond_fix_drop_copy_unusable_files", "Queues of an earlier process that cannot be used.", labels},
        [this] { return static_cast<double>(status().unusable); }));
    return list;
}

}  // namespace millpond::engine
