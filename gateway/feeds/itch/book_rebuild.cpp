#include "gateway/feeds/itch/book_rebuild.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string_view>
#include <utility>

#include <poll.h>

#include <millpond/core/thread_name.hpp>
#include <millpond/feed/sequencing.hpp>

namespace millpond::gateway::itch {
namespace {

constexpr std::chrono::milliseconds kRest{5};
constexpr int kAnswerMs = 1;
constexpr std::int64_t kMostPauses = 64;
/// A file that may be another day's (one without times, or captured before today) is trusted after this many messages
/// of the feed have followed it without a contradiction. Days may use the same session names.
constexpr std::uint64_t kProof = 1'000;

std::string text_of(const feed::moldudp64_layout::Session& session) {
    return std::string{session.data(), session.size()};
}

}  // namespace

BookRebuild::BookRebuild(const Options& options, service::Say say, std::pmr::memory_resource* memory)
    : options_(options),
      say_(std::move(say)),
      books_(options.books, memory),
      ring_(options.buffer_bytes),
      asker_(options.asking),
      pause_ns_(options.first_pause_ns) {
    if (!options_.server.empty()) server_.emplace(options_.server);
    thread_ = std::thread{[this] { run(); }};
}

BookRebuild::~BookRebuild() {
    stopping_.store(true, std::memory_order_relaxed);  // the join orders everything else
    thread_.join();
}

void BookRebuild::beat(const feed::ItchDecoder& decoder) noexcept {
    const bool wanted = decoder.wants_rebuild();
    wanted_.store(wanted, std::memory_order_relaxed);
    const auto now = core::monotonic_nanos();
    if (takes_) {
        reached_.store(decoder.sequence().next(), std::memory_order_relaxed);
        if (!wanted || decoder.session() != session_) unwanted_.store(true, std::memory_order_relaxed);
        return;
    }
    if (!wanted) {
        pause_ns_ = options_.first_pause_ns;
        due_ns_ = 0;
        return;
    }
    if (now < due_ns_ || turn_.load(std::memory_order_acquire) != Turn::none) return;  // sync "handed on": run
    session_ = decoder.session();
    goal_ = decoder.sequence().next();
    attempt_midnight_ns_ = midnight_utc_ns_;
    unwanted_.store(false, std::memory_order_relaxed);
    takes_ = true;
    turn_.store(Turn::builder, std::memory_order_release);  // sync "handed on": run
}

void BookRebuild::end_attempt(bool succeeded) noexcept {
    takes_ = false;
    wanted_.store(!succeeded, std::memory_order_relaxed);
    if (!succeeded) {
        due_ns_ = core::monotonic_nanos() + pause_ns_;
        pause_ns_ = std::min(2 * pause_ns_, kMostPauses * options_.first_pause_ns);
    }
    turn_.store(Turn::emptier, std::memory_order_release);  // sync "handed on": run
}

void BookRebuild::run() {
    core::name_this_thread("books " + options_.feed);
    while (!stopping_.load(std::memory_order_relaxed)) {
        const auto turn = turn_.load(std::memory_order_acquire);  // sync "handed on": beat, end_attempt
        if (turn == Turn::builder) {
            attempt();
        } else if (turn == Turn::emptier) {
            while (ring_.front()) ring_.pop();
            if (std::exchange(refused_, false))
                static_cast<void>(gave_up("the feed lost more messages meanwhile, or has no room for all instruments"));
            turn_.store(Turn::none, std::memory_order_release);  // sync "handed on": beat
        } else {
            std::this_thread::sleep_for(kRest);
        }
    }
}

void BookRebuild::attempt() {
    bool ready = false;
    try {
        until_ns_ = core::monotonic_nanos() + options_.longest_ns;
        books_.begin(session_, attempt_midnight_ns_);
        unproven_ = false;
        believed_from_ = goal_;
        if (!options_.history.path.empty()) {
            files_.emplace(options_.history, session_);
            read_files(goal_);
        }
        ready = catch_up();
    } catch (const std::exception& error) {
        static_cast<void>(gave_up(error.what()));
    }
    files_.reset();
    turn_.store(ready ? Turn::ready : Turn::failed, std::memory_order_release);  // sync "handed on": look
}

void BookRebuild::read_files(std::uint64_t until) {
    read_on_from_ = books_.next();
    files_->read(until, [&](std::span<const std::byte> datagram, std::int64_t captured_utc_ns) {
        const auto before = books_.next();
        books_.take(datagram);
        unproven_ = unproven_ || (books_.next() != before && captured_utc_ns <= attempt_midnight_ns_);
        const bool goes_on = !stopping_.load(std::memory_order_relaxed) && !unwanted_.load(std::memory_order_relaxed);
        return goes_on && books_.is_sound() && books_.next() < until;
    });
    if (unproven_) believed_from_ = std::max(goal_, books_.next()) + kProof;
}

/// Reads messages that the feed lost meanwhile, up to `last`, from the files. False if they do not have them.
bool BookRebuild::read_on(std::uint64_t last) {
    if (!files_ || books_.next() == read_on_from_) return false;
    const auto before = books_.next();
    read_files(std::max(last + 1, reached_.load(std::memory_order_relaxed)));
    return books_.next() != before;
}

/// True when the books are at the same number as the feed.
bool BookRebuild::catch_up() {
    while (!stopping_.load(std::memory_order_relaxed)) {
        if (unwanted_.load(std::memory_order_relaxed)) return false;
        if (!books_.is_sound()) return gave_up("the sources have a gap that no source fills");
        if (unproven_ && books_.contradictions() != 0)
            return gave_up(fmt::format("'{}' is from another session", options_.history.path));
        if (core::monotonic_nanos() > until_ns_) return gave_up("the rebuild took too long");
        if (take_live()) continue;
        const auto entry = ring_.front();
        const auto numbers = entry ? feed::Sequencing<feed::ItchDecoder>::read(entry->bytes) : std::nullopt;
        const auto behind = numbers ? numbers->first : goal_;
        if (books_.next() >= behind) {
            if (books_.next() >= believed_from_) return true;
            std::this_thread::sleep_for(kRest);
            continue;
        }
        if (!ask(std::min(behind - 1, books_.missing_until().value_or(behind - 1)))) return false;
    }
    return false;
}

/// Reads the ring up to the first gap. False if nothing follows.
bool BookRebuild::take_live() {
    bool any = false;
    for (auto entry = ring_.front(); entry; entry = ring_.front()) {
        const auto numbers = feed::Sequencing<feed::ItchDecoder>::read(entry->bytes);
        if (numbers && numbers->session == session_ && numbers->first > books_.next()) break;
        books_.take(entry->bytes);
        ring_.pop();
        any = true;
    }
    return any;
}

/// Looks for messages from the first that is wanted to `last`: in the files where there is no server, else asks for
/// them, if a request is due. False when they will not come.
bool BookRebuild::ask(std::uint64_t last) {
    if (!server_) {
        if (read_on(last)) return true;
        const auto& damage = files_->damage();
        return gave_up(fmt::format("'{}' has messages of session '{}' up to {}, but the feed was at {}{}{}",
                                   options_.history.path, text_of(session_), books_.next() - 1, last + 1,
                                   damage.empty() ? "" : "; ", damage));
    }
    const auto now = core::ticks();
    server_->beat();
    if (const auto request = asker_.due(session_, books_.next(), last, now)) server_->send(*request);
    const auto datagrams = server_->poll();
    for (const auto& datagram : datagrams) books_.take(datagram.bytes);
    if (!datagrams.empty()) return true;
    if (asker_.hopeless(now)) {
        asker_.give_up();
        return gave_up(fmt::format("{} does not answer requests for message {} of session '{}'",
                                   options_.server.to_string(), books_.next(), text_of(session_)));
    }
    pollfd ready{.fd = server_->fd(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, kAnswerMs);
    return true;
}

bool BookRebuild::gave_up(const std::string& why) {
    failures_.add();
    failure_.say(why, core::MomentClock{}.now());
    if (say_) {
        say_(service::Severity::warning, options_.feed + ".rebuild",
             fmt::format("feed '{}': its books are still incomplete: {}; retrying", options_.feed, why));
    }
    return false;
}

}  // namespace millpond::gateway::itch
