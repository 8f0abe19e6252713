"""The last accepted state of the folder of memories."""
