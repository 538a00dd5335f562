#include "apps/millpond/traffic/traffic_file.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <system_error>

#include <millpond/core/endian.hpp>
#include <millpond/feed/moldudp64_packet.hpp>
#include <millpond/net/pcap_writer.hpp>
#include <millpond/net/socket_address.hpp>

#include "service/stdio_file.hpp"

namespace millpond::traffic {
namespace {

/// Temporary path of a file until it is complete: beside it, or beside the target of a symbolic link. A device or a
/// pipe is written directly, because a rename would replace it by a file.
std::string place_of(const std::string& path) {
    std::error_code unknown;
    const auto status = std::filesystem::status(path, unknown);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return path;
    const auto target = std::filesystem::canonical(path, unknown);
    return (unknown ? path : target.string()) + ".part";
}

/// A file that appears when it is complete.
class NewFile {
public:
    explicit NewFile(std::string path)
        : path_(std::move(path)), part_(place_of(path_)), file_(std::fopen(part_.c_str(), "wbe")) {
        if (!file_) fail();
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile() {
        if (!file_) return;
        file_.reset();
        if (part_ == path_) return;
        std::error_code ignored;
        std::filesystem::remove(part_, ignored);
    }
    void write(const std::string& bytes) {
        if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail();
    }
    void finish() {
        if (std::fclose(file_.release()) != 0) fail();
        if (part_ != path_) std::filesystem::rename(part_, part_.substr(0, part_.rfind('.')));
    }

private:
    [[noreturn]] void fail() const {
        throw std::system_error(errno, std::generic_category(), "cannot write '" + path_ + "'");
    }
    std::string path_;
    std::string part_;
    service::StdioFile file_;
};

std::uint64_t append_messages(std::string& out, std::span<const std::byte> datagram) {
    std::uint64_t messages = 0;
    const auto packet = feed::MoldUdp64Packet::read(datagram, [&](std::span<const std::byte> message) {
        if (message.empty()) return;
        out += static_cast<char>(message.size() >> 8U);
        out += static_cast<char>(message.size() & 0xFFU);
        out.append(reinterpret_cast<const char*>(message.data()), message.size());
        ++messages;
    });
    if (packet.error) throw std::runtime_error("a generated datagram is not a MoldUDP64 packet");
    return messages;
}

}  // namespace

Written write_traffic(Source& source, const std::string& path, const FileOptions& options,
                      const std::atomic<bool>& stop) {
    constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
    const auto from = net::SocketAddress::parse("127.0.0.1:1");
    const auto to = net::SocketAddress::parse("239.1.1.1:14000");
    NewFile file{path};
    std::string bytes;
    Written written;
    if (!options.messages_only) net::append_pcap_header(bytes);
    Outgoing out;
    while (!stop.load(std::memory_order_relaxed) && source.next(out)) {
        ++written.datagrams;
        if (options.messages_only) {
            written.messages += append_messages(bytes, out.bytes);
        } else {
            written.messages += out.messages;
            if (!net::append_pcap_datagram(bytes, {.utc_ns = options.begin_utc_ns + out.due_ns,
                                                   .source = from,
                                                   .destination = to,
                                                   .payload = out.bytes}))
                throw std::runtime_error("a datagram of " + std::to_string(out.bytes.size()) +
                                         " bytes does not fit into a capture");
        }
        if (bytes.size() < kFlushBytes) continue;
        file.write(bytes);
        written.bytes += bytes.size();
        bytes.clear();
    }
    if (!source.error().empty()) throw std::runtime_error(source.error());
    if (stop.load(std::memory_order_relaxed)) return written;
    file.write(bytes);
    written.bytes += bytes.size();
    file.finish();
    written.complete = true;
    return written;
}

}  // namespace millpond::traffic
