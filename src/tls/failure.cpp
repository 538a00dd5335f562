#include <millpond/tls/failure.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>

namespace millpond::tls {

std::string_view failure_reason(const ssl_st& connection, unsigned long error) noexcept {
    const bool verifies = SSL_get_verify_mode(&connection) != SSL_VERIFY_NONE;
    const auto verified = verifies ? SSL_get_verify_result(&connection) : X509_V_OK;
    if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
    const bool is_end =
        ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    const auto* const reason = is_end ? nullptr : ERR_reason_error_string(error);
    return reason != nullptr ? reason : "the peer closed the connection";
}

}  // namespace millpond::tls
