// Any text as the body of every kind of event and as every stored value: read, or refused; what
// was read and written once stays as it is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/model/codec.hpp"

namespace {

template <class Decode, class Encode>
void settles(std::string_view text, Decode decode, Encode encode) {
  const auto first = decode(text);
  if (!first) return;
  const auto written = encode(*first);
  const auto second = decode(written);
  if (!second || encode(*second) != written) std::abort();
}

template <class T>
std::string text_of(const T& value) {
  return muster::encode(value);
}

template <std::size_t I = 0>
void every_kind(std::string_view text, int version) {
  if constexpr (I < std::variant_size_v<muster::EventBody>) {
    const auto kind = muster::kind_of(muster::EventBody(std::in_place_index<I>));
    settles(
        text, [&](std::string_view t) { return muster::decode_body(kind, version, t); },
        muster::encode_body);
    every_kind<I + 1>(text, version);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  // The first byte takes turns: one kind of value a run keeps runs short.
  switch (data[0] % 6) {
    case 0: every_kind(text, muster::kEventVersion); break;
    case 1: settles(text, muster::decode_job, text_of<muster::Job>); break;
    case 2: settles(text, muster::decode_attempt, text_of<muster::Attempt>); break;
    case 3: settles(text, muster::decode_plan, text_of<muster::Plan>); break;
    case 4: settles(text, muster::decode_exit_record, text_of<muster::ExitRecord>); break;
    default: (void)muster::decode_body(text.substr(0, 12), data[0], text); break;
  }
  return 0;
}
