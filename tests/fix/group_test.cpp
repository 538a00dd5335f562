#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/fix/group.hpp>
#include <millpond/fix/parser.hpp>

#include "tests/fix/messages.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::fix {
namespace {

/// Parties (453) of a message, each with sub-ids (802), each of which has notes (9001).
FieldSet parties() {
    FieldSet body;
    body.add(11, true);
    body.add(58, false);
    auto& party = body.add_group(453, false);
    party.add(448, true);
    party.add(452, false);
    auto& sub = party.add_group(802, false);
    sub.add(523, true);
    sub.add(803, false);
    sub.add_group(9001, false).add(9002, true);
    return body;
}

class GroupTest : public testing::Test {
protected:
    Group group(const std::string& body, Tag count_tag = 453) {
        bytes_ = message_of("FIX.4.4", "35=D|34=2|" + body);
        const auto frame = next_frame(bytes_of(bytes_));
        EXPECT_TRUE(frame);
        const auto parsed = parser_.parse(*frame);
        EXPECT_TRUE(parsed);
        message_ = *parsed;
        return group_of(message_, body_, count_tag);
    }

    FieldSet body_{parties()};
    Parser parser_;
    std::string bytes_;
    Message message_;
};

TEST_F(GroupTest, EachInstanceHasItsOwnFieldsTyped) {
    const auto all = group("11=x|453=2|448=A|452=1|448=B|452=22|58=end|");
    EXPECT_EQ(all.stated(), 2U);
    ASSERT_EQ(all.size(), 2U);
    auto entry = all.begin();
    EXPECT_EQ(entry->text(448), "A");
    EXPECT_EQ(entry->integer(452), 1);
    EXPECT_FALSE(entry->has(58));
    EXPECT_FALSE(entry->has(11));
    ++entry;
    EXPECT_EQ(entry->text(448), "B");
    EXPECT_EQ(entry->integer(452), 22);
    EXPECT_FALSE(entry->has(58));
    EXPECT_EQ(++entry, all.end());
}

TEST_F(GroupTest, GroupsNestToAnyDepth) {
    const auto all =
        group("453=2|448=A|802=2|523=a1|9001=2|9002=n1|9002=n2|523=a2|803=7|452=3|448=B|802=1|523=b1|58=end|");
    std::string walked;
    for (const auto& party : all) {
        walked += std::string{party.text(448).value()} + std::to_string(party.integer(452).value_or(0)) + "(";
        for (const auto& sub : party.group(802)) {
            walked += std::string{sub.text(523).value()} + std::to_string(sub.integer(803).value_or(0));
            for (const auto& note : sub.group(9001)) walked += "," + std::string{note.text(9002).value()};
            walked += ";";
        }
        walked += ")";
    }
    EXPECT_EQ(walked, "A3(a10,n1,n2;a27;)B0(b10;)");
}

TEST_F(GroupTest, AFieldOfANestedGroupIsNotAFieldOfTheInstance) {
    const auto all = group("453=1|448=A|802=1|523=a1|452=3|");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_FALSE(all.begin()->has(523));
    EXPECT_EQ(all.begin()->integer(452), 3);
}

TEST_F(GroupTest, ThereAreAtMostAsManyInstancesAsStatedAndAsExist) {
    EXPECT_EQ(group("453=1|448=A|448=B|").size(), 1U);
    EXPECT_EQ(group("453=3|448=A|448=B|58=end|").size(), 2U);
    EXPECT_EQ(group("453=9|58=end|").size(), 0U);
    EXPECT_EQ(group("453=x|448=A|").size(), 0U);
    EXPECT_EQ(group("453=0|").size(), 0U);
    EXPECT_EQ(group("11=x|").size(), 0U);
    EXPECT_EQ(group("453=1|448=A|", 11).size(), 0U);
    EXPECT_EQ(group("453=1|452=3|448=A|").size(), 0U);
}

TEST_F(GroupTest, AGroupMayEndTheMessage) {
    const auto all = group("453=2|448=A|448=B|802=1|523=b|");
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ((++all.begin())->group(802).size(), 1U);
}

TEST_F(GroupTest, AShapeOfConstantsGivesTheSameView) {
    static constexpr GroupShape::Member kSubMembers[] = {{523}, {803}};
    static constexpr GroupShape kSub{.first_tag = 523, .members = kSubMembers};
    static constexpr GroupShape::Member kPartyMembers[] = {{448}, {452}, {802, &kSub}};
    static constexpr GroupShape kParty{.first_tag = 448, .members = kPartyMembers};
    static_cast<void>(group("453=2|448=A|802=1|523=a|448=B|452=9|58=end|"));
    const auto* count = message_.find(453);
    const BasicGroup<GroupShape> all{
        message_.bytes(), {count, message_.fields().data() + message_.fields().size()}, kParty};
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all.begin()->group(802).begin()->text(523), "a");
    EXPECT_EQ((++all.begin())->integer(452), 9);
}

TEST_F(GroupTest, WalkingNeedsNoHeapNoPageFaultAndNoSystemCall) {
    const auto all = group("453=2|448=A|802=2|523=a1|523=a2|803=7|452=3|448=B|802=1|523=b1|58=end|");
    test::expect_free_of_cost([&] {
        std::size_t entries = 0;
        std::int64_t sum = 0;
        for (const auto& party : all) {
            ++entries;
            sum += party.integer(452).value_or(0);
            for (const auto& sub : party.group(802)) {
                ++entries;
                sum += sub.integer(803).value_or(0);
            }
        }
        return entries == 5 && sum == 10;
    });
}

}  // namespace
}  // namespace millpond::fix
