#include "edge/http/error_body.hpp"

#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster::http {
namespace {

constexpr std::size_t kQuoted = 200;  // bytes of a foreign body that an error repeats

std::string text_field(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  if (value == nullptr) return {};
  auto text = bytes_from_json(*value);
  return text ? std::move(*text) : std::string();
}

Error foreign(int status, std::string_view body) {
  const auto* row = kind_by_status(status);
  Kind kind = Kind::corrupt;
  if (row != nullptr)
    kind = row->kind;
  else if (status >= 400 && status < 500)
    kind = Kind::usage;
  else if (status >= 500)
    kind = Kind::internal;
  return Error{.kind = kind,
               .what = fmt::format("the server answered {} {}", status, status_text(status)),
               .where = {},
               .why = printable(body.substr(0, kQuoted)),
               .fix = {}};
}

}  // namespace

std::string error_body(const Error& error) {
  json::object object;
  object["kind"] =
      json::string_view(row_of(error.kind).name.data(), row_of(error.kind).name.size());
  object["what"] = bytes_to_json(error.what);
  object["where"] = bytes_to_json(error.where);
  object["why"] = bytes_to_json(error.why);
  json::array fixes;
  for (const auto& fix : error.fix) fixes.push_back(bytes_to_json(fix));
  object["fix"] = std::move(fixes);
  return json::serialize(object) + '\n';
}

Response error_response(const Error& error, int status) {
  return Response{.status = status == 0 ? row_of(error.kind).http_status : status,
                  .content_type = "application/json",
                  .body = error_body(error),
                  .headers = {}};
}

Error error_of(int status, std::string_view body) {
  const auto parsed = parse_json(body);
  if (!parsed || !parsed->is_object()) return foreign(status, body);
  const auto& object = parsed->get_object();
  const auto* row = kind_by_name(text_field(object, "kind"));
  if (row == nullptr) return foreign(status, body);
  Error error{.kind = row->kind,
              .what = text_field(object, "what"),
              .where = text_field(object, "where"),
              .why = text_field(object, "why"),
              .fix = {}};
  const auto* fixes = field(object, "fix");
  if (fixes != nullptr && fixes->is_array())
    for (const auto& fix : fixes->get_array())
      if (auto text = bytes_from_json(fix)) error.fix.push_back(std::move(*text));
  if (error.what.empty()) error.what = foreign(status, {}).what;
  return error;
}

}  // namespace muster::http
