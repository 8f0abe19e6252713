"""The measurements that docs/benchmarks.md quotes; `make bench NAME=…` runs one."""
