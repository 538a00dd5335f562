#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/fix/dictionary_xml.hpp>
#include <millpond/fix/parser.hpp>

#include "tests/fix/messages.hpp"
#include "tests/support/fix_dictionaries.hpp"

namespace millpond::fix {
namespace {

std::string xml_with(const std::string& message, const std::string& components = "") {
    return R"(<fix type='FIX' major='4' minor='4' servicepack='0'>
 <header><field name='BeginString' required='Y'/></header><trailer><field name='CheckSum' required='Y'/></trailer>
 <messages><message name='Order' msgcat='app' msgtype='D'>)" +
           message + "</message></messages><components>" + components + R"(</components>
 <fields><field number='8' name='BeginString' type='STRING'/><field number='10' name='CheckSum' type='STRING'/>
  <field number='40' name='OrdType' type='CHAR'><value enum='1' description='MARKET'/></field>
  <field number='55' name='Symbol' type='STRING'/><field number='453' name='NoPartyIDs' type='NUMINGROUP'/>
  <field number='448' name='PartyID' type='STRING'/></fields></fix>)";
}

std::string fault_in(const std::string& xml) {
    try {
        static_cast<void>(read_dictionary(xml));
    } catch (const DictionaryError& error) {
        return error.what();
    }
    return "";
}

TEST(DictionaryXml, FieldsMessagesGroupsAndComponentsAreRead) {
    const auto dictionary =
        read_dictionary(xml_with("<field name='OrdType' required='Y'/><component name='Instrument' required='Y'/>",
                                 "<component name='Instrument'><field name='Symbol' required='Y'/>"
                                 "<group name='NoPartyIDs' required='N'><field name='PartyID' required='Y'/></group>"
                                 "</component>"));
    EXPECT_EQ(dictionary.version_name(), "FIX.4.4");
    EXPECT_TRUE(dictionary.complete());
    const auto* order = dictionary.message("D");
    ASSERT_NE(order, nullptr);
    EXPECT_EQ(order->name, "Order");
    EXPECT_FALSE(order->admin);
    EXPECT_TRUE(order->fields.find(40)->required);
    EXPECT_TRUE(order->fields.find(55)->required);
    ASSERT_NE(order->fields.find(453), nullptr);
    EXPECT_FALSE(order->fields.find(453)->required);
    ASSERT_NE(order->fields.find(453)->group, nullptr);
    EXPECT_EQ(order->fields.find(453)->group->first(), 448U);
    EXPECT_TRUE(dictionary.field(40)->allows("1"));
    EXPECT_FALSE(dictionary.field(40)->allows("2"));
    EXPECT_EQ(dictionary.field_named("Symbol")->tag, 55U);
}

TEST(DictionaryXml, ARequiredFieldOfAnOptionalComponentIsOptional) {
    const auto dictionary =
        read_dictionary(xml_with("<component name='Instrument' required='N'/>",
                                 "<component name='Instrument'><field name='Symbol' required='Y'/></component>"));
    EXPECT_FALSE(dictionary.message("D")->fields.find(55)->required);
}

TEST(DictionaryXml, AFaultNamesItsPlace) {
    EXPECT_NE(fault_in("<fix").find("not XML at byte"), std::string::npos);
    EXPECT_NE(fault_in("<fax/>").find("root element"), std::string::npos);
    EXPECT_NE(fault_in("<fix type='FIX' major='4'/>").find("without minor"), std::string::npos);
    EXPECT_NE(fault_in(xml_with("<field name='Nonesuch' required='Y'/>")).find("Nonesuch"), std::string::npos);
    EXPECT_NE(fault_in(xml_with("<component name='C' required='Y'/>")).find("component C"), std::string::npos);
    EXPECT_NE(fault_in(xml_with("<component name='C' required='Y'/>",
                                "<component name='C'><component name='C' required='Y'/></component>"))
                  .find("contains itself"),
              std::string::npos);
    EXPECT_NE(fault_in(xml_with("<group name='NoPartyIDs' required='N'/>")).find("is empty"), std::string::npos);
    EXPECT_NE(fault_in(xml_with("<fold name='x'/>")).find("<fold>"), std::string::npos);
}

std::string xml_with_fields(const std::string& fields) {
    auto xml = xml_with("");
    xml.insert(xml.find("</fields>"), fields);
    return xml;
}

TEST(DictionaryXml, TypesAreKnownInAnyCaseAndWithHyphens) {
    const auto dictionary = read_dictionary(
        xml_with_fields("<field number='200' name='MaturityMonthYear' type='MONTH-YEAR'/>"
                        "<field number='205' name='MaturityDay' type='DAY-OF-MONTH'/>"
                        "<field number='9001' name='Note' type='String'/><field number='9002' name='Fee' type='Amt'/>"
                        "<field number='9003' name='Cut' type='UTC-TIMESTAMP'/>"));
    EXPECT_EQ(dictionary.field(200)->type, FieldType::text);
    EXPECT_EQ(dictionary.field(205)->type, FieldType::text);
    EXPECT_EQ(dictionary.field(9001)->type, FieldType::text);
    EXPECT_EQ(dictionary.field(9002)->type, FieldType::decimal);
    EXPECT_EQ(dictionary.field(9003)->type, FieldType::utc_timestamp);
    EXPECT_TRUE(dictionary.warnings().empty());
}

