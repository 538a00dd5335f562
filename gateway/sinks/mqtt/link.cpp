#include "gateway/sinks/mqtt/link.hpp"

#include <fmt/format.h>
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
constexpr std::int64_t kGoodbyeNs = 1'000'000'000;
/// Timeout for the broker's retained messages.
constexpr std::int64_t kLookNs = 10'000'000'000;
/// A broker may drop what a slow connection does not take at once, so it is asked until nothing new comes.
constexpr int kMostLooks = 16;
constexpr std::size_t kMostOfALook = 65'536;
constexpr int kFirstErrorCode = 128;  ///< From here on a reason code of MQTT 5 is a refusal.

}  // namespace

Link::Link(const Options& options, service::Say say)
    : options_(options), say_(std::move(say)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), offered_(options.window) {
    if (!wake_) throw std::system_error(errno, std::generic_category(), "eventfd");
    static_cast<void>(connectable());  // whether the settings are good
    thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

Link::~Link() {
    thread_.request_stop();
    wake();
    thread_.join();
}

std::size_t Link::room() const noexcept {
    if (counters_.connected.read() == 0) return 0;
    return options_.window -
           static_cast<std::size_t>(offered_messages_ - confirmed_messages_.load(std::memory_order_relaxed));
}

void Link::offer(const Message& message) noexcept {
    const bool fits = offered_.try_push(message);
    assert(fits);
    static_cast<void>(fits);
    ++offered_messages_;
    if (message.event) ++offered_events_;
}

void Link::wake() const noexcept { static_cast<void>(eventfd_write(wake_.get(), 1)); }

Client Link::connectable() {
    auto client = make_client(options_, kLost, this);
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
        if (link.look_ == Look::asked && std::any_of(granted, granted + count, [](int code) { return code > 2; }))
            link.look_ = Look::refused;
    });
    return client;
}

void Link::run(const std::stop_token& stop) {
    core::name_this_thread(options_.name + " link");
    auto pause = options_.reconnect;
    while (!stop.stop_requested()) {
        const auto before = connections();
        serve(stop);
        if (stop.stop_requested()) return;
        if (connections() != before) pause = options_.reconnect;
        rest(pause, stop);
        pause = std::min(pause * 2, options_.reconnect_longest);
    }
}

void Link::rest(std::chrono::milliseconds time, const std::stop_token& stop) const {
    const auto until = core::monotonic_nanos() + std::chrono::nanoseconds{time}.count();
    while (!stop.stop_requested() && core::monotonic_nanos() < until) {
        pollfd woken{wake_.get(), POLLIN, 0};
        eventfd_t count = 0;
        if (::poll(&woken, 1, kTickMs) > 0) static_cast<void>(eventfd_read(wake_.get(), &count));
    }
}

void Link::fail(const std::string& why) {
    say_(service::Severity::warning, options_.name + ".link",
         fmt::format("mqtt sink '{}': broker {}:{}: {}; retrying", options_.name, options_.host, options_.port, why));
}

