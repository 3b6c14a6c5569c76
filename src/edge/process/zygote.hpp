/// The process that forks supervisors: small and single-threaded, so that a fork costs little.
/// Holds nothing that matters; its death costs nothing.
#pragma once

namespace muster {

/// Serves frames from the socket until the server closes it. A frame is a u32 length and an encoded
/// NodeOrder, with the shim's link and (where there is one) its slot's lock attached.
int run_zygote(int socket_fd);

}  // namespace muster
