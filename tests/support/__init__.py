"""What several tests share: a loopback model provider, a PostgreSQL server, the outline of a
context.
"""
