#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <millpond/fix/dictionary_xml.hpp>

namespace millpond::fix {
namespace {

constexpr const char* kFields = R"(<fixr:fields>
  <fixr:field id="8" name="BeginString" type="String"/>
  <fixr:field id="10" name="CheckSum" type="String"/>
  <fixr:field id="11" name="ClOrdID" type="String"/>
  <fixr:field id="18" name="ExecInst" type="ExecInstCodeSet"/>
  <fixr:field id="40" name="OrdType" type="OrdTypeCodeSet"/>
  <fixr:field id="44" name="Price" type="Price"/>
  <fixr:field id="60" name="TransactTime" type="UTCTimestamp"/>
  <fixr:field id="215" name="RoutingType" type="RoutingTypeCodeSet" unionDataType="Reserved100Plus"/>
  <fixr:field id="354" name="EncodedTextLen" type="Length"/>
  <fixr:field id="355" name="EncodedText" type="data" lengthId="354"/>
  <fixr:field id="448" name="PartyID" type="String"/>
  <fixr:field id="453" name="NoPartyIDs" type="NumInGroup"/>
  <fixr:field id="523" name="PartySubID" type="HouseId"/>
  <fixr:field id="802" name="NoPartySubIDs" type="NumInGroup"/>
</fixr:fields>)";

constexpr const char* kLists = R"(<fixr:codeSets>
  <fixr:codeSet name="OrdTypeCodeSet" id="40" type="char">
    <fixr:code name="Market" id="40001" value="1"/>
    <fixr:code name="Limit" id="40002" value="2"><fixr:annotation/></fixr:code>
  </fixr:codeSet>
  <fixr:codeSet name="ExecInstCodeSet" id="18" type="MultipleCharValue">
    <fixr:code name="NotHeld" id="18001" value="1"/><fixr:code name="AllOrNone" id="18002" value="G"/>
  </fixr:codeSet>
  <fixr:codeSet name="RoutingTypeCodeSet" id="215" type="int"><fixr:code name="TargetFirm" value="1"/></fixr:codeSet>
</fixr:codeSets>
<fixr:datatypes><fixr:datatype name="HouseId" baseType="int"/></fixr:datatypes>)";

constexpr const char* kComponents = R"(<fixr:components>
  <fixr:component id="1024" name="StandardHeader"><fixr:fieldRef id="8" presence="required"/></fixr:component>
  <fixr:component id="1025" name="StandardTrailer"><fixr:fieldRef id="10" presence="required"/></fixr:component>
  <fixr:component id="2000" name="Terms"><fixr:fieldRef id="44" presence="required"/>
    <fixr:groupRef id="3000" presence="optional"/></fixr:component>
</fixr:components>
<fixr:groups>
  <fixr:group id="3000" name="Parties"><fixr:numInGroup id="453"/><fixr:fieldRef id="448" presence="required"/>
    <fixr:groupRef id="3001"/></fixr:group>
  <fixr:group id="3001" name="PtysSubGrp"><fixr:numInGroup id="802"/><fixr:fieldRef id="523"/></fixr:group>
</fixr:groups>)";

/// An order with a richer structure.
std::string order_with(const std::string& more, const std::string& terms = "required") {
    return R"(<fixr:messages><fixr:message name="Heartbeat" msgType="0" category="Session"><fixr:structure/></fixr:message>
  <fixr:message id="14" name="NewOrderSingle" msgType="D" category="SingleGeneralOrderHandling">
  <fixr:structure><fixr:componentRef id="1024" presence="required"/><fixr:fieldRef id="11" presence="required"/>
  <fixr:fieldRef id="18" presence="optional"/><fixr:fieldRef id="40" presence="required">
  <fixr:rule name="r" presence="required"><fixr:when>x</fixr:when></fixr:rule></fixr:fieldRef><fixr:fieldRef id="215"/>
  <fixr:fieldRef id="60" presence="forbidden"/><fixr:fieldRef id="355"/><fixr:fieldRef id="354"/>
  <fixr:componentRef id="2000" presence=")" +
           terms + "\"/>" + more +
           R"(<fixr:componentRef id="1025" presence="required"/></fixr:structure></fixr:message></fixr:messages>)";
}

std::string repository(const std::string& inside,
                       const std::string& space = "http://fixprotocol.io/2020/orchestra/repository") {
    return "<?xml version='1.0'?><!-- small --><fixr:repository xmlns:fixr='" + space +
           "' name='FIX.Latest' version='FIX.Latest_EP303'>" + inside + "</fixr:repository>";
}

