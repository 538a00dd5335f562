#include "gateway/reload_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/settings/value.hpp"
#include "gateway/sinks/kafka/kafka.hpp"
#include "gateway/sinks/udp/udp_sink.hpp"
#include "service/token.hpp"

namespace millpond::gateway {
namespace {

[[noreturn]] void fail(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

/// The folder that exists, of this one and those above it.
std::filesystem::path existing_part(std::filesystem::path folder) {
    if (folder.empty()) return ".";
    while (!std::filesystem::exists(folder) && folder.has_parent_path() && folder != folder.parent_path()) {
        folder = folder.parent_path();
    }
    return folder.empty() ? "." : folder;
}

void need_writable_folder(const std::filesystem::path& folder) {
    if (!std::filesystem::is_directory(folder)) fail(ENOTDIR, fmt::format("'{}'", folder.string()));
    if (::access(folder.c_str(), W_OK | X_OK) != 0) fail(errno, fmt::format("cannot write in '{}'", folder.string()));
}

}  // namespace

void ReloadCheck::look_at_ring(const std::string& ring) const {
    const bool runs = std::ranges::any_of(now_.rings, [&](const auto& one) { return one.name == ring; });
    if (!runs) throw ConfigError(fmt::format("ring '{}' does not run, and a new ring needs a restart", ring));
}

void ReloadCheck::look_at_address(const net::SocketAddress& listen) const {
    const auto has_port = [&](const auto& sink) { return sink.listen.port() == listen.port(); };
    if (std::ranges::any_of(now_.tcp, has_port) || std::ranges::any_of(now_.web, has_port)) return;
    sockaddr_storage address{};
    const auto length = listen.to_kernel(address);
    const int probe = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0) fail(errno, "a socket");
    const int on = 1;
    ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const bool bound = ::bind(probe, reinterpret_cast<sockaddr*>(&address), length) == 0 && ::listen(probe, 1) == 0;
    const int error = errno;
    ::close(probe);
    if (!bound) fail(error, fmt::format("cannot listen on {}", listen.to_string()));
}

void ReloadCheck::look_at(const TcpConfig& sink) const { look_at_address(sink.listen); }
void ReloadCheck::look_at(const WebConfig& sink) const { look_at_address(sink.listen); }

void ReloadCheck::look_at(const JournalConfig& sink) const { need_writable_folder(existing_part(sink.folder)); }

void ReloadCheck::look_at(const KafkaConfig& sink) const {
    auto options = unchecked_kafka_options(sink);
    options.password = service::read_secret(sink.password, "password");
    kafka::check_files(options);
    const auto folder = std::filesystem::path{sink.position_file}.parent_path();
    if (!folder.empty() && folder != std::filesystem::path{sink.folder}) need_writable_folder(existing_part(folder));
}

void ReloadCheck::look_at(const CsvConfig& sink) const {
    const bool is_ours = std::ranges::any_of(now_.csv, [&](const auto& one) { return one.path == sink.path; });
    if (is_ours) return;
    const std::filesystem::path path{sink.path};
    const auto kind = std::filesystem::symlink_status(path).type();
    if (kind == std::filesystem::file_type::directory) fail(EISDIR, fmt::format("'{}'", sink.path));
    if (kind == std::filesystem::file_type::symlink && !std::filesystem::is_other(path)) {
        fail(ELOOP, fmt::format("'{}' is a symbolic link", sink.path));
    }
    if (kind == std::filesystem::file_type::not_found || kind == std::filesystem::file_type::regular) {
        need_writable_folder(path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."});
    }
}

void ReloadCheck::look_at(const UdpConfig& sink) const {
    const udp::UdpSink probe{{.name = sink.name, .to = sink.to, .interface = sink.interface}, 1, {}};
}

template <class Settings>
std::optional<std::string> ReloadCheck::obstacle(const Settings& sink) const {
    try {
        look_at_ring(sink.ring);
        look_at(sink);
        return std::nullopt;
    } catch (const std::exception& error) {
        return error.what();
    }
}

template std::optional<std::string> ReloadCheck::obstacle(const JournalConfig&) const;
template std::optional<std::string> ReloadCheck::obstacle(const KafkaConfig&) const;
template std::optional<std::string> ReloadCheck::obstacle(const TcpConfig&) const;
template std::optional<std::string> ReloadCheck::obstacle(const WebConfig&) const;
template std::optional<std::string> ReloadCheck::obstacle(const CsvConfig&) const;
template std::optional<std::string> ReloadCheck::obstacle(const UdpConfig&) const;
template std::optional<std::string> ReloadCheck::obstacle(const MqttConfig&) const;

}  // namespace millpond::gateway
