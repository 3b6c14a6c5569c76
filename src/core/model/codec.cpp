#include "core/model/codec.hpp"

#include "core/model/fields.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

// Writing
// ------------------------------------------------------------------------------------------

template <class T>
json::value to_json(const T& value);

struct Writer {
  json::object& out;
  template <class T>
  void operator()(std::string_view name, const T& value) {
    out[json::string_view(name.data(), name.size())] = to_json(value);
  }
  /// What most values have not got takes no room in theirs.
  template <class T>
  void if_any(std::string_view name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
};

template <class T>
constexpr bool is_enum_v = std::is_enum_v<T>;

json::value one(bool value) { return value; }
json::value one(int value) { return value; }
json::value one(std::int64_t value) { return value; }
json::value one(double value) { return value; }
json::value one(const std::string& value) { return bytes_to_json(value); }
json::value one(WallTime value) { return json::string(to_rfc3339(value)); }
json::value one(RunTime value) { return value.us; }
json::value one(Duration value) { return std::int64_t{value.count()}; }
template <class Tag>
json::value one(const Id<Tag>& value) {
  return bytes_to_json(value.str());
}
template <class T>
json::value one(const std::vector<T>& values) {
  json::array out;
  out.reserve(values.size());
  for (const auto& value : values) out.push_back(to_json(value));
  return out;
}
template <class T>
json::value one(const std::optional<T>& value) {
  return value ? to_json(*value) : json::value(nullptr);
}
template <class T>
json::value one(const std::map<std::string, T>& values) {
  // Keys may hold any bytes, so a map with such keys is written as pairs.
  const bool plain = std::all_of(values.begin(), values.end(), [](const auto& kv) {
    return bytes_to_json(kv.first).is_string();
  });
  if (!plain) {
    json::array pairs;
    for (const auto& [key, value] : values)
      pairs.push_back(json::array{to_json(key), to_json(value)});
    return pairs;
  }
  json::object out;
  out.reserve(values.size());
  for (const auto& [key, value] : values)
    out[json::string_view(key.data(), key.size())] = to_json(value);
  return out;
}

template <class T>
json::value to_json(const T& value) {
  if constexpr (is_enum_v<T>) {
    const auto name = name_of(value);
    return json::string(json::string_view(name.data(), name.size()));
  } else if constexpr (requires { one(value); }) {
    return one(value);
  } else {
    json::object out;
    Writer writer{out};
    fields(writer, const_cast<T&>(value));  // fields() only reads when given a Writer
    return out;
  }
}

template <class T>
std::string text_of(const T& value) {
  return json::serialize(to_json(value));
}

// Reading
// ------------------------------------------------------------------------------------------

template <class T>
Result<> from_json(const json::value& in, T& out);

struct Reader {
  const json::object& in;
  Result<> result;
  template <class T>
  void operator()(std::string_view name, T& out) {
    if (!result) return;
    if (const auto* value = field(in, name)) result = within(from_json(*value, out), name);
  }
  template <class T>
  void if_any(std::string_view name, std::optional<T>& out) {
    (*this)(name, out);
  }
};

tl::unexpected<Error> wrong(std::string_view wanted) {
  return fail(Kind::corrupt, fmt::format("expected {}", wanted));
}

Result<> read(const json::value& in, bool& out) {
  if (!in.is_bool()) return wrong("true or false");
  out = in.get_bool();
  return {};
}
Result<> read(const json::value& in, std::int64_t& out) {
  if (!in.is_int64()) return wrong("a whole number");
  out = in.get_int64();
  return {};
}
Result<> read(const json::value& in, int& out) {
  std::int64_t wide = 0;
  TRY_VOID(read(in, wide));
  if (wide < INT32_MIN || wide > INT32_MAX) return wrong("a smaller number");
  out = static_cast<int>(wide);
  return {};
}
Result<> read(const json::value& in, double& out) {
  if (in.is_int64())
    out = static_cast<double>(in.get_int64());
  else if (in.is_double())
    out = in.get_double();
  else
    return wrong("a number");
  return {};
}
Result<> read(const json::value& in, std::string& out) {
  TRY(out, bytes_from_json(in));
  return {};
}
Result<> read(const json::value& in, WallTime& out) {
  if (!in.is_string()) return wrong("a time");
  TRY(out, parse_rfc3339(std::string_view(in.get_string())));
  return {};
}
Result<> read(const json::value& in, RunTime& out) { return read(in, out.us); }
Result<> read(const json::value& in, Duration& out) {
  std::int64_t us = 0;
  TRY_VOID(read(in, us));
  out = Duration(us);
  return {};
}
template <class Tag>
Result<> read(const json::value& in, Id<Tag>& out) {
  TRY(auto text, bytes_from_json(in));
  out = Id<Tag>(std::move(text));
  return {};
}
template <class T>
Result<> read(const json::value& in, std::vector<T>& out) {
  if (!in.is_array()) return wrong("a list");
  out.clear();
  for (const auto& item : in.get_array()) {
    out.emplace_back();
    TRY_VOID(from_json(item, out.back()));
  }
  return {};
}
template <class T>
Result<> read(const json::value& in, std::optional<T>& out) {
  out.emplace();
  return from_json(in, *out);
}
template <class T>
Result<> read(const json::value& in, std::map<std::string, T>& out) {
  out.clear();
  if (in.is_object()) {
    for (const auto& kv : in.get_object())
      TRY_VOID(from_json(kv.value(), out[std::string(kv.key())]));
    return {};
  }
  if (!in.is_array()) return wrong("an object");
  for (const auto& pair : in.get_array()) {
    if (!pair.is_array() || pair.get_array().size() != 2) return wrong("a list of pairs");
    TRY(auto key, bytes_from_json(pair.get_array()[0]));
    TRY_VOID(from_json(pair.get_array()[1], out[std::move(key)]));
  }
  return {};
}

template <class T>
Result<> from_json(const json::value& in, T& out) {
  if constexpr (is_enum_v<T>) {
    if (!in.is_string()) return wrong("a word");
    const auto value = named<T>(std::string_view(in.get_string()));
    if (!value)
      return fail(Kind::corrupt,
                  fmt::format("unknown word \"{}\"", std::string_view(in.get_string())));
    out = *value;
    return {};
  } else if constexpr (requires { read(in, out); }) {
    return read(in, out);
  } else {
    if (!in.is_object()) return wrong("an object");
    Reader reader{in.get_object(), {}};
    fields(reader, out);
    return reader.result;
  }
}

template <class T>
Result<T> value_of(std::string_view text) {
  TRY(const auto in, parse_json(text));
  T out;
  TRY_VOID(from_json(in, out));
  return out;
}

// Events
// -------------------------------------------------------------------------------------------

/// The alternatives' words, in the variant's order.
constexpr std::string_view kKinds[] = {
    "submitted",    "placed",           "port_moved",    "seated",   "started", "node_ended",
    "gang_stopped", "cancel_requested", "attempt_ended", "requeued", "finished"};
static_assert(std::size(kKinds) == std::variant_size_v<EventBody>);

template <std::size_t I = 0>
Result<EventBody> body_at(std::size_t index, std::string_view text) {
  if constexpr (I == std::variant_size_v<EventBody>) {
    return fail(Kind::corrupt, fmt::format("no event kind {}", index));
  } else {
    if (index != I) return body_at<I + 1>(index, text);
    TRY(auto value, value_of<std::variant_alternative_t<I, EventBody>>(text));
    return EventBody(std::in_place_index<I>, std::move(value));
  }
}

}  // namespace

