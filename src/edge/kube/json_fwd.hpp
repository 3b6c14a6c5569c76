/// Names of JSON types for headers that only pass them on; whoever looks inside includes
/// core/model/json.hpp in its .cpp file.
#pragma once

namespace boost::json {
class object;
class value;
}  // namespace boost::json
