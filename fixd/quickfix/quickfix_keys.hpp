#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

/// QuickFIX's settings and their counterparts.
namespace millpond::fixd::quickfix {

enum class Kind : std::uint8_t {
    text,
    address,
    number,
    yes_no,
    no_yes,  ///< Y is false.
};

/// A setting that becomes one key with the same meaning.
struct PlainKey {
    std::string_view quickfix;
    std::string_view ours;
    Kind kind;
    std::uint64_t min{0};  ///< Range of a number.
    std::uint64_t max{0};
};

inline constexpr std::uint64_t kHourSeconds = 3'600;
inline constexpr std::uint64_t kDaySeconds = 24 * kHourSeconds;
inline constexpr std::uint64_t kMaxResendChunk = 1'000'000;

inline constexpr auto kPlainKeys = std::to_array<PlainKey>({
    {"SocketLocalHost", "local_address", Kind::address},
    {"SocketConnectSourceHost", "local_address", Kind::address},
    {"ProxyUser", "proxy_username", Kind::text},
    {"HeartBtInt", "heartbeat_seconds", Kind::number, 0, kDaySeconds},
    {"LogonTimeout", "logon_seconds", Kind::number, 1, kHourSeconds},
    {"LogoutTimeout", "logout_seconds", Kind::number, 1, kHourSeconds},
    {"MaxLatency", "max_latency_seconds", Kind::number, 1, kDaySeconds},
    {"ResetOnLogon", "reset_on_logon", Kind::yes_no},
    {"ResetOnLogout", "reset_on_logout", Kind::yes_no},
    {"ResetOnDisconnect", "reset_on_disconnect", Kind::yes_no},
    {"ResetOnError", "reset_on_error", Kind::yes_no},
    {"CheckCompID", "check_comp_ids", Kind::yes_no},
    {"RejectGarbledMessage", "reject_garbled", Kind::yes_no},
    {"EnableLastMsgSeqNumProcessed", "send_last_processed", Kind::yes_no},
    {"EnableNextExpectedMsgSeqNum", "send_next_expected", Kind::yes_no},
    {"SendNextExpectedMsgSeqNum", "send_next_expected", Kind::yes_no},
    {"MaxMessagesInResendRequest", "resend_chunk", Kind::number, 0, kMaxResendChunk},
    {"ResendRequestChunkSize", "resend_chunk", Kind::number, 0, kMaxResendChunk},
    {"ValidateFieldsHaveValues", "fields_have_values", Kind::yes_no},
    {"ValidateUserDefinedFields", "user_fields_are_known", Kind::yes_no},
    {"ValidateFieldsOutOfOrder", "fields_are_in_order", Kind::yes_no},
    {"ValidateUnorderedGroupFields", "members_are_in_order", Kind::yes_no},
    {"AllowUnknownMsgFields", "message_fields_are_known", Kind::no_yes},
    {"AllowUnknownEnumValues", "values_are_known", Kind::no_yes},
    {"RequiresOrigSendingTime", "requires_orig_sending_time", Kind::yes_no},
});

/// Settings that only a session with TLS has: QuickFIX's own SSL classes read them without a switch.
inline constexpr auto kOfTls = std::to_array<std::string_view>(
    {"CertificationAuthoritiesFile", "CertificationAuthoritiesDirectory", "CertificateRevocationListFile",
     "CertificateRevocationListDirectory", "SSLProtocol", "SSLCipherSuite"});

/// Settings that only initiators read; sessions of acceptors may inherit them.
inline constexpr auto kOfInitiators = std::to_array<std::string_view>(
    {"ReconnectInterval", "SocketConnectHost", "SocketConnectPort", "SocketConnectSourceHost",
     "SocketConnectSourcePort", "SocketLocalHost", "SocketLocalPort", "ProxyType", "ProxyHost", "ProxyPort",
     "ProxyUser", "ProxyPassword", "ProxyVersion", "ProxyDomain", "ProxyWorkstation", "ClientCertificateFile",
     "ClientCertificateKeyFile"});
/// Settings that only acceptors read; sessions of initiators may inherit them.
inline constexpr auto kOfAcceptors = std::to_array<std::string_view>(
    {"SocketAcceptPort", "SocketAcceptAddress", "SocketAcceptHost", "AllowedRemoteAddresses", "ServerCertificateFile",
     "ServerCertificateKeyFile", "CertificateVerifyLevel", "NeedClientAuth"});

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
inline constexpr std::string_view kDatabase = "stores and logs are files: use `store` and raw_log";
inline constexpr std::string_view kScreen =
    "messages are not logged to the screen; use raw_log and `millpond fix print`";
inline constexpr std::string_view kLogonTime = "a session logs on and out at `start` and `end`";
inline constexpr std::string_view kSilence = "fixed fractions of the heartbeat interval are used";
inline constexpr std::string_view kRawLog = "raw_log holds every message with its time";
inline constexpr std::string_view kProtocols =
    "not converted: TLS 1.2 and 1.3 are always offered, earlier versions never";
inline constexpr std::string_view kCiphers =
    "not converted: TLS 1.3, or TLS 1.2 with ECDHE and AES-GCM or ChaCha20-Poly1305, is always used";

inline constexpr auto kWithoutCounterpart = std::to_array<WithoutCounterpart>({
    {"SocketNodelay", "Y", "TCP_NODELAY is always on"},
    {"SocketTcpNoDelay", "Y", "TCP_NODELAY is always on"},
    {"SocketReuseAddress", "Y", "SO_REUSEADDR is always on"},
    {"ValidateLengthAndChecksum", "Y", "both are always validated"},
    {"ValidateChecksum", "Y", "the checksum is always validated"},
    {"ValidateSequenceNumbers", "Y", "sequence numbers are always validated"},
    {"FirstFieldInGroupIsDelimiter", "N", "the dictionary's first field of a group begins its members"},
    {"PreserveMessageFieldsOrder", "N", "fields stay in the order of the message"},
    {"SendRedundantResendRequests", "N", "one ResendRequest is open at a time"},
    {"UseClosedResendInterval", "N", "an open range is requested; resend_chunk makes closed ones"},
    {"ClosedResendInterval", "N", "an open range is requested; resend_chunk makes closed ones"},
    {"RefreshOnLogon", "N", "only the C++ API has it: SessionConfig::refresh_on_logon"},
    {"SendResetSeqNumFlag", "N", "reset_on_logon sends ResetSeqNumFlag with each Logon"},
    {"LogonTime", "", kLogonTime},
    {"LogoutTime", "", kLogonTime},
    {"LogonDay", "", kLogonTime},
    {"LogoutDay", "", kLogonTime},
    {"TestRequestDelayMultiplier", "0.5", kSilence},
    {"HeartBeatTimeoutMultiplier", "1.4", kSilence},
    {"DisableHeartBeatCheck", "N", "a silent counterparty is always disconnected"},
    {"ContinueInitializationOnError", "N", "a session that cannot be set up stops the start"},
    {"LogMessageWhenSessionNotFound", "Y", "a Logon of an unknown session is always logged"},
    {"SocketAcceptProtocol", "TCP", "connections are TCP"},
    {"SocketConnectProtocol", "TCP", "connections are TCP"},
    {"DisconnectOnError", "N", "an error is answered with a Reject"},
    {"ForceResendWhenCorruptedStore", "N",
     "messages that the store does not have are gap filled; a store that cannot be read is refused at startup"},
    {"ForceResync", "",
     "not known as a key of QuickFIX, QuickFIX/J or QuickFIX/n: `millpond fix sessions set-seq` or reset sets "
     "numbers"},
    {"IgnorePossDupResendRequests", "N", "such requests are answered"},
    {"AllowPosDup", "N", "the engine sets PossDupFlag and OrigSendingTime itself"},
    {"RejectMessageOnUnhandledException", "N", "callbacks do not throw"},
    {"AcceptorTemplate", "Y", "a session whose target is * is a template"},
    {"DynamicSession", "Y", "a session whose target is * is a template"},
    {"UseLocalTime", "N", "times are in `timezone`: set the machine's zone"},
    {"SessionQualifier", "", "an acceptor finds the session by the ids of the Logon, which has no qualifier"},
    {"LogonTag", "", "use [session.logon]"},
    {"Username", "", "your own code reads it: use username, or 553 in [session.logon]"},
    {"Password", "", "your own code reads it: use password_file, password_env, or 554 in [session.logon]"},
    {"ProxyPassword", "", "put it into a file or the environment: proxy_password_file, proxy_password_env"},
    {"ProxyVersion", "5", "SOCKS is supported in version 5 only"},
    {"ProxyDomain", "", "NTLM is not supported"},
    {"SocketLocalPort", "", "the kernel chooses the local port"},
    {"SocketConnectSourcePort", "", "the kernel chooses the local port"},
    {"MaxScheduledWriteRequests", "",
     "pending_bytes limits what a slow counterparty leaves unread, and one that reads nothing for 30 s is closed"},
    {"SocketSynchronousWrites", "", "writes never block; pending_bytes limits unsent data"},
    {"SocketSynchronousWriteTimeout", "", "writes never block; a counterparty that reads nothing for 30 s is closed"},
    {"SocketSendBufferSize", "", "the kernel's default size is used"},
    {"SocketReceiveBufferSize", "", "the kernel's default size is used"},
    {"SocketKeepAlive", "", "heartbeats detect dead connections"},
    {"SocketLinger", "", "connections are always closed in order"},
    {"FileStoreSync", "N", "durability = \"message\" syncs each message"},
    {"FileStoreMaxCachedMsgs", "", "messages are read from the mapped file"},
    {"HttpAcceptPort", "", "metrics and `millpond fix sessions` show the sessions"},
    {"FileLogBackupPath", "", "raw_log_rotate renames the raw log"},
    {"SocketKeyStore", "", kJavaStore},
    {"SocketKeyStorePassword", "", kJavaStore},
    {"SocketTrustStore", "", kJavaStore},
    {"SocketTrustStorePassword", "", kJavaStore},
    {"KeyStoreType", "", kJavaStore},
    {"TrustStoreType", "", kJavaStore},
    {"KeyManagerFactoryAlgorithm", "", kJavaStore},
    {"TrustManagerFactoryAlgorithm", "", kJavaStore},
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
    {"CipherSuites", "", kCiphers},
    {"SSLProtocol", "", kProtocols},
    {"SSLProtocols", "", kProtocols},
    {"SSLCipherSuite", "", kCiphers},
    {"CertificationAuthoritiesDirectory", "", "tls_authorities is one file with all authorities"},
    {"CertificateRevocationListFile", "", "certificates are not checked against revocation lists"},
    {"CertificateRevocationListDirectory", "", "certificates are not checked against revocation lists"},
});

/// Settings that begin with the same word.
struct Family {
    std::string_view prefix;
    std::string_view reason;
};

inline constexpr auto kFamilies = std::to_array<Family>({
    {"MySQL", kDatabase},
    {"PostgreSQL", kDatabase},
    {"Odbc", kDatabase},
    {"Jdbc", kDatabase},
    {"Sleepycat", kDatabase},
    {"ScreenLog", kScreen},
    {"SLF4JLog", "the engine logs to its standard error"},
    {"FileLogHeartbeats", kRawLog},
    {"FileInclude", kRawLog},
});

}  // namespace millpond::fixd::quickfix
