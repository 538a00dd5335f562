#pragma once

#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <functional>

namespace millpond::http {

/// Makes pages in parts: one part at a time for all connections, with pauses in which the thread does its other work.
///
/// Threads: the one that runs the io_context.
class PageParts {
public:
    /// Makes a part; returns false after the last one.
    using Make = std::function<bool()>;

    explicit PageParts(boost::asio::io_context& context) : pause_(context) {}

    void add(Make page);

private:
    void schedule();

    boost::asio::steady_timer pause_;
    std::deque<Make> pages_;
};

}  // namespace millpond::http
