// Constructors that run out of descriptors half-way leave none open.

#include <gtest/gtest.h>

#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/io_thread.hpp>

#include "tests/support/descriptor_limit.hpp"

namespace millpond::engine {
namespace {

using test::Descriptors;

TEST_F(Descriptors, OfAnIoThread) {
    EXPECT_GE(test::failures_without_leak([] { const IoThread io; }), 2);
}

TEST_F(Descriptors, OfAnAcceptor) {
    IoThread io;
    EXPECT_GE(test::failures_without_leak([&] { const Acceptor acceptor{io, {}}; }), 1);
}

}  // namespace
}  // namespace millpond::engine
