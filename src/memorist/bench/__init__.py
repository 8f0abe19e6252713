"""The measurements that the documents quote. Anyone can run them: `memorist bench NAME`."""
