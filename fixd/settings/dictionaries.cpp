#include "fixd/settings/dictionaries.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include <millpond/fix/dictionary_xml.hpp>

#include "service/config_error.hpp"

namespace millpond::fixd {
namespace {

/// "FIX44" of FIX.4.4, as QuickFIX names its files.
std::string file_name(fix::ApplicationVersion version) {
    std::string name{fix::name(version)};
    std::erase(name, '.');
    return name;
}

bool is_on_fixt(const SessionSettings& session) { return session.config.version == fix::Version::fixt11; }

[[noreturn]] void refuse_dictionary(const SessionSettings& session, const std::string& path, const std::string& why) {
    throw service::ConfigError(fmt::format("{}: dictionary '{}' {}", described(session), path, why));
}

/// Refuses a dictionary with another version or without a Logon: every message would be rejected.
void check_session_dictionary(const SessionSettings& session, const std::string& path,
                              const fix::Dictionary& dictionary) {
    const auto needed = fix::begin_string(session.config.version);
    if (dictionary.version_name() != needed) {
        refuse_dictionary(session, path, fmt::format("is of {}, not {}", dictionary.version_name(), needed));
    }
    if (dictionary.message("A") == nullptr) refuse_dictionary(session, path, "has no Logon");
}

/// Refuses a dictionary of another version. QuickFIX/J's files for the service packs say FIX.5.0.
void check_application_dictionary(const SessionSettings& session, fix::ApplicationVersion version,
                                  const std::string& path, const fix::Dictionary& dictionary) {
    const auto needed = fix::name(version);
    const std::string_view known{dictionary.version_name()};
    if (known == needed || (needed.starts_with("FIX.5.0") && known == "FIX.5.0")) return;
    if (version == fix::ApplicationVersion::latest && known.starts_with(needed)) return;
    refuse_dictionary(session, path, fmt::format("is of {}, not {}", known, needed));
}

}  // namespace

fix::Dictionary read_dictionary_file(const std::string& path) {
    std::ifstream file{path};
    const int failed = file ? 0 : errno;
    std::error_code none;
    if (failed != 0 || std::filesystem::is_directory(path, none)) {
        throw std::system_error(failed != 0 ? failed : EISDIR, std::generic_category(), "cannot read " + path);
    }
    const std::string xml{std::istreambuf_iterator<char>{file}, {}};
    try {
        return fix::read_dictionary(xml);
    } catch (const fix::DictionaryError& error) {
        throw std::runtime_error(path + ": " + error.what());
    }
}

/// A file in `dictionaries`; empty if that is not set.
std::string Dictionaries::in_folder(std::string_view name) const {
    return folder_.empty() ? std::string{} : fmt::format("{}/{}.xml", folder_, name);
}

fix::Dictionary& Dictionaries::file(const std::string& path) {
    const auto known = files_.find(path);
    if (known != files_.end()) return known->second;
    auto& read = files_.emplace(path, read_dictionary_file(path)).first->second;
    for (const auto& text : read.warnings()) warnings_.push_back(fmt::format("{}: {}", path, text));
    return read;
}

const fix::Dictionary& Dictionaries::built_in(fix::Version version) {
    const auto known = built_in_.find(version);
    if (known != built_in_.end()) return known->second;
    return built_in_.emplace(version, fix::Dictionary::session_level(version)).first->second;
}

Dictionaries::Files Dictionaries::paths_of(const SessionSettings& session) const {
    const bool on_fixt = is_on_fixt(session);
    const auto standard = file_name(application_version(session));
    Files files{.session = session.dictionary, .application = session.application_dictionary};
    if (files.session.empty()) files.session = in_folder(on_fixt ? "FIXT11" : standard);
    if (files.application.empty()) files.application = on_fixt ? in_folder(standard) : files.session;
    return files;
}

std::string Dictionaries::path_of(const FurtherVersion& further) const {
    return further.dictionary.empty() ? in_folder(file_name(further.version)) : further.dictionary;
}

Dictionaries::Pair Dictionaries::of(const SessionSettings& session) {
    const auto [own, application] = paths_of(session);
    const bool on_fixt = is_on_fixt(session);
    if (on_fixt && !own.empty()) file(own).complete_logon();
    if (!own.empty()) check_session_dictionary(session, own, file(own));
    if (on_fixt && !application.empty()) {
        check_application_dictionary(session, application_version(session), application, file(application));
    }
    return {.session = own.empty() ? &built_in(session.config.version) : &file(own),
            .application = application.empty() ? nullptr : &file(application)};
}

std::vector<fix::ApplicationDictionary> Dictionaries::further(const SessionSettings& session) {
    std::vector<fix::ApplicationDictionary> all;
    for (const auto& further : session.further_versions) {
        const auto path = path_of(further);
        if (!path.empty()) check_application_dictionary(session, further.version, path, file(path));
        all.push_back({further.version, path.empty() ? nullptr : &file(path)});
    }
    return all;
}

std::vector<std::string> Dictionaries::files_of(const SessionSettings& session) const {
    const auto [own, application] = paths_of(session);
    std::vector<std::string> files{own, application};
    for (const auto& further : session.further_versions) files.push_back(path_of(further));
    return files;
}

}  // namespace millpond::fixd
