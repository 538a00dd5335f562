// Source: FIX 4.0 to 4.4, "Session protocol", and FIXT 1.1: the header, the trailer and the session-level messages.
#include <millpond/fix/dictionary.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>

namespace millpond::fix {
namespace {

struct KnownField {
    Tag tag;
    const char* name;
    FieldType type;
    Version since;
    bool required{false};
};

constexpr KnownField kHeader[] = {
    {8, "BeginString", FieldType::text, Version::fix40, true},
    {9, "BodyLength", FieldType::length, Version::fix40, true},
    {34, "MsgSeqNum", FieldType::count, Version::fix40, true},
    {35, "MsgType", FieldType::text, Version::fix40, true},
    {43, "PossDupFlag", FieldType::boolean, Version::fix40},
    {49, "SenderCompID", FieldType::text, Version::fix40, true},
    {50, "SenderSubID", FieldType::text, Version::fix40},
    {52, "SendingTime", FieldType::utc_timestamp, Version::fix40, true},
    {56, "TargetCompID", FieldType::text, Version::fix40, true},
    {57, "TargetSubID", FieldType::text, Version::fix40},
    {90, "SecureDataLen", FieldType::length, Version::fix40},
    {91, "SecureData", FieldType::data, Version::fix40},
    {97, "PossResend", FieldType::boolean, Version::fix40},
    {115, "OnBehalfOfCompID", FieldType::text, Version::fix40},
    {116, "OnBehalfOfSubID", FieldType::text, Version::fix40},
    {122, "OrigSendingTime", FieldType::utc_timestamp, Version::fix40},
    {128, "DeliverToCompID", FieldType::text, Version::fix40},
    {129, "DeliverToSubID", FieldType::text, Version::fix40},
    {142, "SenderLocationID", FieldType::text, Version::fix41},
    {143, "TargetLocationID", FieldType::text, Version::fix41},
    {144, "OnBehalfOfLocationID", FieldType::text, Version::fix41},
    {145, "DeliverToLocationID", FieldType::text, Version::fix41},
    {212, "XmlDataLen", FieldType::length, Version::fix42},
    {213, "XmlData", FieldType::data, Version::fix42},
    {347, "MessageEncoding", FieldType::text, Version::fix42},
    {369, "LastMsgSeqNumProcessed", FieldType::count, Version::fix42},
    {370, "OnBehalfOfSendingTime", FieldType::utc_timestamp, Version::fix42},
    {627, "NoHops", FieldType::group_count, Version::fix43},
    {628, "HopCompID", FieldType::text, Version::fix43},
    {629, "HopSendingTime", FieldType::utc_timestamp, Version::fix43},
    {630, "HopRefID", FieldType::count, Version::fix43},
    {1128, "ApplVerID", FieldType::text, Version::fixt11},
    {1129, "CstmApplVerID", FieldType::text, Version::fixt11},
    {1156, "ApplExtID", FieldType::integer, Version::fixt11},
};

constexpr KnownField kTrailer[] = {
    {10, "CheckSum", FieldType::text, Version::fix40, true},
    {89, "Signature", FieldType::data, Version::fix40},
    {93, "SignatureLength", FieldType::length, Version::fix40},
};

constexpr KnownField kBodies[] = {
    {7, "BeginSeqNo", FieldType::count, Version::fix40},
    {16, "EndSeqNo", FieldType::count, Version::fix40},
    {36, "NewSeqNo", FieldType::count, Version::fix40},
    {45, "RefSeqNum", FieldType::count, Version::fix40},
    {58, "Text", FieldType::text, Version::fix40},
    {95, "RawDataLength", FieldType::length, Version::fix40},
    {96, "RawData", FieldType::data, Version::fix40},
    {98, "EncryptMethod", FieldType::integer, Version::fix40},
    {108, "HeartBtInt", FieldType::integer, Version::fix40},
    {112, "TestReqID", FieldType::text, Version::fix40},
    {123, "GapFillFlag", FieldType::boolean, Version::fix40},
    {141, "ResetSeqNumFlag", FieldType::boolean, Version::fix41},
    {354, "EncodedTextLen", FieldType::length, Version::fix42},
    {355, "EncodedText", FieldType::data, Version::fix42},
    {371, "RefTagID", FieldType::integer, Version::fix42},
    {372, "RefMsgType", FieldType::text, Version::fix42},
    {373, "SessionRejectReason", FieldType::integer, Version::fix42},
    {383, "MaxMessageSize", FieldType::length, Version::fix42},
    {384, "NoMsgTypes", FieldType::group_count, Version::fix42},
    {385, "MsgDirection", FieldType::character, Version::fix42},
    {464, "TestMessageIndicator", FieldType::boolean, Version::fix43},
    {553, "Username", FieldType::text, Version::fix43},
    {554, "Password", FieldType::text, Version::fix43},
    {789, "NextExpectedMsgSeqNum", FieldType::count, Version::fix44},
    {925, "NewPassword", FieldType::text, Version::fixt11},
    {1130, "RefApplVerID", FieldType::text, Version::fixt11},
    {1131, "RefCstmApplVerID", FieldType::text, Version::fixt11},
    {1137, "DefaultApplVerID", FieldType::text, Version::fixt11},
    {1400, "EncryptedPasswordMethod", FieldType::integer, Version::fixt11},
    {1401, "EncryptedPasswordLen", FieldType::length, Version::fixt11},
    {1402, "EncryptedPassword", FieldType::data, Version::fixt11},
    {1403, "EncryptedNewPasswordLen", FieldType::length, Version::fixt11},
    {1404, "EncryptedNewPassword", FieldType::data, Version::fixt11},
    {1406, "RefApplExtID", FieldType::integer, Version::fixt11},
    {1407, "DefaultApplExtID", FieldType::integer, Version::fixt11},
    {1408, "DefaultCstmApplVerID", FieldType::text, Version::fixt11},
    {1409, "SessionStatus", FieldType::integer, Version::fixt11},
    {1410, "DefaultVerIndicator", FieldType::boolean, Version::fixt11},
};

/// Members of NoMsgTypes(384).
constexpr std::initializer_list<Tag> kOfMsgTypes{372, 385, 1130, 1131, 1406, 1410};

/// Adds the fields that the version defines; fields before the end of `required` must be defined.
void add_fields(const Dictionary& dictionary, FieldSet& set, std::initializer_list<Tag> required,
                std::initializer_list<Tag> optional) {
    for (const auto tag : required) set.add(tag, true);
    for (const auto tag : optional) {
        if (dictionary.field(tag) != nullptr) set.add(tag, false);
    }
}

}  // namespace

Dictionary Dictionary::session_level(Version version) {
    Dictionary dictionary{std::string{begin_string(version)}};
    dictionary.set_complete(false);
    for (const auto& field : kHeader) {
        if (version < field.since) continue;
        dictionary.define_field(field.tag, field.name, field.type);
        const bool in_hop = field.tag >= 628 && field.tag <= 630;
        if (!in_hop) dictionary.header().add(field.tag, field.required);
    }
    if (version >= Version::fix43)
        add_fields(dictionary, dictionary.header().add_group(627, false), {}, {628, 629, 630});
    for (const auto& field : kTrailer) {
        dictionary.define_field(field.tag, field.name, field.type);
        dictionary.trailer().add(field.tag, field.required);
    }
    for (const auto& field : kBodies) {
        if (version >= field.since) dictionary.define_field(field.tag, field.name, field.type);
    }
    add_fields(dictionary, dictionary.define_message("0", "Heartbeat", true).fields, {}, {112});
    add_fields(dictionary, dictionary.define_message("1", "TestRequest", true).fields, {112}, {});
    add_fields(dictionary, dictionary.define_message("2", "ResendRequest", true).fields, {7, 16}, {});
    add_fields(dictionary, dictionary.define_message("3", "Reject", true).fields, {45},
               {58, 354, 355, 371, 372, 373, 1130, 1131, 1406});
    add_fields(dictionary, dictionary.define_message("4", "SequenceReset", true).fields, {36}, {123});
    add_fields(dictionary, dictionary.define_message("5", "Logout", true).fields, {}, {58, 354, 355, 1409});
    auto& logon = dictionary.define_message("A", "Logon", true).fields;
    add_fields(dictionary, logon, {98, 108}, {95,   96,   141,  383,  464,  553,  554,  789, 925, 1400,
                                              1401, 1402, 1403, 1404, 1407, 1408, 1409, 58,  354, 355});
    if (version == Version::fixt11) logon.add(1137, true);
    if (version >= Version::fix42) add_fields(dictionary, logon.add_group(384, false), {}, kOfMsgTypes);
    return dictionary;
}

void Dictionary::complete_logon() {
    const auto logon = messages_.find("A");
    if (logon == messages_.end() || logon->second.fields.has(384)) return;
    for (const auto& field : kBodies) {
        const bool is_wanted = field.tag == 384 || std::ranges::find(kOfMsgTypes, field.tag) != kOfMsgTypes.end();
        if (!is_wanted || this->field(field.tag) != nullptr || field_named(field.name) != nullptr) continue;
        define_field(field.tag, field.name, field.type);
    }
    add_fields(*this, logon->second.fields.add_group(384, false), {}, kOfMsgTypes);
}

}  // namespace millpond::fix
