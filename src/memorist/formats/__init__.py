"""Wire and file formats to and from core messages. Pure: bytes and objects in, values out; nothing
here opens a file.
"""
