#include "edge/kube/list.hpp"

#include "core/model/json.hpp"
#include "edge/kube/item_splitter.hpp"
#include "edge/kube/json_scope.hpp"

namespace muster::kube {
namespace {

constexpr int kBeginnings = 3;  // of a list whose state keeps expiring; then it is asked for whole
constexpr int kPageTries = 5;   // of a page that breaks off

struct Page {
  std::string version;
  std::string next;  // the token of the next one; empty after the last
  std::size_t items = 0;
};

http::Query query_of(const Selection& selection, int limit, const std::string& next) {
  http::Query query;
  if (limit > 0) query.emplace_back("limit", std::to_string(limit));
  if (!next.empty()) query.emplace_back("continue", next);
  if (!selection.labels.empty()) query.emplace_back("labelSelector", selection.labels);
  if (!selection.fields.empty()) query.emplace_back("fieldSelector", selection.fields);
  return query;
}

ApiResult<Page> read_page(Api& api, const Call& call, const ListSink& sink, JsonScope& scope) {
  ItemSplitter splitter;
  Page page;
  Result<> read;
  const auto on_item = [&](std::string_view text) {
    return scope.with(text, [&](const json::object& item) -> Result<> {
      ++page.items;
      if (sink.item) sink.item(item);
      return {};
    });
  };
  API_TRY_VOID(api.stream(call, api.cluster().options().silence, [&](std::string_view chunk) {
    read = splitter.feed(chunk, on_item);
    return read.has_value();
  }));
  API_TRY_VOID(read);
  API_TRY(const auto rest, splitter.finish());
  API_TRY_VOID(scope.with(rest, [&](const json::object& around) -> Result<> {
    const auto& metadata = object_at(around, "metadata");
    page.version = text_at(metadata, "resourceVersion");
    page.next = text_at(metadata, "continue");
    return {};
  }));
  return page;
}

/// A page that broke off in its middle is asked for again: its token names the same state.
ApiResult<Page> read_page_surely(Api& api, const Call& call, const ListSink& sink,
                                 JsonScope& scope) {
  Duration pause = std::chrono::milliseconds(100);
  for (int tries = 1;; ++tries) {
    auto page = read_page(api, call, sink, scope);
    if (page || page.error().code != 0 || page.error().kind != Kind::unavailable ||
        tries == kPageTries)
      return page;
    API_TRY_VOID(http::wait_for(-1, 0, api.stop(), http::after(api.cluster().jittered(pause))));
    pause *= 2;
  }
}

ApiResult<Listed> read_all(Api& api, const Collection& where, const Selection& selection,
                           const ListSink& sink, int limit) {
  if (sink.begin) sink.begin();
  JsonScope scope;
  Listed listed;
  std::string next;
  do {
    const Call call{.path = path_of(where), .query = query_of(selection, limit, next)};
    API_TRY(auto page, read_page_surely(api, call, sink, scope));
    listed.items += page.items;
    listed.version = std::move(page.version);
    next = std::move(page.next);
  } while (!next.empty());
  return listed;
}

}  // namespace

ApiResult<Listed> list(Api& api, const Collection& where, const Selection& selection,
                       const ListSink& sink, int page) {
  for (int beginning = 1;; ++beginning) {
    // The server keeps old states for minutes only; who is slower than that asks for all at once.
    auto listed = read_all(api, where, selection, sink, beginning > kBeginnings ? 0 : page);
    if (listed) return listed;
    auto& error = listed.error();
    if (error.is_gone() && beginning <= kBeginnings) continue;
    error.where = error.where.empty() ? fmt::format("listing {}", to_text(where))
                                      : fmt::format("listing {}: {}", to_text(where), error.where);
    return listed;
  }
}

}  // namespace muster::kube
