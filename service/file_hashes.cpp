#include "service/file_hashes.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/descriptor.hpp>

namespace millpond::service {
namespace {

class Sha256 {
public:
    Sha256() { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
    void add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
    std::string finish() {
        std::string hash(EVP_MAX_MD_SIZE, '\0');
        unsigned length = 0;
        EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(hash.data()), &length);
        hash.resize(length);
        return hash;
    }

private:
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

/// Hashes a file; empty if it is not a readable regular file. No byte of it stays in memory: it may be a private key.
std::string file_hash(const std::string& path) {
    struct stat facts{};
    const core::Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
    std::array<char, 4'096> block;
    Sha256 hash;
    ssize_t got = 1;
    while (got > 0) {
        got = ::read(file.get(), block.data(), block.size());
        if (got > 0) hash.add({block.data(), static_cast<std::size_t>(got)});
    }
    OPENSSL_cleanse(block.data(), block.size());
    return got == 0 ? hash.finish() : std::string{};
}

std::string folder_hash(const std::string& path) {
    std::error_code ignored;
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator{path, ignored}) files.insert(entry.path());
    Sha256 hash;
    for (const auto& file : files) hash.add(file + '\n' + file_hash(file) + '\n');
    return hash.finish();
}

}  // namespace

const std::string& FileHashes::hash_of(const std::string& path) {
    const auto known = known_.find(path);
    if (known != known_.end()) return known->second;
    std::error_code ignored;
    const bool is_folder = std::filesystem::is_directory(path, ignored);
    return known_.emplace(path, is_folder ? folder_hash(path) : file_hash(path)).first->second;
}

std::string FileHashes::of(std::span<const std::string> paths) {
    Sha256 hash;
    for (const auto& path : paths) {
        if (!path.empty()) hash.add(path + '\n' + hash_of(path) + '\n');
    }
    return hash.finish();
}

}  // namespace millpond::service