std::string_view kind_of(const EventBody& body) { return kKinds[body.index()]; }

std::string encode(const JobSpec& spec) { return text_of(spec); }
std::string encode(const PodSettings& pod) { return text_of(pod); }
std::string encode(const Job& job) { return text_of(job); }
std::string encode(const Attempt& attempt) { return text_of(attempt); }
std::string encode(const ExitRecord& record) { return text_of(record); }
std::string encode(const Plan& plan) { return text_of(plan); }
std::string encode(const Node& node) { return text_of(node); }
std::string encode_body(const EventBody& body) {
  return std::visit([](const auto& value) { return text_of(value); }, body);
}

Result<JobSpec> decode_spec(std::string_view text) { return value_of<JobSpec>(text); }
Result<Job> decode_job(std::string_view text) { return value_of<Job>(text); }
Result<Attempt> decode_attempt(std::string_view text) { return value_of<Attempt>(text); }
Result<ExitRecord> decode_exit_record(std::string_view text) { return value_of<ExitRecord>(text); }
Result<Plan> decode_plan(std::string_view text) { return value_of<Plan>(text); }

Result<EventBody> decode_body(std::string_view kind, int version, std::string_view text) {
  if (version > kEventVersion)
    return fail(Kind::corrupt,
                fmt::format("event {} has version {}, this program knows up to {}", kind, version,
                            kEventVersion),
                "use the newer muster that wrote it");
  for (std::size_t i = 0; i < std::size(kKinds); ++i)
    if (kKinds[i] == kind) return within(body_at(i, text), kind);
  return fail(Kind::corrupt, fmt::format("unknown event kind \"{}\"", kind),
              "use the newer muster that wrote it");
}

}  // namespace muster
