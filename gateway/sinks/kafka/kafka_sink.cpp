#include "gateway/sinks/kafka/kafka_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
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
constexpr std::chrono::milliseconds kMaxPause{30'000};
constexpr std::chrono::milliseconds kTick{50};
constexpr std::size_t kUsualBatch = 10'000;  // librdkafka's batch.num.messages
constexpr std::size_t kSmallerBatch = 4;
constexpr std::size_t kNamedRefusals = 100;
constexpr std::int64_t kStuckNs = 1'000'000'000;

std::optional<TopicTemplate> template_of(const std::string& topic) {
    return topic.empty() ? std::nullopt : std::optional{TopicTemplate{topic, TopicRules::kafka}};
}

}  // namespace

bool is_built() noexcept { return true; }

std::unique_ptr<Consumer> open(const Settings& settings, const JournalSource& journal, const std::string& password,
                               mode_t file_mode, service::LogFunction log) {
    return std::make_unique<KafkaSink>(settings, journal, password, file_mode, std::move(log));
}

KafkaSink::KafkaSink(const Settings& settings, JournalSource journal, std::string password, mode_t file_mode,
                     service::LogFunction log)
    : settings_(settings),
      journal_(std::move(journal)),
      password_(std::move(password)),
      log_(std::move(log)),
      topic_(settings.topic, TopicRules::kafka),
      levels_topic_(template_of(settings.levels_topic)),
      orders_topic_(template_of(settings.orders_topic)),
      position_(journal_.folder / (settings.name + ".position"), file_mode),
      reader_(journal_.folder),
      start_(position_.record()),
      settled_(start_),
      pause_(kFirstPause) {
    begin();
    join_journal();
    publish_account();
}

bool KafkaSink::join_journal() {
    if (joined_) return true;
    if (!journal_.is_open->load(std::memory_order_acquire)) return false;  // sync "journal opened": open
    joined_ = true;
    if (const auto newest = journal_.newest_record->read(); start_ > newest) {
        log_(service::Severity::warning, settings_.name + ".position",
             fmt::format("kafka sink '{}': its position {} is past the journal's end {}: the journal was replaced or "
                         "lost its end with the machine; continues at {}",
                         settings_.name, start_, newest, newest + 1));
        start_ = settled_ = newest;
    }
    if (start_ == 0) {  // first start: from the oldest record on
        reader_.seek(1);
        start_ = settled_ = reader_.next_record() - 1;
    }
    go_to_position();
    counters_.position.set(settled_);
    return true;
}

KafkaSink::~KafkaSink() { stop(); }

void KafkaSink::start() {
    const auto prepare = [this] {
        core::name_this_thread(settings_.name);
        try {
            if (settings_.pin) core::pin_this_thread(static_cast<int>(*settings_.pin));
        } catch (const std::exception& error) {
            throw std::runtime_error(fmt::format("sink '{}': {}", settings_.name, error.what()));
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
            pause_ = std::min(pause_ * 2, kMaxPause);
            continue;
        }
        const auto now = core::monotonic_nanos();
        save_position(now, false);
        publish_account();
        if (read != 0) {
            idle.worked();
            worked_ns = now;
        } else if (now - worked_ns > kSilenceNs || pending_.size() >= settings_.window) {
            producer_->poll(kLongSleep);  // returns at the first report
        } else {
            idle.rest();
        }
    }
    finish();
} catch (const std::exception& error) {
    ended_.store(true, std::memory_order_relaxed);
    log_(service::Severity::error, settings_.name + ".ended",
         fmt::format("sink '{}' has stopped: {}", settings_.name, error.what()));
}

std::size_t KafkaSink::round() {
    if (!producer_) {
        try {
            begin();
        } catch (const std::invalid_argument& error) {  // files named by the settings may be missing for a while
            failure_ = error.what();
            return 0;
        }
    }
    producer_->poll(std::chrono::milliseconds{0});
    if (!join_journal()) return 0;
    std::size_t read = 0;
    if (gone_) on(*std::exchange(gone_, std::nullopt));
    if (failure_.empty() && pending_.size() < settings_.window) {
        const auto max_records = std::min(kRecordsPerRound, settings_.window - pending_.size());
        // At the journal's end the reader looks for the file of the next segment, which costs system calls.
        const auto has_next = [this] { return journal_.newest_record->read() >= reader_.next_record(); };
        // Reads one record at a time, so that none is read after a refused message.
        while (read < max_records && failure_.empty() && has_next() && reader_.poll(*this, 1) == 1) ++read;
        for (const auto& segment : reader_.drain_faults()) {
            log_(service::Severity::error, settings_.name + ".journal",
                 fmt::format("kafka sink '{}': journal segment {}", settings_.name, segment));
        }
    }
    settle();
    refuse_stuck(core::monotonic_nanos());
    return read;
}

void KafkaSink::refuse_stuck(std::int64_t now_ns) {
    if (pending_.empty() || first_pending_ != stuck_number_) {
        stuck_number_ = first_pending_;
        stuck_ns_ = now_ns;
        return;
    }
    if (now_ns - stuck_ns_ < kStuckNs || counters_.connected.read() == 0) return;
    stuck_ns_ = now_ns;
    auto* const topic = pending_.front().topic;
    const auto refusal = producer_->topic_error(topic);
    if (!refusal) return;
    for (auto& message : pending_) {
        if (message.topic == topic && !message.delivered && !message.refused) refuse(message, *refusal);
    }
}

void KafkaSink::begin() {
    producer_ = std::make_unique<Producer>(settings_, password_, batch_, *this);
    events_ = producer_->topic(settings_.events_topic);
    refusals_.clear();
    changes_.clear();
    instruments_.clear();
}

