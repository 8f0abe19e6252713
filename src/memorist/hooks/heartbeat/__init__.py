"""The process behind the hooks ends itself when it hangs."""
