#include "gateway/sinks/kafka/kafka_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/core/pinning.hpp>
#include <millpond/core/start_thread.hpp>
#include <millpond/core/thread_name.hpp>

#include "gateway/sinks/sink_idle.hpp"

namespace millpond::gateway::kafka {
namespace {

constexpr std::size_t kRecordsPerRound = 1'024;
constexpr std::int64_t kSaveEveryNs = 100'000'000;
constexpr std::chrono::milliseconds kFirstPause{250};
constexpr std::chrono::milliseconds kLongestPause{30'000};
constexpr std::chrono::milliseconds kTick{50};
constexpr std::size_t kUsualBatch = 10'000;  // librdkafka's batch.num.messages
constexpr std::size_t kSmallerBatch = 4;

}  // namespace

bool is_built() noexcept { return true; }

void check_position_file(const std::filesystem::path& path, mode_t file_mode) {
    static_cast<void>(PositionFile{path, file_mode});
}

std::unique_ptr<Consumer> open(const Options& options, service::Say say) {
    return std::make_unique<KafkaSink>(options, std::move(say));
}

KafkaSink::KafkaSink(const Options& options, service::Say say)
    : options_(options),
      say_(std::move(say)),
      topic_(options.topic, TopicRules::kafka),
      position_(options.position_file, options.file_mode),
      reader_(options.journal),
      start_(position_.record()),
      settled_(start_),
      pause_(kFirstPause) {
    if (const auto newest = options_.newest_record->read(); start_ > newest) {
        say_(service::Severity::warning, options_.name + ".position",
             fmt::format("kafka sink '{}': its position {} is behind the journal's end {}: the journal was replaced or "
                         "lost its end with the machine; continues at {}",
                         options_.name, start_, newest, newest + 1));
        start_ = settled_ = newest;
    }
    if (start_ == 0) {  // never before: from the oldest record on
        reader_.seek(1);
        start_ = settled_ = reader_.next_record() - 1;
    }
    go_to_position();
    begin();
    counters_.position.set(settled_);
    publish_account();
}

KafkaSink::~KafkaSink() { stop(); }

void KafkaSink::start() {
    const auto prepare = [this] {
        core::name_this_thread(options_.name);
        try {
            if (options_.pin) core::pin_this_thread(static_cast<int>(*options_.pin));
        } catch (const std::exception& error) {
            throw std::runtime_error(fmt::format("sink '{}': {}", options_.name, error.what()));
        }
        ask_for_short_sleeps();
    };
    core::start_thread(thread_, prepare, [this](const std::stop_token& stop) { run(stop); });
}

void KafkaSink::stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void KafkaSink::run(const std::stop_token& stop) try {
    core::Idle idle{core::Poll::adaptive, idle_limits(core::Poll::adaptive)};
    std::int64_t worked_ns = 0;
    while (!stop.stop_requested()) {
        const auto read = round();
        if (!failure_.empty()) {
            restart();
            const auto until = core::monotonic_nanos() + std::chrono::nanoseconds{pause_}.count();
            while (!stop.stop_requested() && core::monotonic_nanos() < until) std::this_thread::sleep_for(kTick);
            pause_ = std::min(pause_ * 2, kLongestPause);
            continue;
        }
        const auto now = core::monotonic_nanos();
        save_position(now, false);
        publish_account();
        if (read != 0) {
            idle.worked();
            worked_ns = now;
        } else if (now - worked_ns > kSilenceNs || pending_.size() >= options_.window) {
            producer_->poll(kLongSleep);  // returns at the first report
        } else {
            idle.rest();
        }
    }
    finish();
} catch (const std::exception& error) {
    ended_.store(true, std::memory_order_relaxed);
    say_(service::Severity::error, options_.name + ".ended",
         fmt::format("sink '{}' has stopped: {}", options_.name, error.what()));
}

std::size_t KafkaSink::round() {
    if (!producer_) {
        try {
            begin();
        } catch (const std::invalid_argument& error) {  // files that its settings name may be gone for a while
            failure_ = error.what();
            return 0;
        }
    }
    producer_->poll(std::chrono::milliseconds{0});
    std::size_t read = 0;
    if (gone_) on(*std::exchange(gone_, std::nullopt));
    if (failure_.empty() && pending_.size() < options_.window) {
        // One at a time, so that nothing is read after a message that is refused.
        const auto most = std::min(kRecordsPerRound, options_.window - pending_.size());
        while (read < most && failure_.empty() && reader_.poll(*this, 1) == 1) ++read;
        for (const auto& segment : reader_.take_faults()) {
            say_(service::Severity::error, options_.name + ".journal",
                 fmt::format("kafka sink '{}': journal segment {}", options_.name, segment));
        }
    }
    settle();
    return read;
}

void KafkaSink::begin() {
    producer_ = std::make_unique<Producer>(options_, *this);
    events_ = producer_->topic(options_.events_topic);
    instruments_.clear();
}

void KafkaSink::go_to_position() {
    missed_ = settled_missed_;
    reader_.seek(settled_ + 1);
    gone_.reset();
    if (const auto next = reader_.next_record(); next > settled_ + 1) {  // removed since
        gone_ = {.first = settled_ + 1,
                 .last = next - 1,
                 .reason = millpond::journal::LostReason::removed,
                 .utc_ns = core::utc_nanos()};
    }
}

void KafkaSink::restart() {
    if (producer_ && producer_->batch_was_too_large() && options_.batch != 1) {
        const auto refused = std::min(options_.batch.value_or(kUsualBatch), pending_.size());
        options_.batch = std::max<std::size_t>(1, refused / kSmallerBatch);
        failure_ += fmt::format("; batches have at most {} messages now", *options_.batch);
        pause_ = kFirstPause;
    }
    say_(service::Severity::error, options_.name + ".failed",
         fmt::format("kafka sink '{}': {}; restarts after record {}", options_.name, failure_, settled_));
    // Reports of the old producer concern messages that will be sent again.
    first_pending_ += pending_.size();
    pending_.clear();
    pending_losses_ = 0;
    producer_.reset();
    failure_.clear();
    go_to_position();
    counters_.restarts.add();
    counters_.in_flight.set(0);
    publish_account();
}

void KafkaSink::finish() {
    const auto until = core::monotonic_nanos() + kLastPatienceNs;
    auto moved = core::monotonic_nanos();
    auto queued = account().queued;
    while (failure_.empty()) {
        const auto read = round();
        const auto now = core::monotonic_nanos();
        publish_account();
        if (const auto left = account().queued; left != queued) {
            queued = left;
            moved = now;
        }
        if (queued == 0 || now >= until || now - moved >= kStandstillNs) break;
        if (read == 0 && producer_) producer_->poll(kLongSleep);
    }
    save_position(0, true);
    producer_.reset();
}

void KafkaSink::delivered(std::uint64_t number, std::size_t bytes) {
    if (number < first_pending_) return;
    pending_[number - first_pending_].delivered = true;
    counters_.messages.add();
    counters_.bytes.add(bytes);
    pause_ = kFirstPause;
}

void KafkaSink::failed(std::uint64_t number, const std::string& reason) {
    if (number < first_pending_) return;
    counters_.failures.add();
    if (failure_.empty()) failure_ = "a message was refused: " + reason;
}

void KafkaSink::error(const std::string& text) {
    counters_.errors.add();
    say_(service::Severity::warning, options_.name + ".broker",
         fmt::format("kafka sink '{}': {}", options_.name, text));
}

void KafkaSink::settle() {
    for (; !pending_.empty() && pending_.front().delivered; pending_.pop_front(), ++first_pending_) {
        const auto& message = pending_.front();
        settled_ = message.record;
        settled_missed_ = message.missed;
        if (message.counts) {
            ++settled_count_;
        } else {
            --pending_losses_;
        }
    }
    // Names after the last message need no delivery.
    if (pending_.empty() && reader_.next_record() != 0) settled_ = std::max(settled_, reader_.next_record() - 1);
    counters_.position.set(settled_);
    counters_.in_flight.set(pending_.size());
}

void KafkaSink::save_position(std::int64_t now_ns, bool at_once) {
    if (settled_ == position_.record() || (!at_once && now_ns - saved_ns_ < kSaveEveryNs)) return;
    saved_ns_ = now_ns;
    try {
        position_.save(settled_);
    } catch (const std::exception& error) {  // a full disk: more is sent again after a restart
        say_(service::Severity::error, options_.name + ".save",
             fmt::format("kafka sink '{}': {}; retrying", options_.name, error.what()));
    }
}

void KafkaSink::publish_account() {
    const auto next = std::max(reader_.next_record(), settled_ + 1);
    const auto newest = std::max(options_.newest_record->read(), next - 1);
    const auto counted = pending_.size() - pending_losses_;
    const auto read = next - 1 - start_;
    account_.write({.published = newest - start_,
                    .delivered = settled_count_,
                    .filtered = read - settled_count_ - counted - missed_,
                    .missed = missed_,
                    .queued = newest - (next - 1) + counted});
}

}  // namespace millpond::gateway::kafka
