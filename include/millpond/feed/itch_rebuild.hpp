#pragma once

#include <millpond/feed/book_rebuilder.hpp>
#include <millpond/feed/itch_decoder.hpp>

namespace millpond::feed {

using ItchRebuild = BookRebuilder<ItchDecoder>;

}  // namespace millpond::feed
