"""Names that other libraries have for what memorist calls otherwise, with what to write instead.

They are the text of errors. Pure.
"""

from __future__ import annotations

_ENGINE = (
    "memorist.Memorist(home=…) is the engine; engine.memory(folder) is the memory of a project"
)
_ERRORS = "memorist.errors has every error; memorist.MemoristError is the base of all"
_PORTS = "memorist.ports has the protocols of models, clocks and files"

PUBLIC_NAMES = {
    **dict.fromkeys(
        (
            *("AsyncClient", "AsyncMemorist", "AsyncMemory", "Client", "Engine", "MemoristClient"),
            *("MemoristEngine", "Memory", "MemoryClient", "MemoryManager", "MemoryStore", "Store"),
        ),
        _ENGINE,
    ),
    **dict.fromkeys(("WireFormatError", "SettingsError", "StoreError", "UsageError"), _ERRORS),
    **dict.fromkeys(("Clock", "FileSystem", "Model"), _PORTS),
    "AsyncSession": "memorist.Session is the session with an event loop, BlockingSession without",
    "AutoMemory": "memorist.auto_memory.auto_memory has it; engine.memory(folder) gives one",
    "Config": "memorist.Settings has all settings",
    "Event": "memorist.events has the events that a listener is called with",
    "EngineThread": "memorist.adapters.engine_thread has it",
    "Message": "messages are those of your provider's format, as you send them",
    "ScriptedModel": "memorist.testing has what tests need, see docs/testing.md",
    "Tenants": "memorist.engine.tenants has it: many users in one process",
}
"""Of the package, with what to write instead."""

_RECORD = (
    "session.prepare(request) records the messages of a request, session.observe(reply) the reply; "
    "engine.memory(folder).add(text) adds a memory"
)
_LIST = "engine.memory(folder).read_memory_files() gives every memory, headers() a line of each"
_SEARCH = "engine.search(query, project=folder), or session.search_project(query)"
_DELETE = (
    "memory.forget([path, …]) removes memories, of each in memory.headers() its path; "
    "engine.delete_session(id) removes a session, tenants.remove(tenant) a user"
)
_OPEN = "engine.open(id, project=folder) opens a session, new or known"
_CALL = "memorist does not call your model: send what session.prepare(request) returns"
_HISTORY = (
    "you keep the history; session.prepare(request) returns it as it is to be sent, session.notes "
    "are the notes"
)

_GUESSES = (
    (
        "add add_message add_messages add_memory add_user_message add_assistant_message append "
        "append_message create_message log_message record remember save save_context save_message "
        "store store_message put",
        _RECORD,
    ),
    ("all all_memories get_all get_memories list list_memories memories export", _LIST),
    (
        "dump_session export_session get_session_messages",
        "session.layout.folder is all that is kept of a session, in text files",
    ),
    ("get find query recall retrieve search search_memories search_memory", _SEARCH),
    (
        "clear delete delete_all delete_memory delete_user erase forget forget_all remove "
        "remove_memory reset",
        _DELETE,
    ),
    ("edit_memory set update update_memory", "memory.edit(path, text) replaces a memory's text"),
    ("create create_session get_session new_session session start start_session", _OPEN),
    ("acomplete ask chat complete generate invoke run send stream", _CALL),
    (
        "build_context context get_context get_history get_messages history load "
        "load_memory_variables messages summary",
        _HISTORY,
    ),
    ("aclose end end_session finish shutdown stop", "close() ends a session, and an engine"),
    ("summarize", "session.update_notes() updates the notes, session.compact() the conversation"),
)
ATTRIBUTES = {name: right for names, right in _GUESSES for name in names.split()}
"""Of engines, sessions, memories and tenants, with what to write instead."""
