#!/bin/sh
# Run a command where there is no network but loopback. Where the system does not allow that, say so and run it as it is.
inside='ip link set lo up && exec "$@"'
for way in '--net' '--map-root-user --net'; do
    if unshare $way sh -c "$inside" sh true 2>/dev/null; then
        exec unshare $way sh -c "$inside" sh "$@"
    fi
done
echo 'no network of its own could be made (unshare, ip); running with the network as it is' >&2
exec "$@"
