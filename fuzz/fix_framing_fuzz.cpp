#include "fuzz/fix_input.hpp"
#include "fuzz/fuzz_target.hpp"

/// Arbitrary bytes as a stream: each step advances or needs more bytes, frames are inside the input, and the result
/// does not depend on how the bytes are split.
MILLPOND_FUZZ_TARGET {
    using namespace millpond::fix;
    const auto text = fields_of(input);
    const auto stream = bytes_of(text);
    std::size_t at = 0;
    std::size_t frames = 0;
    while (true) {
        const auto frame = next_frame(stream.subspan(at));
        if (!frame) {
            if (frame.error().error == FrameError::incomplete) break;
            require(frame.error().skip > 0 && frame.error().skip <= stream.size() - at, "garbled bytes are skipped");
            at += frame.error().skip;
            continue;
        }
        const auto& bytes = frame->bytes;
        require(bytes.data() == stream.data() + at && bytes.size() <= stream.size() - at, "a frame lies in the stream");
        require(frame->version_end < frame->body_offset && frame->body_offset < frame->trailer_offset &&
                    frame->trailer_offset + 7 == bytes.size(),
                "a frame's parts follow one another");
        at += bytes.size();
        ++frames;
    }
    // The same bytes one at a time give the same frames.
    std::size_t begin = 0;
    std::size_t again = 0;
    for (std::size_t end = 1; end <= stream.size();) {
        const auto frame = next_frame(stream.subspan(begin, end - begin));
        if (frame) {
            ++again;
            begin += frame->bytes.size();
        } else if (frame.error().error == FrameError::incomplete) {
            ++end;
        } else {
            begin += frame.error().skip;
        }
        if (begin >= end) end = begin + 1;
    }
    require(frames == again || text.find("8=FIX", 1) != std::string::npos, "pieces make no difference");
}
