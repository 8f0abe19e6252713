"""Wire and file formats to and from core messages. Pure: bytes and objects in, values out; nothing
here opens a file.

Elsewhere: opening and writing files (`store`); what a recording proves (`transcript_analysis`);
finding the recordings of agents (`rollouts.session_sources`).
"""