std::string joined(std::initializer_list<std::string_view> parts) {
    std::string all;
    for (const auto part : parts) all += part;
    return all;
}

std::string fault_of(const std::string& xml) {
    try {
        static_cast<void>(read_dictionary(xml));
    } catch (const DictionaryError& error) {
        return error.what();
    }
    return "";
}

std::string small(const std::string& more = "", const std::string& terms = "required") {
    return repository(joined({kLists, kFields, kComponents, order_with(more, terms)}));
}

TEST(OrchestraXml, FieldsCodesComponentsGroupsAndMessagesAreRead) {
    const auto dictionary = read_dictionary(small());
    EXPECT_EQ(dictionary.version_name(), "FIX.Latest");
    EXPECT_TRUE(dictionary.complete());
    EXPECT_TRUE(dictionary.header().find(8)->required);
    EXPECT_TRUE(dictionary.trailer().find(10)->required);
    EXPECT_TRUE(dictionary.message("0")->admin);
    const auto* order = dictionary.message("D");
    ASSERT_NE(order, nullptr);
    EXPECT_FALSE(order->admin);
    EXPECT_EQ(order->name, "NewOrderSingle");
    EXPECT_FALSE(order->fields.has(8));
    EXPECT_FALSE(order->fields.has(60));  // forbidden
    EXPECT_TRUE(order->fields.find(11)->required);
    EXPECT_FALSE(order->fields.find(18)->required);
    EXPECT_TRUE(order->fields.find(44)->required);
    const auto* parties = order->fields.find(453);
    ASSERT_TRUE(parties != nullptr && parties->group);
    EXPECT_FALSE(parties->required);
    EXPECT_EQ(parties->group->first(), 448U);
    EXPECT_TRUE(parties->group->find(448)->required);
    ASSERT_TRUE(parties->group->find(802)->group);
    EXPECT_EQ(parties->group->find(802)->group->first(), 523U);
    EXPECT_EQ(dictionary.data_fields().data_of(354), 355U);
}

TEST(OrchestraXml, CodesAreTheValuesUnlessThereIsASecondType) {
    const auto dictionary = read_dictionary(small());
    EXPECT_EQ(dictionary.field(40)->type, FieldType::character);
    EXPECT_TRUE(dictionary.field(40)->allows("1"));
    EXPECT_FALSE(dictionary.field(40)->allows("3"));
    EXPECT_EQ(dictionary.field(40)->values.at("2"), "Limit");
    EXPECT_EQ(dictionary.field(18)->type, FieldType::multiple);
    EXPECT_TRUE(dictionary.field(18)->allows("1 G"));
    EXPECT_FALSE(dictionary.field(18)->allows("1 X"));
    EXPECT_TRUE(dictionary.field(215)->allows("100"));
    EXPECT_EQ(dictionary.field(60)->type, FieldType::utc_timestamp);
    EXPECT_EQ(dictionary.field(523)->type, FieldType::integer);  // from the type that it is based on
}

TEST(OrchestraXml, ARequiredFieldOfAnOptionalComponentIsOptional) {
    EXPECT_FALSE(read_dictionary(small("", "optional")).message("D")->fields.find(44)->required);
}

TEST(OrchestraXml, TheBaseScenarioCountsAndReferencesNameTheirs) {
    const auto more = std::string{R"(<fixr:components>
  <fixr:component id="2000" name="Terms"><fixr:fieldRef id="44"/></fixr:component>
  <fixr:component id="2000" name="Terms" scenario="timed"><fixr:fieldRef id="60"/></fixr:component>
</fixr:components><fixr:messages>
  <fixr:message name="Zzz" msgType="D" scenario="aaa"><fixr:structure><fixr:fieldRef id="10"/></fixr:structure></fixr:message>
  <fixr:message name="Order" msgType="D"><fixr:structure><fixr:componentRef id="2000" scenario="timed"/>
  </fixr:structure></fixr:message></fixr:messages>)"};
    const auto dictionary = read_dictionary(repository(joined({kLists, kFields, more})));
    const auto* order = dictionary.message("D");
    EXPECT_EQ(order->name, "Order");
    EXPECT_TRUE(order->fields.has(60));
    EXPECT_FALSE(order->fields.has(44));
}

TEST(OrchestraXml, AnyPrefixOrNoneIsRead) {
    EXPECT_EQ(fault_of("<repository xmlns='http://fixprotocol.io/2020/orchestra/repository' version='FIX.Latest'>"
                       "<fields><field id='1' name='Account' type='String'/></fields></repository>"),
              "");
}

