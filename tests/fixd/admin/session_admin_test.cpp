#include "fixd/admin/session_admin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millpond::fixd {
namespace {

using ::testing::HasSubstr;

/// Answers a request for the name, which says which session it found.
std::string found(const std::string& name, const std::vector<std::string>& names) {
    const Administered standby{.sessions = [] { return SessionList{}; },
                               .replicas =
                                   [&] {
                                       std::vector<engine::ReplicaStatus> all;
                                       for (const auto& one : names) all.push_back({.name = one});
                                       return all;
                                   }};
    return answer_admin("set-seq\t" + name + "\t7\t9", standby);
}

TEST(SessionAdmin, AWholeNameIsFoundBesideLongerOnes) {
    const std::vector<std::string> names{"FIX.4.4:V->DROP", "FIX.4.4:V->DARK", "FIX.4.4:V->D", "FIX.4.2:V->X:D"};
    EXPECT_THAT(found("FIX.4.4:V->D", names), HasSubstr("FIX.4.4:V->D does not run here"));
    EXPECT_THAT(found("V->D", names), HasSubstr("FIX.4.4:V->D does not run here"));
    EXPECT_THAT(found("V->X:D", names), HasSubstr("FIX.4.2:V->X:D does not run here"));
}

TEST(SessionAdmin, APartOfANameIsFoundIfOneSessionHasIt) {
    const std::vector<std::string> names{"FIX.4.4:V->DROP", "FIX.4.4:V->D", "FIX.4.2:V->D"};
    EXPECT_THAT(found("DROP", names), HasSubstr("FIX.4.4:V->DROP does not run here"));
    EXPECT_THAT(found("V->D", names), HasSubstr("'V->D' matches both 'FIX.4.4:V->D' and 'FIX.4.2:V->D'"));
    EXPECT_THAT(found("FIX.4.4", names), HasSubstr("'FIX.4.4' matches both"));
    EXPECT_THAT(found("V->DRAIN", names), HasSubstr("there is no session 'V->DRAIN'"));
    EXPECT_THAT(found("", names), HasSubstr("there is no session ''"));
}

}  // namespace
}  // namespace millpond::fixd
