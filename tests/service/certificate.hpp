#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace millpond::test {

/// A temporary folder, removed with this object.
class Folder {
public:
    explicit Folder(const std::string& what)
        : path_(std::filesystem::temp_directory_path() / ("millpond-" + what + "-" + std::to_string(getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

/// A self-signed certificate for 127.0.0.1 with its key, in two PEM files of a folder.
class Certificate {
public:
    explicit Certificate(const Folder& folder, const std::string& name = "server")
        : certificate(folder / (name + ".crt")), key(folder / (name + ".key")) {
        const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pair{EVP_EC_gen("P-256"), EVP_PKEY_free};
        const std::unique_ptr<X509, decltype(&X509_free)> x509{X509_new(), X509_free};
        ASN1_INTEGER_set(X509_get_serialNumber(x509.get()), 1);
        X509_gmtime_adj(X509_getm_notBefore(x509.get()), -3'600);
        X509_gmtime_adj(X509_getm_notAfter(x509.get()), 86'400);
        X509_set_pubkey(x509.get(), pair.get());
        auto* subject = X509_get_subject_name(x509.get());
        const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, text, -1, -1, 0);
        X509_set_issuer_name(x509.get(), subject);
        X509_sign(x509.get(), pair.get(), EVP_sha256());
        write(certificate, [&](FILE* file) { return PEM_write_X509(file, x509.get()); });
        write(key, [&](FILE* file) {
            return PEM_write_PrivateKey(file, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
        });
        std::filesystem::permissions(key, std::filesystem::perms{0600});
    }

    std::string certificate;
    std::string key;

private:
    template <class Write>
    static void write(const std::string& path, Write&& how) {
        FILE* file = std::fopen(path.c_str(), "w");
        const bool good = file != nullptr && how(file) == 1;
        if (file != nullptr) std::fclose(file);
        if (!good) throw std::runtime_error("cannot write " + path);
    }
};

}  // namespace millpond::test
