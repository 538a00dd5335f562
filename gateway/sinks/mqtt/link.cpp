#include "gateway/sinks/mqtt/link.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mosquitto.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/thread_name.hpp>

#include "gateway/sinks/mqtt/earlier_run.hpp"
#include "gateway/sinks/mqtt/reach.hpp"

namespace millpond::gateway::mqtt {
namespace {

constexpr std::string_view kOnline = R"({"state":"online"})";
constexpr std::string_view kStarting = R"({"state":"offline","reason":"starting"})";
constexpr std::string_view kStopped = R"({"state":"offline","reason":"stopped"})";
constexpr std::string_view kLost = R"({"state":"offline","reason":"lost"})";

constexpr int kTickMs = 100;
constexpr int kPacketsAtOnce = 256;
constexpr std::int64_t kDisconnectTimeoutNs = 1'000'000'000;
constexpr int kFirstErrorCode = 128;  ///< Lowest reason code of MQTT 5 that is an error.

/// Whether libmosquitto refuses only this message, and not others.
bool is_of_the_message(int error) {
    return error == MOSQ_ERR_OVERSIZE_PACKET || error == MOSQ_ERR_PAYLOAD_SIZE || error == MOSQ_ERR_INVAL ||
           error == MOSQ_ERR_MALFORMED_UTF8 || error == MOSQ_ERR_QOS_NOT_SUPPORTED ||
           error == MOSQ_ERR_RETAIN_NOT_SUPPORTED;
}

}  // namespace

Link::Link(const Settings& settings, std::string password, service::LogFunction log, const ScanLimits& limits)
    : settings_(settings),
      password_(std::move(password)),
      log_(std::move(log)),
      limits_(limits),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      queue_(settings.window) {
    if (!wake_) throw std::system_error(errno, std::generic_category(), "eventfd");
    static_cast<void>(new_client());  // throws for invalid settings
    thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

Link::~Link() {
    thread_.request_stop();
    wake();
    thread_.join();
}

std::size_t Link::available() const noexcept {
    if (counters_.connected.read() == 0) return 0;
    return settings_.window -
           static_cast<std::size_t>(enqueued_messages_ - confirmed_messages_.load(std::memory_order_relaxed));
}

void Link::enqueue(Message message) noexcept {
    const bool is_event = message.event;
    const bool fits = queue_.try_push(std::move(message));
    assert(fits);
    static_cast<void>(fits);
    ++enqueued_messages_;
    if (is_event) ++enqueued_events_;
}

void Link::wake() const noexcept { static_cast<void>(eventfd_write(wake_.get(), 1)); }

Client Link::new_client() {
    auto client = make_client(settings_, password_, kLost, this);
    mosquitto_connect_v5_callback_set(client.get(),
                                      [](mosquitto*, void* self, int code, int, const mosquitto_property*) {
                                          static_cast<Link*>(self)->on_connect(code);
                                      });
    mosquitto_publish_v5_callback_set(client.get(),
                                      [](mosquitto*, void* self, int id, int code, const mosquitto_property*) {
                                          static_cast<Link*>(self)->on_publish(id, code);
                                      });
    mosquitto_message_callback_set(client.get(), [](mosquitto*, void* self, const mosquitto_message* message) {
        const std::string_view payload{static_cast<const char*>(message->payload),
                                       static_cast<std::size_t>(message->payloadlen)};
        static_cast<Link*>(self)->on_message(message->topic, payload, message->retain);
    });
    mosquitto_subscribe_callback_set(client.get(), [](mosquitto*, void* self, int, int count, const int* granted) {
        auto& link = *static_cast<Link*>(self);
        if (link.scan_ == Scan::asked && std::any_of(granted, granted + count, [](int code) { return code > 2; }))
            link.scan_ = Scan::refused;
    });
    return client;
}

void Link::run(const std::stop_token& stop) {
    core::name_this_thread(settings_.name + " link");
    auto pause = settings_.reconnect;
    while (!stop.stop_requested()) {
        const auto before = connections();
        serve(stop);
        if (stop.stop_requested()) return;
        if (connections() != before) pause = settings_.reconnect;
        sleep_for(pause, stop);
        pause = std::min(pause * 2, settings_.max_reconnect);
    }
}

void Link::sleep_for(std::chrono::milliseconds time, const std::stop_token& stop) const {
    const auto until = core::monotonic_nanos() + std::chrono::nanoseconds{time}.count();
    while (!stop.stop_requested() && core::monotonic_nanos() < until) {
        pollfd woken{wake_.get(), POLLIN, 0};
        eventfd_t count = 0;
        if (::poll(&woken, 1, kTickMs) > 0) static_cast<void>(eventfd_read(wake_.get(), &count));
    }
}

void Link::fail(const std::string& why) {
    log_(
        service::Severity::warning, settings_.name + ".link",
        fmt::format("mqtt sink '{}': broker {}:{}: {}; retrying", settings_.name, settings_.host, settings_.port, why));
}

void Link::serve(const std::stop_token& stop) {
    if (const auto why = unreachable(settings_.host, settings_.port, stop)) {
        if (!stop.stop_requested()) fail(*why);
        return counters_.failed_connects.add();
    }
    const auto before = connections();
    refusal_.clear();
    try {
        const auto client = new_client();
        const int error = mosquitto_connect(client.get(), settings_.host.c_str(), settings_.port,
                                            static_cast<int>(settings_.keepalive.count()));
        if (error != MOSQ_ERR_SUCCESS) {
            fail(reason(error));
        } else {
            const auto bytes = static_cast<int>(settings_.send_buffer);
            setsockopt(mosquitto_socket(client.get()), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
            run_connection(client.get(), stop);
        }
    } catch (const std::exception& error) {  // a TLS file that was removed after the start
        fail(error.what());
    }
    forget_connection();
    if (connections() == before) return counters_.failed_connects.add();
    if (!stop.stop_requested()) counters_.losses.add();
}

void Link::run_connection(mosquitto* client, const std::stop_token& stop) {
    while (exchange(client)) {
        if (!stop.stop_requested()) continue;
        if (accepted_) disconnect(client);
        return;
    }
}

bool Link::exchange(mosquitto* client) {
    if (accepted_) send_waiting(client);
    std::array<pollfd, 2> ready{};
    ready[0] = {mosquitto_socket(client), static_cast<short>(mosquitto_want_write(client) ? POLLIN | POLLOUT : POLLIN),
                0};
    ready[1] = {wake_.get(), POLLIN, 0};
    if (ready[0].fd < 0) return false;
    static_cast<void>(::poll(ready.data(), ready.size(), kTickMs));
    eventfd_t count = 0;
    if (ready[1].revents != 0) static_cast<void>(eventfd_read(wake_.get(), &count));
    const bool was_accepted = accepted_;
    int error = MOSQ_ERR_SUCCESS;
    if ((ready[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) error = mosquitto_loop_read(client, kPacketsAtOnce);
    if (error == MOSQ_ERR_SUCCESS && (ready[0].revents & POLLOUT) != 0) error = mosquitto_loop_write(client, 1);
    if (error == MOSQ_ERR_SUCCESS) error = mosquitto_loop_misc(client);
    drop_confirmed();
    if (error == MOSQ_ERR_SUCCESS && refusal_.empty()) {
        if (accepted_ && !was_accepted) begin(client);
        if (scan_ != Scan::none) end_scan(client);
        return true;
    }
    fail(refusal_.empty() ? reason(error) : refusal_);
    return false;
}

void Link::on_connect(int code) {
    if (code == 0) {
        accepted_ = true;
        return;
    }
    refusal_ =
        fmt::format("refuses us{}: {}", settings_.user.empty() ? "" : fmt::format(" as user '{}'", settings_.user),
                    code < kFirstErrorCode ? mosquitto_connack_string(code) : mosquitto_reason_string(code));
}

void Link::begin(mosquitto* client) {
    if (scanned_ || !settings_.retain) {
        outgoing_.push_front(state_message(kOnline));
        return announce(client);
    }
    scans_ = 0;
    scan_until_ns_ = core::monotonic_nanos() + limits_.timeout.count();
    filters_ = {filter_of(settings_.topic)};
    if (!settings_.book_topic.empty()) filters_.push_back(filter_of(settings_.book_topic));
    const bool shows_state = std::ranges::any_of(filters_, [this](const std::string& filter) {
        bool matches = false;
        static_cast<void>(mosquitto_topic_matches_sub(filter.c_str(), settings_.state_topic.c_str(), &matches));
        return matches;
    });
    if (!shows_state) static_cast<void>(mosquitto_subscribe(client, nullptr, settings_.state_topic.c_str(), 0));
    ask_for_retained(client);
}

void Link::ask_for_retained(mosquitto* client) {
    ++scans_;
    scan_ = Scan::asked;
    for (const auto& filter : filters_) {
        if (mosquitto_subscribe(client, nullptr, filter.c_str(), 0) != MOSQ_ERR_SUCCESS) scan_ = Scan::refused;
    }
    outgoing_.push_back(state_message(kStarting));
}

void Link::on_message(std::string_view topic, std::string_view payload, bool retained) {
    if (scan_ != Scan::asked) return;
    if (!retained) {
        // The link's own message: the broker has sent all retained messages.
        if (topic == settings_.state_topic && payload == kStarting) scan_ = Scan::seen;
        return;
    }
    const bool is_ours = is_of_template(settings_.topic, topic) ||
                         (!settings_.book_topic.empty() && is_of_template(settings_.book_topic, topic));
    if (topic == settings_.state_topic || !is_ours) return;
    auto marked = marked_incomplete(payload);
    if (!marked) return;
    const auto bytes = earlier_bytes_ + topic.size() + marked->size();
    if (earlier_.size() == limits_.messages || bytes > limits_.bytes) {
        exceeds_limits_ = true;
        return;
    }
    earlier_bytes_ = bytes;
    outgoing_.push_back(
        {.message = {.topic = &earlier_.emplace_back(topic), .payload = std::move(*marked)}, .state = true});
}

void Link::end_scan(mosquitto* client) {
    const bool late = core::monotonic_nanos() >= scan_until_ns_;
    if (scan_ == Scan::asked && !late) return;
    if (scan_ == Scan::seen && !late && scans_ < limits_.scans && !earlier_.empty()) {
        if (!outgoing_.empty()) return;  // marks are sent first
        forget_earlier();
        return ask_for_retained(client);
    }
    if (scan_ != Scan::seen || !earlier_.empty() || exceeds_limits_) report_unfinished_scan();
    scan_ = Scan::none;
    scanned_ = true;
    for (const auto& filter : filters_) static_cast<void>(mosquitto_unsubscribe(client, nullptr, filter.c_str()));
    static_cast<void>(mosquitto_unsubscribe(client, nullptr, settings_.state_topic.c_str()));
    outgoing_.push_back(state_message(kOnline));
    announce(client);
}

void Link::report_unfinished_scan() {
    counters_.unfinished_scans.add();
    log_(service::Severity::warning, settings_.name + ".retained",
         fmt::format("mqtt sink '{}': broker {}:{} {} its retained messages for '{}': those of an earlier run may look "
                     "valid",
                     settings_.name, settings_.host, settings_.port,
                     scan_ == Scan::seen ? fmt::format("had not sent all in {} searches of", scans_) : "does not send",
                     fmt::join(filters_, "', '")));
}

void Link::forget_earlier() {
    earlier_.clear();
    earlier_bytes_ = 0;
    exceeds_limits_ = false;
}

void Link::announce(mosquitto* client) {
    counters_.connects.add();
    counters_.connected.set(1);
    log_(service::Severity::info, settings_.name + ".link",
         fmt::format("mqtt sink '{}': broker {}:{} is connected", settings_.name, settings_.host, settings_.port));
    send_waiting(client);
}

Link::Outgoing Link::state_message(std::string_view json) const {
    return {.message = {.topic = &settings_.state_topic, .payload = std::string{json}}, .state = true};
}

void Link::send_waiting(mosquitto* client) {
    while (!mosquitto_want_write(client)) {
        if (sent_ == outgoing_.size()) {
            auto& next = outgoing_.emplace_back();
            if (!queue_.try_pop(next.message)) return outgoing_.pop_back();
        }
        auto& outgoing = outgoing_[sent_++];
        if (const int error = publish(client, outgoing); is_of_the_message(error)) {
            refuse(outgoing, reason(error));
        } else if (error != MOSQ_ERR_SUCCESS) {
            refusal_ = fmt::format("a message for '{}' cannot be sent: {}", *outgoing.message.topic, reason(error));
            return;
        }
        drop_confirmed();
    }
}

int Link::publish(mosquitto* client, Outgoing& outgoing) {
    const auto& message = outgoing.message;
    int id = 0;
    const int error = mosquitto_publish(client, &id, message.topic->c_str(), static_cast<int>(message.payload.size()),
                                        message.payload.data(), settings_.qos, outgoing.state || settings_.retain);
    outgoing.id = id;
    return error;
}

void Link::on_publish(int id, int code) {
    // QoS 0: libmosquitto confirms written messages in the order of the sends, possibly before publish() returns the
    // id.
    const auto sent = outgoing_.begin() + static_cast<std::ptrdiff_t>(sent_);
    const auto found = std::find_if(outgoing_.begin(), sent, [&](const Outgoing& outgoing) {
        return !outgoing.confirmed && (settings_.qos == 0 || outgoing.id == id);
    });
    if (found == sent) return;
    if (code >= kFirstErrorCode) return refuse(*found, mosquitto_reason_string(code));
    found->confirmed = true;
    const auto& message = found->message;
    counters_.messages.add();
    counters_.bytes.add(message.topic->size() + message.payload.size());
}

void Link::refuse(Outgoing& outgoing, std::string_view why) {
    outgoing.confirmed = outgoing.refused = true;
    log_(service::Severity::error, settings_.name + ".refused",
         fmt::format("mqtt sink '{}': the broker refuses a message for '{}': {}", settings_.name,
                     *outgoing.message.topic, why));
    counters_.refused.add();
}

void Link::drop_confirmed() {
    while (!outgoing_.empty() && outgoing_.front().confirmed) {
        note_confirmed(outgoing_.front());
        outgoing_.pop_front();
        --sent_;
    }
}

void Link::note_confirmed(const Outgoing& outgoing) noexcept {
    if (!outgoing.state) {  // only this thread writes states
        confirmed_messages_.store(confirmed_messages_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    if (!outgoing.message.event) return;
    ++answered_events_.events;
    if (outgoing.refused) ++answered_events_.refused;
    answered_.write(answered_events_);
}

void Link::forget_connection() {
    counters_.connected.set(0);
    accepted_ = false;
    scan_ = Scan::none;
    for (std::size_t i = 0; i < sent_; ++i) {
        if (outgoing_[i].confirmed) {
            note_confirmed(outgoing_[i]);
        } else if (!outgoing_[i].state) {
            counters_.resent.add();
        }
    }
    std::erase_if(outgoing_, [](const Outgoing& outgoing) { return outgoing.state || outgoing.confirmed; });
    sent_ = 0;
    forget_earlier();
}

void Link::disconnect(mosquitto* client) {
    scan_ = Scan::none;
    send_waiting(client);
    outgoing_.push_back(state_message(kStopped));
    const auto until = core::monotonic_nanos() + kDisconnectTimeoutNs;
    while (!outgoing_.empty() && core::monotonic_nanos() < until) {
        if (!exchange(client)) return;
    }
    if (mosquitto_disconnect(client) != MOSQ_ERR_SUCCESS) return;
    while (mosquitto_want_write(client) && core::monotonic_nanos() < until) {
        if (mosquitto_loop_write(client, 1) != MOSQ_ERR_SUCCESS) return;
        pollfd writable{mosquitto_socket(client), POLLOUT, 0};
        static_cast<void>(::poll(&writable, 1, kTickMs));
    }
}

}  // namespace millpond::gateway::mqtt
