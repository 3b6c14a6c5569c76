/// A job as one line of a table, its cells apart by tabs, each safe on a terminal. Pure.
#pragma once
#include <string>
#include <string_view>

#include "edge/sqlite/records.hpp"

namespace muster::server {

/// The first line: what the cells are called. Times are microseconds since 1970, empty for none.
constexpr std::string_view kRowTitles =
    "id\tname\tstate\tsubmitted\tstarted\tended\tprocs\tuser\tcluster\tattempts\tcommand\treason\n";

/// All cells but the reason, with the tab before it; of a job that has ended, the end is the
/// reason.
std::string row_cells(const JobRow& row);

}  // namespace muster::server
