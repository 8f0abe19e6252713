"""What differs between systems, one small module each: locks, sockets, processes, open files.

Windows has no `fcntl`, no `posix_spawn` and no process groups, and its Python no Unix sockets.

Elsewhere: files as memorist stores them (`store`); the clock (`system`).
"""