void KafkaSink::go_to_position() {
    missed_ = settled_missed_;
    reader_.seek(settled_ + 1);
    gone_.reset();
    if (const auto next = reader_.next_record(); next > settled_ + 1) {  // records were removed
        gone_ = {.first = settled_ + 1,
                 .last = next - 1,
                 .reason = millpond::journal::LostReason::removed,
                 .utc_ns = core::utc_nanos()};
    }
}

void KafkaSink::restart() {
    if (producer_ && producer_->batch_was_too_large() && batch_ != 1) {
        const auto refused = std::min(batch_.value_or(kUsualBatch), pending_.size());
        batch_ = std::max<std::size_t>(1, refused / kSmallerBatch);
        failure_ += fmt::format("; batches have at most {} messages now", *batch_);
        pause_ = kFirstPause;
    }
    log_(service::Severity::error, settings_.name + ".failed",
         fmt::format("kafka sink '{}': {}; restarts after record {}", settings_.name, failure_, settled_));
    // Invalidates reports of the old producer: its messages will be sent again.
    first_pending_ += pending_.size();
    pending_.clear();
    pending_losses_ = 0;
    last_.reset();
    producer_.reset();
    failure_.clear();
    if (joined_) go_to_position();
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
    auto& message = pending_[number - first_pending_];
    message.delivered = true;
    // The topic exists now.
    if (message.is_change && changes_.insert(message.topic).second) producer_->query_policy(message.topic);
    counters_.messages.add();
    counters_.bytes.add(bytes);
    pause_ = kFirstPause;
}

void KafkaSink::failed(std::uint64_t number, const Refusal& refusal) {
    if (number < first_pending_) return;
    auto& message = pending_[number - first_pending_];
    if (!message.refused) refuse(message, refusal);
}

void KafkaSink::refuse(Pending& message, const Refusal& refusal) {
    counters_.failures.add();
    const bool is_of_topic = refusal.kind != Refusal::Kind::producer && refusal.kind != Refusal::Kind::too_large;
    if (refusal.kind == Refusal::Kind::producer || (is_of_topic && !message.may_go)) {
        if (failure_.empty()) failure_ = "a message was refused: " + refusal.text;
        return;
    }
    message.refused = true;
    switch (refusal.kind) {
        case Refusal::Kind::producer: break;
        case Refusal::Kind::unknown_topic: counters_.unknown_topic.add(); break;
        case Refusal::Kind::invalid_topic: counters_.invalid_topic.add(); break;
        case Refusal::Kind::not_authorized: counters_.not_authorized.add(); break;
        case Refusal::Kind::too_large: counters_.too_large.add(); break;
    }
    // Logs each refused topic once immediately, and then all refusals at most once a second.
    const bool is_new = refusals_.size() < kNamedRefusals && refusals_.insert(refusal.text).second;
    log_(service::Severity::error,
         is_new ? fmt::format("{}.refused.{}", settings_.name, refusal.text) : settings_.name + ".refused",
         fmt::format("kafka sink '{}': messages are refused and counted as missed: {}", settings_.name, refusal.text));
}

void KafkaSink::compacted(const std::string& topic) {
    log_(service::Severity::warning, fmt::format("{}.compacted.{}", settings_.name, topic),
         fmt::format("kafka sink '{}': topic '{}' is compacted, which removes changes of books; set its "
                     "cleanup.policy to delete",
                     settings_.name, topic));
}

void KafkaSink::error(const std::string& text) {
    log_(service::Severity::warning, settings_.name + ".broker",
         fmt::format("kafka sink '{}': {}", settings_.name, text));
    counters_.errors.add();
}

void KafkaSink::settle() {
    const auto is_done = [](const Pending& message) { return message.delivered || message.refused; };
    for (; !pending_.empty() && is_done(pending_.front()); pending_.pop_front(), ++first_pending_) {
        const auto& message = pending_.front();
        settled_ = message.record;
        settled_missed_ = message.missed;
        if (message.counts) {
            ++(message.refused ? settled_refused_ : settled_count_);
        } else {
            --pending_losses_;
        }
    }
    // Records after the last message need no delivery, except one that is held.
    const auto next = last_.held().value_or(reader_.next_record());
    if (pending_.empty() && next != 0) settled_ = std::max(settled_, next - 1);
    counters_.position.set(settled_);
    counters_.in_flight.set(pending_.size());
}

void KafkaSink::save_position(std::int64_t now_ns, bool at_once) {
    if (settled_ == position_.record() || (!at_once && now_ns - saved_ns_ < kSaveEveryNs)) return;
    saved_ns_ = now_ns;
    try {
        position_.save(settled_);
    } catch (const std::exception& error) {  // a full disk: more messages are repeated after a restart
        log_(service::Severity::error, settings_.name + ".save",
             fmt::format("kafka sink '{}': {}; retrying", settings_.name, error.what()));
    }
}

void KafkaSink::publish_account() {
    const auto next = std::max(reader_.next_record(), settled_ + 1);
    const auto newest = std::max(journal_.newest_record->read(), next - 1);
    const auto counted = pending_.size() - pending_losses_ + (last_.held() ? 1 : 0);
    const auto read = next - 1 - start_;
    account_.write({.published = newest - start_,
                    .delivered = settled_count_,
                    .filtered = read - settled_count_ - settled_refused_ - counted - missed_,
                    .missed = missed_ + settled_refused_,
                    .queued = newest - (next - 1) + counted,
                    .refused = settled_refused_});
}

}  // namespace millpond::gateway::kafka
