#include "service/state_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/crc32c.hpp>
#include <millpond/core/created_file.hpp>

#include "service/regular_file.hpp"

namespace millpond::service {
namespace {

constexpr std::string_view kMagic = "mpstate\n";
constexpr std::size_t kKindBytes = 8;
/// More than the samples of any configuration have.
constexpr std::size_t kMaxBytes = std::size_t{4} << 30U;

std::uint32_t checksum(std::string_view content) {
    return core::crc32c({}, std::as_bytes(std::span{content.data(), content.size()}));
}

std::string head_of(StateFileKind kind) {
    BlockBuilder head;
    head.integer(kind.version);
    head.integer(std::uint32_t{0});
    std::string name{kind.name};
    name.resize(kKindBytes);
    return fmt::format("{}{}{}", kMagic, name, head.bytes());
}

}  // namespace

std::string_view BlockParser::raw(std::size_t bytes) {
    if (bytes > rest_.size()) throw std::runtime_error("a block ends too early");
    const auto part = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return part;
}

StateFileWriter::StateFileWriter(const std::filesystem::path& path, StateFileKind kind, mode_t mode)
    : file_(path.string(), 0600), path_(path), mode_(mode) {
    file_.write(head_of(kind));
}

void StateFileWriter::block(std::string_view content) {
    BlockBuilder head;
    head.integer(static_cast<std::uint32_t>(content.size()));
    head.integer(checksum(content));
    file_.write(head.bytes());
    file_.write(content);
    ++blocks_;
}

void StateFileWriter::commit() {
    BlockBuilder end;
    end.integer(std::uint32_t{0});
    end.integer(blocks_);
    file_.write(end.bytes());
    const auto fail = [&](const char* step) {
        throw std::system_error(errno, std::generic_category(), fmt::format("cannot {} '{}'", step, path_.string()));
    };
    if (::fchmod(file_.descriptor(), mode_) != 0) fail("set the permissions of");
    if (::fdatasync(file_.descriptor()) != 0) fail("sync");
    file_.commit();
    core::sync_folder_of(path_.string());
}

bool StateFile::read(const std::filesystem::path& path, StateFileKind kind) {
    blocks.clear();
    std::error_code failed;
    if (!std::filesystem::exists(path, failed) && !failed) return false;
    text = read_regular_file(path.string(), kMaxBytes).text;
    const auto head = head_of(kind);
    const auto version_at = kMagic.size() + kKindBytes;
    const std::string_view bytes{text};
    if (bytes.substr(0, version_at) != std::string_view{head}.substr(0, version_at))
        throw std::runtime_error(fmt::format("is no file of {}", kind.name));
    BlockParser parser{bytes.substr(version_at)};
    if (const auto version = parser.integer<std::uint32_t>(); version != kind.version)
        throw std::runtime_error(fmt::format("has version {}, and this program reads {}", version, kind.version));
    if (parser.integer<std::uint32_t>() != 0) throw std::runtime_error("has a damaged head");
    for (;;) {
        const auto length = parser.integer<std::uint32_t>();
        const auto sum = parser.integer<std::uint32_t>();
        const auto content = parser.raw(length);
        if (length == 0 && sum == blocks.size() && parser.is_at_end()) return true;
        if (length == 0 || checksum(content) != sum)
            throw std::runtime_error(fmt::format("block {} is damaged", blocks.size()));
        blocks.push_back(content);
    }
}

}  // namespace millpond::service