void Link::serve(const std::stop_token& stop) {
    if (const auto why = unreachable(options_.host, options_.port, stop)) {
        if (!stop.stop_requested()) fail(*why);
        return counters_.failed_connects.add();
    }
    const auto before = connections();
    refusal_.clear();
    try {
        const auto client = connectable();
        const int error = mosquitto_connect(client.get(), options_.host.c_str(), options_.port,
                                            static_cast<int>(options_.keepalive.count()));
        if (error != MOSQ_ERR_SUCCESS) {
            fail(reason(error));
        } else {
            const auto bytes = static_cast<int>(options_.send_buffer);
            setsockopt(mosquitto_socket(client.get()), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
            talk(client.get(), stop);
        }
    } catch (const std::exception& error) {  // a file of TLS that is gone since the start
        fail(error.what());
    }
    forget_connection();
    if (connections() == before) return counters_.failed_connects.add();
    if (!stop.stop_requested()) counters_.losses.add();
}

void Link::talk(mosquitto* client, const std::stop_token& stop) {
    while (exchange(client)) {
        if (!stop.stop_requested()) continue;
        if (accepted_) say_goodbye(client);
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
        if (look_ != Look::none) end_look(client);
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
    refusal_ = fmt::format("refuses us{}: {}", options_.user.empty() ? "" : fmt::format(" as user '{}'", options_.user),
                           code < kFirstErrorCode ? mosquitto_connack_string(code) : mosquitto_reason_string(code));
}

void Link::begin(mosquitto* client) {
    if (looked_ || !options_.retain) {
        outgoing_.push_front(state_message(kOnline));
        return announce(client);
    }
    looks_ = 0;
    look_until_ns_ = core::monotonic_nanos() + kLookNs;
    filter_ = filter_of(options_.topic);
    bool shows_state = false;
    static_cast<void>(mosquitto_topic_matches_sub(filter_.c_str(), options_.state_topic.c_str(), &shows_state));
    if (!shows_state) static_cast<void>(mosquitto_subscribe(client, nullptr, options_.state_topic.c_str(), 0));
    ask_for_retained(client);
}

void Link::ask_for_retained(mosquitto* client) {
    ++looks_;
    look_ = Look::asked;
    if (mosquitto_subscribe(client, nullptr, filter_.c_str(), 0) != MOSQ_ERR_SUCCESS) look_ = Look::refused;
    outgoing_.push_back(state_message(kStarting));
}

void Link::on_message(std::string_view topic, std::string_view payload, bool retained) {
    if (look_ != Look::asked) return;
    if (!retained) {
        // Ours: the broker has sent all retained messages.
        if (topic == options_.state_topic && payload == kStarting) look_ = Look::seen;
        return;
    }
    if (topic == options_.state_topic || !is_of_template(options_.topic, topic)) return;
    const auto marked = marked_incomplete(payload);
    Outgoing outgoing{.message = {}, .state = true};
    if (!marked || marked->size() > outgoing.message.payload.size() || earlier_.size() == kMostOfALook) return;
    outgoing.message.topic = &earlier_.emplace_back(topic);
    outgoing.message.length = static_cast<std::uint16_t>(marked->size());
    std::copy(marked->begin(), marked->end(), outgoing.message.payload.begin());
    outgoing_.push_back(outgoing);
}

void Link::end_look(mosquitto* client) {
    const bool late = core::monotonic_nanos() >= look_until_ns_;
    if (look_ == Look::asked && !late) return;
    if (look_ == Look::seen && !late && looks_ < kMostLooks && !earlier_.empty()) {
        if (!outgoing_.empty()) return;  // the marks first
        earlier_.clear();
        return ask_for_retained(client);
    }
    if (look_ != Look::seen) {
        say_(service::Severity::warning, options_.name + ".retained",
             fmt::format(
                 "mqtt sink '{}': broker {}:{} does not send its retained messages for '{}': quotes of an earlier run "
                 "may look valid",
                 options_.name, options_.host, options_.port, filter_));
    }
    look_ = Look::none;
    looked_ = true;
    static_cast<void>(mosquitto_unsubscribe(client, nullptr, filter_.c_str()));
    static_cast<void>(mosquitto_unsubscribe(client, nullptr, options_.state_topic.c_str()));
    outgoing_.push_back(state_message(kOnline));
    announce(client);
}

void Link::announce(mosquitto* client) {
    counters_.connects.add();
    counters_.connected.set(1);
    say_(service::Severity::info, options_.name + ".link",
         fmt::format("mqtt sink '{}': broker {}:{} is connected", options_.name, options_.host, options_.port));
    send_waiting(client);
}

Link::Outgoing Link::state_message(std::string_view json) const {
    Outgoing state{.message = {.topic = &options_.state_topic, .length = static_cast<std::uint16_t>(json.size())},
                   .state = true};
    std::copy(json.begin(), json.end(), state.message.payload.begin());
    return state;
}

void Link::send_waiting(mosquitto* client) {
    while (!mosquitto_want_write(client)) {
        if (sent_ == outgoing_.size()) {
            auto& next = outgoing_.emplace_back();
            if (!offered_.try_pop(next.message)) return outgoing_.pop_back();
        }
        auto& outgoing = outgoing_[sent_++];
        if (const int error = publish(client, outgoing); error != MOSQ_ERR_SUCCESS) {
            refusal_ = fmt::format("a message for '{}' cannot be sent: {}", *outgoing.message.topic, reason(error));
            return;
        }
        drop_confirmed();
    }
}

int Link::publish(mosquitto* client, Outgoing& outgoing) {
    const auto& message = outgoing.message;
    int id = 0;
    const int error = mosquitto_publish(client, &id, message.topic->c_str(), message.length, message.payload.data(),
                                        options_.qos, outgoing.state || options_.retain);
    outgoing.id = id;
    return error;
}

void Link::on_publish(int id, int code) {
    // QoS 0: what was written is confirmed, in the order of the sends, and perhaps before publish() has its id.
    const auto sent = outgoing_.begin() + static_cast<std::ptrdiff_t>(sent_);
    const auto found = std::find_if(outgoing_.begin(), sent, [&](const Outgoing& outgoing) {
        return !outgoing.confirmed && (options_.qos == 0 || outgoing.id == id);
    });
    if (found == sent) return;
    found->confirmed = true;
    const auto& message = found->message;
    counters_.messages.add();
    counters_.bytes.add(message.topic->size() + message.length);
    if (code < kFirstErrorCode) return;
    counters_.refused.add();
    say_(service::Severity::warning, options_.name + ".refused",
         fmt::format("mqtt sink '{}': the broker refuses a message for '{}': {}", options_.name, *message.topic,
                     mosquitto_reason_string(code)));
}

void Link::drop_confirmed() {
    while (!outgoing_.empty() && outgoing_.front().confirmed) {
        note_confirmed(outgoing_.front());
        outgoing_.pop_front();
        --sent_;
    }
}

void Link::note_confirmed(const Outgoing& outgoing) noexcept {
    // Only this thread writes them.
    const auto grow = [](std::atomic<std::uint64_t>& count) {
        count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    };
    if (!outgoing.state) grow(confirmed_messages_);
    if (outgoing.message.event) grow(confirmed_events_);
}

void Link::forget_connection() {
    counters_.connected.set(0);
    accepted_ = false;
    look_ = Look::none;
    for (std::size_t i = 0; i < sent_; ++i) {
        if (outgoing_[i].confirmed) {
            note_confirmed(outgoing_[i]);
        } else if (!outgoing_[i].state) {
            counters_.resent.add();
        }
    }
    std::erase_if(outgoing_, [](const Outgoing& outgoing) { return outgoing.state || outgoing.confirmed; });
    sent_ = 0;
    earlier_.clear();
}

void Link::say_goodbye(mosquitto* client) {
    look_ = Look::none;
    send_waiting(client);
    outgoing_.push_back(state_message(kStopped));
    const auto until = core::monotonic_nanos() + kGoodbyeNs;
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
