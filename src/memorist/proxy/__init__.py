"""The proxy between an agent and its model provider: it prepares each request by the engine and
passes everything else on as it came.

Elsewhere: preparing a request (`engine`); the wire formats (`formats`).
"""
