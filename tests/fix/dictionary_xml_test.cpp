#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include <millpond/fix/dictionary_xml.hpp>

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
    auto unknown_type = xml_with("");
    unknown_type.replace(unknown_type.find("NUMINGROUP"), 10, "NUMBERLESS");
    EXPECT_NE(fault_in(unknown_type).find("NUMBERLESS"), std::string::npos);
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
    }
}

}  // namespace
}  // namespace millpond::fix
