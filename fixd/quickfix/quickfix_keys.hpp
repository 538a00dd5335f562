#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

/// QuickFIX's settings and their counterparts.
namespace millpond::fixd::quickfix {

enum class Kind : std::uint8_t {
    text,
    number,
    yes_no,
    header,  ///< A field of [session.header]; the key is its tag.
};

/// A setting that becomes one key with the same meaning.
struct PlainKey {
    std::string_view quickfix;
    std::string_view ours;
    Kind kind;
};

inline constexpr auto kPlainKeys = std::to_array<PlainKey>({
    {"SenderSubID", "50", Kind::header},
    {"TargetSubID", "57", Kind::header},
    {"SenderLocationID", "142", Kind::header},
    {"TargetLocationID", "143", Kind::header},
    {"SocketLocalHost", "local_address", Kind::text},
    {"SocketConnectSourceHost", "local_address", Kind::text},
    {"ProxyUser", "proxy_username", Kind::text},
    {"HeartBtInt", "heartbeat_seconds", Kind::number},
    {"LogonTimeout", "logon_seconds", Kind::number},
    {"LogoutTimeout", "logout_seconds", Kind::number},
    {"MaxLatency", "max_latency_seconds", Kind::number},
    {"ResetOnLogon", "reset_on_logon", Kind::yes_no},
    {"ResetOnLogout", "reset_on_logout", Kind::yes_no},
    {"ResetOnDisconnect", "reset_on_disconnect", Kind::yes_no},
    {"ResetOnError", "reset_on_error", Kind::yes_no},
    {"CheckCompID", "check_comp_ids", Kind::yes_no},
    {"RejectGarbledMessage", "reject_garbled", Kind::yes_no},
    {"EnableLastMsgSeqNumProcessed", "send_last_processed", Kind::yes_no},
    {"EnableNextExpectedMsgSeqNum", "send_next_expected", Kind::yes_no},
    {"SendNextExpectedMsgSeqNum", "send_next_expected", Kind::yes_no},
    {"MaxMessagesInResendRequest", "resend_chunk", Kind::number},
    {"ResendRequestChunkSize", "resend_chunk", Kind::number},
    {"ValidateFieldsHaveValues", "fields_have_values", Kind::yes_no},
    {"ValidateUserDefinedFields", "user_fields_are_known", Kind::yes_no},
    {"ValidateFieldsOutOfOrder", "fields_are_in_order", Kind::yes_no},
    {"ValidateUnorderedGroupFields", "members_are_in_order", Kind::yes_no},
});

inline constexpr auto kApplVerIds =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"2", "FIX.4.0"},
                                                                  {"3", "FIX.4.1"},
                                                                  {"4", "FIX.4.2"},
                                                                  {"5", "FIX.4.3"},
                                                                  {"6", "FIX.4.4"},
                                                                  {"7", "FIX.5.0"},
                                                                  {"8", "FIX.5.0SP1"},
                                                                  {"9", "FIX.5.0SP2"},
                                                                  {"10", "FIX.Latest"},
                                                                  {"FIXLatest", "FIX.Latest"}});

inline constexpr auto kPrecisions = std::to_array<std::pair<std::string_view, std::string_view>>({{"0", "s"},
                                                                                                  {"3", "ms"},
                                                                                                  {"6", "us"},
                                                                                                  {"9", "ns"},
                                                                                                  {"SECONDS", "s"},
                                                                                                  {"MILLIS", "ms"},
                                                                                                  {"MICROS", "us"},
                                                                                                  {"NANOS", "ns"}});

/// A setting without a counterpart. With its usual value, nothing is lost.
struct WithoutCounterpart {
    std::string_view quickfix;
    std::string_view usual;  ///< Empty: any value is a loss.
    std::string_view reason;
};

inline constexpr std::string_view kJavaStore =
    "a Java key store; convert it to PEM files (keytool, openssl pkcs12) for tls_certificate and tls_key";
inline constexpr std::string_view kDatabase = "stores are files: use `store`";
inline constexpr std::string_view kScreen =
    "messages are not logged to the screen; use raw_log and `millpond fix print`";
inline constexpr std::string_view kProtocols = "TLS 1.2 and later with OpenSSL's ciphers are used";

