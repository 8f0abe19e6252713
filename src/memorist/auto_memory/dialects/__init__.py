"""The layouts in which agents keep their memory (AM-13).

Pure: files in, memories out, and the other way round.
"""