TEST(DictionaryXml, AFieldOfAnUnknownTypeIsTextAndWarnedOf) {
    const auto dictionary =
        read_dictionary(xml_with_fields("<field number='9001' name='Mood' type='FEELING'>"
                                        "<value enum='1' description='GOOD'/></field>"));
    ASSERT_NE(dictionary.field(9001), nullptr);
    EXPECT_EQ(dictionary.field(9001)->type, FieldType::text);
    EXPECT_FALSE(dictionary.field(9001)->allows("2"));
    EXPECT_EQ(dictionary.warnings(),
              std::vector<std::string>{"field Mood has the unknown type 'FEELING': it is read as text"});
}

TEST(DictionaryXml, AFieldThatAllowsOtherValuesAcceptsAny) {
    const auto dictionary =
        read_dictionary(xml_with_fields("<field number='103' name='OrdRejReason' type='INT' allowOtherValues='true'>"
                                        "<value enum='1' description='UNKNOWN_SYMBOL'/></field>"));
    EXPECT_TRUE(dictionary.field(103)->allows("1"));
    EXPECT_TRUE(dictionary.field(103)->allows("77"));
}

TEST(DictionaryXml, TheLengthOfADataFieldIsNamedLikeItOrTheTagBeforeIt) {
    const auto dictionary =
        read_dictionary(xml_with_fields("<field number='20001' name='BlobLen' type='LENGTH'/>"
                                        "<field number='20002' name='BlobData' type='DATA'/>"
                                        "<field number='20004' name='Proof' type='DATA'/>"
                                        "<field number='20003' name='Nonce' type='LENGTH'/>"
                                        "<field number='20009' name='ProofLength' type='LENGTH'/>"));
    EXPECT_EQ(dictionary.data_fields().data_of(20001), 20002U);
    EXPECT_EQ(dictionary.data_fields().data_of(20009), 20004U);
    EXPECT_EQ(dictionary.data_fields().data_of(20003), 0U);
    EXPECT_TRUE(dictionary.warnings().empty());
    Parser parser{{.data_fields = dictionary.data_fields()}};
    const auto bytes = message_of("FIX.4.4", "35=D|20001=9|20002=a|b=|10=1|");
    const auto frame = next_frame(bytes_of(bytes));
    ASSERT_TRUE(frame);
    const auto message = parser.parse(*frame);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->text(20002),
              "a\x01"
              "b=\x01"
              "10=1");
}

TEST(DictionaryXml, ADataFieldWithoutALengthIsWarnedOf) {
    const auto dictionary = read_dictionary(xml_with_fields(
        "<field number='20001' name='Size' type='INT'/><field number='20002' name='Blob' type='DATA'/>"
        "<field number='20003' name='Line' type='SEQNUM'/><field number='20004' name='Seal' type='DATA'/>"
        "<field number='96' name='RawData' type='DATA'/>"));
    EXPECT_EQ(dictionary.warnings(),
              (std::vector<std::string>{
                  "data field Blob(20002) has no length field: its values cannot contain the delimiter",
                  "data field Seal(20004) has no length field: its values cannot contain the delimiter"}));
    EXPECT_EQ(dictionary.data_fields().data_of(20003), 0U);
}

TEST(DictionaryXml, TheDictionariesOfAllVersionsAreRead) {
    const auto folder = test::fix_dictionaries();
    if (folder.empty()) GTEST_SKIP() << "tools/fetch_fix_dictionaries could not get the dictionaries";
    struct Expected {
        const char* file;
        const char* version;
        std::size_t messages;
    };
    constexpr Expected kFiles[] = {
        {"FIX40.xml", "FIX.4.0", 27},        {"FIX41.xml", "FIX.4.1", 28},        {"FIX42.xml", "FIX.4.2", 46},
        {"FIX43.xml", "FIX.4.3", 68},        {"FIX44.xml", "FIX.4.4", 93},        {"FIX50.xml", "FIX.5.0", 93},
        {"FIX50SP1.xml", "FIX.5.0SP1", 105}, {"FIX50SP2.xml", "FIX.5.0SP2", 156}, {"FIXT11.xml", "FIXT.1.1", 8},
    };
    for (const auto& expected : kFiles) {
        std::ifstream file{std::filesystem::path{folder} / expected.file};
        ASSERT_TRUE(file) << expected.file;
        const std::string xml{std::istreambuf_iterator<char>{file}, {}};
        const auto dictionary = read_dictionary(xml);
        EXPECT_EQ(dictionary.version_name(), expected.version);
        EXPECT_EQ(dictionary.messages().size(), expected.messages) << expected.file;
        EXPECT_NE(dictionary.data_fields().data_of(95), 0U);
        EXPECT_TRUE(dictionary.warnings().empty()) << expected.file << ": " << dictionary.warnings().front();
    }
}

}  // namespace
}  // namespace millpond::fix
