/// Lists in pages, an item at a time: neither a page's text nor its JSON is ever held whole, so the
/// memory is that of the largest item, however many there are. Runs on the Api's thread.
#pragma once
#include <functional>
#include <string>

#include "edge/kube/api.hpp"
#include "edge/kube/json_fwd.hpp"

namespace muster::kube {

/// Which objects of a collection.
struct Selection {
  std::string labels;  // "muster.dev/home=x,app!=y"
  std::string fields;  // "metadata.name=a"
};

struct ListSink {
  /// A list begins. Called again when the server could not go on with one that had begun (its state
  /// had expired): what came before counts no more.
  std::function<void()> begin;
  /// The object lives for the length of the call; keep what you need, not the JSON. May name an
  /// object twice when a page had to be asked for again.
  std::function<void(const boost::json::object& item)> item;
};

struct Listed {
  std::string version;  // from here a watch goes on
  std::size_t items = 0;
};

inline constexpr int kPage = 500;

ApiResult<Listed> list(Api& api, const Collection& where, const Selection& selection,
                       const ListSink& sink, int page = kPage);

}  // namespace muster::kube
