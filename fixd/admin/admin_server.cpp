#include "fixd/admin/admin_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace millpond::fixd {
namespace {

constexpr std::size_t kMaxRequestBytes = 4096;
constexpr std::size_t kMaxAnswerBytes = std::size_t{64} * 1024 * 1024;
constexpr int kClientsInLine = 8;

[[noreturn]] void fail(int error, const std::string& what) {
    throw std::system_error(error, std::system_category(), what);
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) fail(ENAMETOOLONG, "admin socket " + path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

/// Connects to the engine at `path`; empty if none answers.
core::Descriptor connected(const std::string& path) {
    const auto address = address_of(path);
    core::Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!socket) fail(errno, "admin socket " + path);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
    return socket;
}

/// Reads up to a line's end, or until the peer closes or times out.
std::string read_line(int socket, std::size_t longest) {
    std::string line;
    std::array<char, 4096> buffer;
    while (line.size() < longest) {
        const auto got = ::recv(socket, buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        line.append(buffer.data(), static_cast<std::size_t>(got));
        if (const auto end = line.find('\n'); end != std::string::npos) {
            line.resize(end);
            break;
        }
    }
    return line;
}

void write_all(int socket, std::string_view text) {
    while (!text.empty()) {
        const auto sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}

}  // namespace

AdminServer::AdminServer(std::string path, Answer answer) : path_(std::move(path)), answer_(std::move(answer)) {
    const auto address = address_of(path_);
    if (connected(path_)) fail(EADDRINUSE, "admin socket " + path_ + ": another engine uses it");
    struct stat there{};
    if (::lstat(path_.c_str(), &there) == 0 && S_ISSOCK(there.st_mode)) ::unlink(path_.c_str());
    core::Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!socket) fail(errno, "admin socket " + path_);
    // The permissions are set before any process can connect.
    const auto mask = ::umask(0177);
    const bool bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const auto error = errno;
    ::umask(mask);
    if (!bound) fail(error, "cannot make the admin socket " + path_);
    if (::listen(socket.get(), kClientsInLine) != 0) fail(errno, "admin socket " + path_);
    listener_ = std::move(socket);
}

AdminServer::~AdminServer() { ::unlink(path_.c_str()); }

void AdminServer::poll(std::chrono::milliseconds patience) {
    pollfd waiting{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return;
    const core::Descriptor client{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (client) serve(client.get());
}

void AdminServer::serve(int client) {
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const auto request = read_line(client, kMaxRequestBytes);
    if (!request.empty()) write_all(client, answer_(request) + "\n");
}

std::string ask_engine(const std::string& path, std::string_view request) {
    const auto socket = connected(path);
    if (!socket) fail(errno, "no engine responds at " + path);
    write_all(socket.get(), std::string{request} + "\n");
    auto answer = read_line(socket.get(), kMaxAnswerBytes);
    if (answer.empty()) fail(ECONNRESET, "no answer from " + path);
    return answer;
}

}  // namespace millpond::fixd
