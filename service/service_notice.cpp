#include "service/service_notice.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace millpond::service {
namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): at start
    return value == nullptr ? std::string{} : value;
}

}  // namespace

ServiceNotice::ServiceNotice() : address_(variable("NOTIFY_SOCKET")) {
    constexpr std::string_view kKinds = "/@";
    if (address_.empty() || kKinds.find(address_.front()) == std::string_view::npos ||
        address_.size() >= sizeof(sockaddr_un::sun_path)) {
        return;
    }
    socket_ = core::Descriptor{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (address_.front() == '@') address_.front() = '\0';  // an abstract name, without a file
    const auto pid = variable("WATCHDOG_PID");
    if (!pid.empty() && pid != std::to_string(getpid())) return;
    span_ = std::chrono::microseconds{std::strtoll(variable("WATCHDOG_USEC").c_str(), nullptr, 10)};
}

void ServiceNotice::reloading(std::chrono::nanoseconds monotonic_now) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(monotonic_now).count();
    notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(micros));
}

void ServiceNotice::beat(bool alive, std::chrono::nanoseconds now) {
    constexpr int kBeatsInSpan = 3;
    if (span_.count() == 0 || !alive || (beaten_.count() != 0 && now - beaten_ < span_ / kBeatsInSpan)) return;
    beaten_ = now;
    notify("WATCHDOG=1");
}

void ServiceNotice::notify(std::string_view text) const {
    if (!socket_) return;
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address_.data(), address_.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    // A manager that does not listen does not affect the quotes.
    static_cast<void>(
        sendto(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), length));
}

}  // namespace millpond::service
