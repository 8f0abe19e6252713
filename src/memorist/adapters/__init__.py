"""memorist in the agents and SDKs that people already use: thin plugs that map a host's messages
and call the engine's points.
"""