TEST(OrchestraXml, AFaultNamesItsPlace) {
    EXPECT_EQ(fault_of(repository("", "http://fixprotocol.io/2016/fixrepository")),
              "the namespace of <fixr:repository> is 'http://fixprotocol.io/2016/fixrepository', not "
              "http://fixprotocol.io/2020/orchestra/repository");
    EXPECT_EQ(fault_of("<dictionary/>"), "the root element is neither <fix> nor the <repository> of FIX Orchestra");
    EXPECT_EQ(fault_of(small("<fixr:fieldRef id='99'/>")),
              "message NewOrderSingle uses the field 99, which is not defined");
    EXPECT_EQ(fault_of(small("<fixr:groupRef id='77'/>")),
              "message NewOrderSingle uses the group 77, which is not defined in the scenario base");
    EXPECT_EQ(fault_of(small("<fixr:componentRef id='77' scenario='x'/>")),
              "message NewOrderSingle uses the component 77, which is not defined in the scenario x");
    EXPECT_EQ(fault_of(small("<fixr:fieldRef/>")), "<fixr:fieldRef> without id");
    EXPECT_EQ(fault_of(repository("<fixr:fields><fixr:field id='1x' name='A' type='int'/></fixr:fields>")),
              "field A has the number '1x'");
    EXPECT_EQ(fault_of(repository("<fixr:fields><fixr:field id='1' name='A' type='int'/>"
                                  "<fixr:field id='1' name='B' type='int'/></fixr:fields>")),
              "field 1 is defined twice in the scenario base");
}

TEST(OrchestraXml, AFieldOfAnUnknownTypeIsTextAndWarnedOf) {
    const auto dictionary =
        read_dictionary(repository("<fixr:datatypes><fixr:datatype name='T' baseType='T'/></fixr:datatypes>"
                                   "<fixr:fields><fixr:field id='1' name='A' type='T'/>"
                                   "<fixr:field id='2' name='B' type='Blob'/></fixr:fields>"));
    EXPECT_EQ(dictionary.field(1)->type, FieldType::text);
    EXPECT_EQ(dictionary.field(2)->type, FieldType::text);
    EXPECT_EQ(dictionary.warnings(),
              (std::vector<std::string>{"field A has the unknown type 'T': it is read as text",
                                        "field B has the unknown type 'Blob': it is read as text"}));
}

TEST(OrchestraXml, TheLengthFieldOfADataFieldIsTheOneItNames) {
    const auto dictionary =
        read_dictionary(repository("<fixr:fields><fixr:field id='20001' name='Size' type='Length'/>"
                                   "<fixr:field id='20005' name='Blob' type='data' lengthId='20001'/></fixr:fields>"));
    EXPECT_EQ(dictionary.data_fields().data_of(20001), 20005U);
    EXPECT_TRUE(dictionary.warnings().empty());
}

TEST(OrchestraXml, RecursiveAndUnboundedDefinitionsAreRefused) {
    const std::string fields = "<fixr:fields><fixr:field id='1' name='A' type='int'/></fixr:fields>";
    const auto message =
        "<fixr:messages><fixr:message name='M' msgType='M'><fixr:structure><fixr:componentRef id='1'/>"
        "</fixr:structure></fixr:message></fixr:messages>";
    EXPECT_EQ(fault_of(repository(fields +
                                  "<fixr:components><fixr:component id='1' name='C'><fixr:componentRef id='1'/>"
                                  "</fixr:component></fixr:components>" +
                                  message)),
              "message M: the component 1 contains itself");
    EXPECT_EQ(fault_of(repository("<fixr:fields><fixr:field id='1' name='A' type='NumInGroup'/></fixr:fields>"
                                  "<fixr:components><fixr:component id='1' name='C'><fixr:groupRef id='2'/>"
                                  "</fixr:component></fixr:components><fixr:groups><fixr:group id='2' name='G'>"
                                  "<fixr:numInGroup id='1'/></fixr:group></fixr:groups>" +
                                  std::string{message})),
              "message M: the group 2 is empty");
    std::string nested = "<fixr:components>";
    for (int i = 1; i < 30; ++i) {
        const auto next = "<fixr:componentRef id='" + std::to_string(i + 1) + "'/>";
        nested += "<fixr:component id='" + std::to_string(i) + "' name='C'>" + next + next + next + "</fixr:component>";
    }
    nested += "<fixr:component id='30' name='C'><fixr:fieldRef id='1'/></fixr:component></fixr:components>";
    EXPECT_EQ(fault_of(repository(fields + nested + message)), "more than 1000000 references");
}

}  // namespace
}  // namespace millpond::fix
