#pragma once

#include "gateway/receive/book_rebuild.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <poll.h>

#include <millpond/core/thread_name.hpp>

/// BookRebuild's functions, for the file of a format that instantiates it.
namespace millpond::gateway {
namespace book_rebuild {

inline constexpr std::chrono::milliseconds kPollEvery{5};
inline constexpr int kAnswerMs = 1;
inline constexpr std::int64_t kMaxPauses = 64;
/// A file that may be another day's (one without times, or captured before today) is trusted after this many messages
/// of the feed have followed it without a contradiction. Days may use the same session names.
inline constexpr std::uint64_t kProofMessages = 1'000;

}  // namespace book_rebuild

template <class Rules>
BookRebuild<Rules>::BookRebuild(const Options& options, service::LogFunction log, std::pmr::memory_resource* memory)
    : options_(options),
      log_(std::move(log)),
      books_(options.books, memory),
      ring_(options.buffer_bytes),
      rerequester_(options.rerequests),
      pause_ns_(options.first_pause_ns) {
    if (options_.snapshots.is_set()) snapshots_.emplace(options_.snapshots);
    if (!options_.server.empty()) server_.emplace(options_.server);
    thread_ = std::thread{[this] { run(); }};
}

template <class Rules>
BookRebuild<Rules>::~BookRebuild() {
    stopping_.store(true, std::memory_order_relaxed);  // the join orders everything else
    thread_.join();
}

template <class Rules>
void BookRebuild<Rules>::beat(const Decoder& decoder) noexcept {
    const bool wanted = decoder.wants_rebuild();
    wanted_.store(wanted, std::memory_order_relaxed);
    const auto now = core::monotonic_nanos();
    if (running_) {
        reached_.store(decoder.sequence().next(), std::memory_order_relaxed);
        if (!wanted || decoder.session() != session_) unwanted_.store(true, std::memory_order_relaxed);
        if (phase_.load(std::memory_order_acquire) != Phase::ready) {  // sync "handed on": end_attempt's partner in run
            ready_ns_ = 0;
        } else if (ready_ns_ == 0) {
            ready_ns_ = now;
        } else if (now - ready_ns_ > options_.ahead_ns) {
            ready_ns_ = 0;
            is_ahead_ = true;
            end_attempt(false);
        }
        return;
    }
    if (!wanted) {
        pause_ns_ = options_.first_pause_ns;
        due_ns_ = 0;
        return;
    }
    const bool is_another = decoder.session() != session_;  // the pause after a snapshot was for the one before
    if ((now < next_snapshot_ns_ && !is_another) || now < due_ns_) return;
    if (announces_ || phase_.load(std::memory_order_acquire) != Phase::none) return;  // sync "handed on": run
    session_ = decoder.session();
    target_ = decoder.sequence().next();
    attempt_midnight_ns_ = midnight_utc_ns_;
    attempt_now_ns_ = nearest_ ? core::utc_nanos() : 0;
    unwanted_.store(false, std::memory_order_relaxed);
    running_ = true;
    phase_.store(Phase::building, std::memory_order_release);  // sync "handed on": run
}

template <class Rules>
void BookRebuild<Rules>::end_attempt(bool succeeded) noexcept {
    running_ = false;
    wanted_.store(!succeeded, std::memory_order_relaxed);
    const auto now = core::monotonic_nanos();
    next_snapshot_ns_ = now + snapshot_pause_ns_;
    if (!succeeded) {
        due_ns_ = now + pause_ns_;
        pause_ns_ = std::min(2 * pause_ns_, book_rebuild::kMaxPauses * options_.first_pause_ns);
    }
    phase_.store(Phase::emptying, std::memory_order_release);  // sync "handed on": run
}

template <class Rules>
void BookRebuild<Rules>::run() {
    core::name_this_thread("books " + options_.feed);
    while (!stopping_.load(std::memory_order_relaxed)) {
        const auto phase = phase_.load(std::memory_order_acquire);  // sync "handed on": beat, end_attempt
        if (phase == Phase::building) {
            attempt();
        } else if (phase == Phase::emptying) {
            while (ring_.front()) ring_.pop();
            if (std::exchange(is_ahead_, false)) fail_ahead();
            if (std::exchange(refused_, false)) fail_refused();
            phase_.store(Phase::none, std::memory_order_release);  // sync "handed on": beat
        } else {
            std::this_thread::sleep_for(book_rebuild::kPollEvery);
        }
    }
}

template <class Rules>
void BookRebuild<Rules>::attempt() {
    bool ready = false;
    try {
        until_ns_ = core::monotonic_nanos() + options_.timeout_ns;
        lost_before_ = ring_.lost().read();
        copied_before_ = copied_bytes_.read();
        unproven_ = false;
        ends_in_snapshot_ = false;
        trusted_from_ = target_;
        has_snapshot_ = snapshots_ && take_snapshot();
        if (!has_snapshot_) {
            books_.begin(session_, attempt_midnight_ns_, attempt_now_ns_);
            if (!options_.history.path.empty()) {
                files_.emplace(options_.history, session_);
                read_files(target_);
            }
        }
        ready = (has_snapshot_ || has_other_sources()) && catch_up();
        if (ready) {
            books_.prepare();
            ready = catch_up();  // so that adopt need not apply what arrived meanwhile
        }
    } catch (const std::exception& error) {
        static_cast<void>(fail_attempt(error.what()));
    }
    files_.reset();
    if (snapshots_) snapshot_pause_ns_ = snapshots_->pause_ns();
    phase_.store(ready ? Phase::ready : Phase::failed, std::memory_order_release);  // sync "handed on": adopt
}

/// Builds the books from a snapshot. False, with the failure reported, if that is not possible.
template <class Rules>
bool BookRebuild<Rules>::take_snapshot() {
    const auto goes_on = [this] {
        if (core::monotonic_nanos() > until_ns_) throw std::runtime_error("the snapshot took too long");
        return !stopping_.load(std::memory_order_relaxed) && !unwanted_.load(std::memory_order_relaxed);
    };
    try {
        books_.begin(session_, attempt_midnight_ns_, attempt_now_ns_);
        const auto next = snapshots_->read(
            session_, target_ - 1,
            [this](std::span<const std::byte> message) {
                const auto fault = books_.add_snapshot(message);
                if (!fault.empty()) throw std::runtime_error("its snapshot has " + fault);
            },
            goes_on);
        if (next == 0) return false;
        if (!books_.is_sound()) {
            throw std::runtime_error(
                fmt::format("the snapshot of {} has a message that cannot be read", snapshots_->server()));
        }
        if (ring_.lost().read() != lost_before_) throw std::runtime_error(text_of_overflow());
        behind_snapshot_ = next;
        books_.end_snapshot(next);
        ends_in_snapshot_ = books_.has_ended();
        return true;
    } catch (const std::exception& error) {
        return fail_snapshot(error.what());
    }
}

template <class Rules>
std::string BookRebuild<Rules>::text_of_overflow() const {
    return fmt::format("rebuild_buffer = {} is too small: {} bytes of the feed arrived during the rebuild",
                       options_.buffer_bytes, copied_bytes_.read() - copied_before_);
}

template <class Rules>
void BookRebuild<Rules>::read_files(std::uint64_t until) {
    read_on_from_ = books_.next();
    files_->read(until, [&](std::span<const std::byte> datagram, std::int64_t captured_utc_ns) {
        const auto before = books_.next();
        books_.add(datagram);
        unproven_ = unproven_ || (books_.next() != before && captured_utc_ns <= attempt_midnight_ns_);
        const bool goes_on = !stopping_.load(std::memory_order_relaxed) && !unwanted_.load(std::memory_order_relaxed);
        return goes_on && books_.is_sound() && books_.next() < until;
    });
    if (unproven_) trusted_from_ = std::max(target_, books_.next()) + book_rebuild::kProofMessages;
}

/// Reads messages that the feed has lost since the last read, up to `last`, from the files. False if the files do not
/// have them.
template <class Rules>
bool BookRebuild<Rules>::read_on(std::uint64_t last) {
    if (!files_ || books_.next() == read_on_from_) return false;
    const auto before = books_.next();
    read_files(std::max(last + 1, reached_.load(std::memory_order_relaxed)));
    return books_.next() != before;
}

/// Applies messages until the books are at the same number as the feed. False if the attempt fails or is cancelled.
template <class Rules>
bool BookRebuild<Rules>::catch_up() {
    while (!stopping_.load(std::memory_order_relaxed)) {
        if (unwanted_.load(std::memory_order_relaxed)) return false;
        if (!books_.is_sound()) return fail_unsound();
        if (unproven_ && books_.contradictions() != 0)
            return fail_attempt(fmt::format("'{}' is from another session", options_.history.path));
        if (has_snapshot_ && books_.contradictions() != 0 && books_.refused() == 0)
            return fail_snapshot(
                fmt::format("the snapshot of {} contradicts itself or the feed", snapshots_->server()));
        if (core::monotonic_nanos() > until_ns_) return fail_attempt("the rebuild took too long");
        if (apply_copies()) continue;
        const auto entry = ring_.front();
        const auto numbers = entry ? feed::Sequencing<Decoder>::read(entry->bytes) : std::nullopt;
        const auto end = numbers ? numbers->first : target_;
        if (books_.next() >= end) {
            if (books_.next() >= trusted_from_) return true;
            std::this_thread::sleep_for(book_rebuild::kPollEvery);
            continue;
        }
        if (!request(std::min(end - 1, books_.missing_until().value_or(end - 1)))) return false;
    }
    return false;
}

/// Applies copied datagrams from the ring up to the first gap. False if there was none.
template <class Rules>
bool BookRebuild<Rules>::apply_copies() {
    bool any = false;
    for (auto entry = ring_.front(); entry; entry = ring_.front()) {
        const auto numbers = feed::Sequencing<Decoder>::read(entry->bytes);
        const bool is_later = numbers && numbers->count != 0 && numbers->first > books_.next();
        if (is_later && numbers->session == session_) break;
        if (has_snapshot_ && numbers && numbers->first < behind_snapshot_)
            skipped_.add(std::min(behind_snapshot_ - numbers->first, std::uint64_t{numbers->count}));
        books_.add(entry->bytes);
        ring_.pop();
        any = true;
    }
    return any;
}

/// Obtains the next required messages up to `last`: from the server if there is one, else from the files. False if they
/// are not available.
template <class Rules>
bool BookRebuild<Rules>::request(std::uint64_t last) {
    if (!server_) {
        if (ring_.lost().read() != lost_before_)
            return has_snapshot_ ? fail_snapshot(text_of_overflow()) : fail_attempt(text_of_overflow());
        if (!files_) {
            return fail_snapshot(fmt::format("messages {} to {} are missing between the snapshot of {} and the feed",
                                             books_.next(), last, snapshots_->server()));
        }
        if (read_on(last)) return true;
        const auto& damage = files_->damage();
        return fail_attempt(fmt::format("'{}' has messages of session '{}' up to {}, but the feed was at {}{}{}",
                                        options_.history.path, session_name(), books_.next() - 1, last + 1,
                                        damage.empty() ? "" : "; ", damage));
    }
    const auto now = core::ticks();
    server_->beat();
    if (const auto request = rerequester_.due(session_, books_.next(), last, now))
        server_->send(feed::Sequencing<Decoder>::request(*request));
    const auto datagrams = server_->poll();
    // An answer must not move the books beyond what the feed has shown.
    const auto shown = std::max(last + 1, reached_.load(std::memory_order_relaxed));
    for (const auto& datagram : datagrams) {
        const auto numbers = feed::Sequencing<Decoder>::read(datagram.bytes);
        if (numbers && numbers->end() > shown) {
            refused_answers_.add();
        } else {
            books_.add(datagram.bytes);
        }
    }
    if (!datagrams.empty()) return true;
    if (rerequester_.exhausted(now)) {
        rerequester_.give_up();
        return fail_attempt(fmt::format("{} does not answer requests for message {} of session '{}'",
                                        options_.server.to_string(), books_.next(), session_name()));
    }
    pollfd ready{.fd = server_->fd(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, book_rebuild::kAnswerMs);
    return true;
}

/// The feed did not reach the books in time.
template <class Rules>
void BookRebuild<Rules>::fail_ahead() {
    if (has_snapshot_) {
        static_cast<void>(
            fail_snapshot(fmt::format("the snapshot of {} is at message {}, which the feed has not reached",
                                      snapshots_->server(), books_.next())));
    } else {
        static_cast<void>(
            fail_attempt(fmt::format("the sources are at message {}, which the feed has not reached", books_.next())));
    }
}

/// The receive thread did not take the finished books.
template <class Rules>
void BookRebuild<Rules>::fail_refused() {
    static_cast<void>(books_.is_sound()
                          ? fail_attempt("the feed lost more messages meanwhile, or its instruments do not fit")
                          : fail_unsound());
}

template <class Rules>
bool BookRebuild<Rules>::fail_unsound() {
    if (!ends_in_snapshot_) return fail_attempt("the sources have a gap that no source fills");
    return fail_snapshot(
        fmt::format("the snapshot of {} has the end of session '{}' at message {}, but the feed has sent on",
                    snapshots_->server(), session_name(), behind_snapshot_ - 1));
}

/// Fails the attempt because of its snapshot.
template <class Rules>
bool BookRebuild<Rules>::fail_snapshot(const std::string& why) {
    static_cast<void>(fail_attempt(why));
    snapshot_failures_.add();
    return false;
}

/// The counter follows the text: a reader of the counter finds the text.
template <class Rules>
bool BookRebuild<Rules>::fail_attempt(const std::string& why) {
    failure_.set(why, core::MomentClock{}.now());
    if (log_) {
        log_(service::Severity::warning, options_.feed + ".rebuild",
             fmt::format("feed '{}': its books are still incomplete: {}; retrying", options_.feed, why));
    }
    failures_.add();
    return false;
}

}  // namespace millpond::gateway