inline constexpr auto kWithoutCounterpart = std::to_array<WithoutCounterpart>({
    {"SocketNodelay", "Y", "TCP_NODELAY is always on"},
    {"SocketTcpNoDelay", "Y", "TCP_NODELAY is always on"},
    {"SocketReuseAddress", "Y", "SO_REUSEADDR is always on"},
    {"ValidateLengthAndChecksum", "Y", "both are always validated"},
    {"ValidateIncomingMessage", "Y", "unchecked_types = [\"*\"] lets application messages pass"},
    {"ValidateSequenceNumbers", "Y", "sequence numbers are always validated"},
    {"AllowUnknownMsgFields", "N", "message_fields_are_known = false lets such fields pass"},
    {"SendRedundantResendRequests", "N", "one ResendRequest is open at a time"},
    {"UseClosedResendInterval", "N", "an open range is requested; resend_chunk makes closed ones"},
    {"ClosedResendInterval", "N", "an open range is requested; resend_chunk makes closed ones"},
    {"RefreshOnLogon", "N", "only the C++ API has it: SessionConfig::refresh_on_logon"},
    {"DisconnectOnError", "N", "an error is answered with a Reject"},
    {"ForceResendWhenCorruptedStore", "N",
     "messages that the store does not have are gap filled; a store that cannot be read is refused at startup"},
    {"ForceResync", "",
     "not known as a key of QuickFIX, QuickFIX/J or QuickFIX/n: `millpond fix sessions set-seq` or reset sets "
     "numbers"},
    {"IgnorePossDupResendRequests", "N", "such requests are answered"},
    {"RequiresOrigSendingTime", "Y", "OrigSendingTime is always required of PossDup messages"},
    {"RejectMessageOnUnhandledException", "N", "callbacks do not throw"},
    {"AcceptorTemplate", "Y", "a session whose target is * is a template"},
    {"DynamicSession", "Y", "a session whose target is * is a template"},
    {"UseLocalTime", "N", "times are in `timezone`: set the machine's zone"},
    {"SessionQualifier", "", "sessions have no qualifier: two sessions need different CompIDs or versions"},
    {"LogonTag", "", "use [session.logon]"},
    {"Username", "", "your own code reads it: use username, or 553 in [session.logon]"},
    {"Password", "", "your own code reads it: use password_file, password_env, or 554 in [session.logon]"},
    {"ProxyPassword", "", "put it into a file or the environment: proxy_password_file, proxy_password_env"},
    {"ProxyVersion", "5", "SOCKS is supported in version 5 only"},
    {"ProxyDomain", "", "NTLM is not supported"},
    {"SocketLocalPort", "", "the kernel chooses the local port"},
    {"SocketConnectSourcePort", "", "the kernel chooses the local port"},
    {"MaxScheduledWriteRequests", "", "pending_bytes and stall_seconds limit what a slow counterparty leaves unread"},
    {"SocketSynchronousWrites", "", "writes never block; pending_bytes limits unsent data"},
    {"SocketSynchronousWriteTimeout", "", "writes never block; stall_seconds limits how long data waits"},
    {"SocketSendBufferSize", "", "the kernel's default size is used"},
    {"SocketReceiveBufferSize", "", "the kernel's default size is used"},
    {"SocketKeepAlive", "", "heartbeats detect dead connections"},
    {"SocketLinger", "", "connections are always closed in order"},
    {"FileStoreSync", "N", "durability = \"message\" syncs each message"},
    {"FileStoreMaxCachedMsgs", "", "messages are read from the mapped file"},
    {"HttpAcceptPort", "", "metrics and `millpond fix sessions` show the sessions"},
    {"ScreenLogShowIncoming", "", kScreen},
    {"ScreenLogShowOutgoing", "", kScreen},
    {"ScreenLogShowEvents", "", kScreen},
    {"ScreenLogEvents", "", kScreen},
    {"FileLogBackupPath", "", "raw_log_rotate renames the raw log"},
    {"SLF4JLogEventCategory", "", "the engine logs to its standard error"},
    {"MySQLStoreDatabase", "", kDatabase},
    {"PostgreSQLStoreDatabase", "", kDatabase},
    {"OdbcStoreConnectionString", "", kDatabase},
    {"JdbcURL", "", kDatabase},
    {"JdbcDriver", "", kDatabase},
    {"SleepycatDatabaseDir", "", kDatabase},
    {"SocketKeyStore", "", kJavaStore},
    {"SocketKeyStorePassword", "", kJavaStore},
    {"SocketTrustStore", "", kJavaStore},
    {"SocketTrustStorePassword", "", kJavaStore},
    {"KeyStoreType", "", kJavaStore},
    {"TrustStoreType", "", kJavaStore},
    {"KeyManagerFactoryAlgorithm", "", kJavaStore},
    {"TrustManagerFactoryAlgorithm", "", kJavaStore},
    {"SSLEnable", "N", "set tls = true, or tls_certificate and tls_key of the [[acceptor]]"},
    {"SSLCertificate", "", "convert it to PEM files (openssl pkcs12) for tls_certificate and tls_key"},
    {"SSLCertificatePassword", "", "convert the certificate to PEM files (openssl pkcs12) without a password"},
    {"SSLCACertificate", "", "use tls_authorities, a PEM file"},
    {"SSLServerName", "", "use tls_server_name"},
    {"SSLValidateCertificates", "Y", "tls_verify = false does not verify certificates"},
    {"SSLRequireClientCertificate", "", "tls_verify of the [[acceptor]] asks for client certificates"},
    {"UseSNI", "", "the name of the host, or tls_server_name, is always sent"},
    {"SNIHostName", "", "use tls_server_name"},
    {"EndpointIdentificationAlgorithm", "",
     "the name in the certificate is always verified, unless tls_verify is false"},
    {"NeedClientAuth", "", "tls_verify of the [[acceptor]] asks for client certificates"},
    {"EnabledProtocols", "", kProtocols},
    {"CipherSuites", "", kProtocols},
    {"SSLProtocol", "", kProtocols},
    {"SSLCipherSuite", "", kProtocols},
    {"CertificationAuthoritiesDirectory", "", "tls_authorities is one file with all authorities"},
    {"CertificateRevocationListFile", "", "certificates are not checked against revocation lists"},
    {"CertificateRevocationListDirectory", "", "certificates are not checked against revocation lists"},
});

}  // namespace millpond::fixd::quickfix
