#include "rendezvous/wire/frames.hpp"

namespace dlaunch::wire {

Frames::Outcome Frames::next(Frame& frame) {
    if (refused_) return Outcome::refused;
    Request request;
    const auto outcome = decoder_.next(request);
    if (outcome == Decoder::Outcome::more) return Outcome::more;
    refused_ = outcome == Decoder::Outcome::refused;
    if (refused_) return Outcome::refused;
    frame = {request.number, request.value};
    return Outcome::frame;
}

}  // namespace dlaunch::wire
