"""The typed tree of settings and how its values are resolved: defaults, the user's file, the
project's file, the environment, the caller.

Resolving is pure: `load_settings` reads the files. Unknown keys and bad values are errors that name
their source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from memorist.core.json_decoding import convert_value
from memorist.core.text_analysis import parse_word_list
from memorist.errors import SettingsError
from memorist.forks.fork_spec import ForkLimits
from memorist.models.model_settings import ModelSettings
from memorist.setting_names import (
    describe_unknown_setting,
    explain_invalid_setting,
    find_setting_type,
)

# The settings of the hooks that coding agents call.


class HooksSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a client may be kept waiting, and how long the hooks daemon lives. Chosen here
    unless a source is named.
    """

    enabled: bool = True
    """False answers every hook with nothing, immediately."""
    off_folders: tuple[str, ...] = ()
    """Folders without memory: of a session in one of them, or below it, nothing is read, shown,
    written or learned later.
    """
    notices: bool = True
    """Tell the user in the client, in one line, when something was remembered, changed or
    forgotten, when something waits, and when memory is off.
    """
    start_seconds: float = 5.0
    """Longest wait at the start of a session: long enough for the daemon to start."""
    prompt_seconds: float = 2.0
    """Longest wait before a prompt goes to the model."""
    tool_seconds: float = 0.5
    """Longest wait before a tool call."""
    compaction_seconds: float = 10.0
    """Longest wait before a compaction, for notes that are being updated."""
    other_seconds: float = 1.0
    """Longest wait at any other event; nothing is shown there, so only the delivery of the event
    counts (Codex stops the hook at the end of a session after 3 s).
    """
    idle_seconds: float = 1_800.0
    """The daemon ends after this long without an event."""
    session_idle_seconds: float = 600.0
    """A session without an event for this long is closed; its next event opens it again."""

    def list_time_limits(self) -> dict[str, float]:
        """The longest wait by event, in seconds; `*` stands for every other event."""
        return {
            "SessionStart": self.start_seconds,
            "UserPromptSubmit": self.prompt_seconds,
            "PreToolUse": self.tool_seconds,
            "PreCompact": self.compaction_seconds,
            "*": self.other_seconds,
        }


# The settings of the proxy.


DEFAULT_UPSTREAMS = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com"}
"""The providers' own base addresses (their SDKs' defaults, without the `/v1` that begins their
paths).
"""


class ProxySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the proxy listens, where it sends requests, and its limits. All numbers are chosen here
    unless a source is named.
    """

    host: str = "127.0.0.1"
    """Address to listen on. Any address beyond this machine requires a token
    (MEMORIST_PROXY_TOKEN).
    """
    port: int = 8_787
    """Port to listen on; 0 takes a free one."""
    upstreams: dict[str, str] = field(default_factory=lambda: dict(DEFAULT_UPSTREAMS))
    """Name and base address of each provider. A client names one in the first part of its path;
    otherwise the one that speaks its format is used.
    """
    hosts: tuple[str, ...] = ()
    """Names accepted in the Host header in addition to this machine's."""
    tenants: str = ""
    """Who the proxy serves: everybody in one home (empty); tenants identified by token, from a TOML
    file with a table `[tenants]` (its path); or tenants that clients name in the header
    `x-memorist-tenant` (`header`).
    """
    unknown_tenant: Literal["refuse", "pass"] = "refuse"
    """What happens to a request of no known tenant."""
    prepare_seconds: float = 120.0
    """Longest time that memorist may spend on one request, including a summary by a model; after
    that the request is sent unchanged.
    """
    connect_seconds: float = 15.0
    """Longest wait for a connection to a provider."""
    silent_seconds: float = 600.0
    """Longest silence of a provider, before or during its reply (the SDKs' default time limit)."""
    body_bytes: int = 67_108_864
    """Largest request body that is read; a larger one is passed on unread. Twice Anthropic's limit.
    """
    sessions: int = 200
    """Conversations kept open at once; the one idle for longest is closed first."""
    idle_minutes: float = 60.0
    """A conversation idle for this long is closed; its next request opens it again."""
    connections: int = 500
    """Simultaneous connections to the providers."""


# The settings of auto memory.


Policy = Literal["auto", "review", "off"]


class AutoMemorySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is remembered, where, and how large the index may be.

    Source of each default: Claude Code.
    """

    enabled: bool = True
    """False neither writes memories nor shows any."""
    policy: Policy = "auto"
    """`auto` writes what passes the checks, `review` puts everything into the inbox, `off` writes
    nothing.
    """
    directory: str = ""
    """The memory folder, absolute or from `~/`; empty for the project's own below the home folder.
    A project's file cannot set it.
    """
    everywhere: bool = True
    """What the user says about themselves, or of how they want to be answered, is kept once and
    shown in all of their projects; False keeps and shows it nowhere but in its project.
    """
    every_turns: int = 1
    """Extraction by a model runs once per so many turns."""
    turns: int = 5
    """Model replies in one extraction at most."""
    reads_anywhere: bool = True
    """False confines extraction by a model to the memory folder, without commands: for one machine
    that serves several users (`Tenants`).
    """
    drain_seconds: float = 60.0
    """Longest wait for a running extraction when a session closes."""
    scan_files: int = 200
    """Files in the manifest shown to a model."""
    scan_lines: int = 30
    """Lines read of each file for the manifest."""
    index_lines: int = 200
    """Lines of the index at most."""
    index_bytes: int = 25_000
    """Bytes of the index at most."""
    index_line: int = 150
    """Approximate characters of one line of the index."""


# The settings of compaction.


Family = Literal["rollout", "file-native"]
"""`rollout` is the shape of Codex CLI, `file-native` that of Claude Code."""


CompactionSchedule = Literal["threshold", "price"]
"""When the conversation is edited: at the threshold of the window, or earlier where it pays."""


class CompactionSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When and how the conversation is compacted. Source of each default: Claude
    Code, Codex. Sizes are tokens unless a name says otherwise.
    """

    enabled: bool = True
    """False never compacts; session memory is off then as well."""
    family: Family = "file-native"
    """Which family's full compaction is used: a summary after the boundary, or inline compaction.
    """
    provider: bool = False
    """Use the provider's own compaction where it exists."""
    summary_reserve: int = 20_000
    """Room for the summary's own output, at most; 99.99 % of summaries are shorter than 17,387."""
    auto_buffer: int = 13_000
    """Auto compaction begins this far below the effective window."""
    warning_buffer: int = 20_000
    """A warning is due this far below the point where something happens."""
    blocking_buffer: int = 3_000
    """This far below the effective window a request is rejected when nothing automatic can help."""
    window: int | None = None
    """Overrides the model's context window, downwards only."""
    percent: float | None = None
    """Compact at this share of the effective window, 0 to 100, if that is earlier."""
    result_characters: int = 50_000
    """A tool result longer than this is stored on disk; of those that one step stores, as much as
    this stays in view together.
    """
    message_result_characters: int = 200_000
    """Where all results of one message together are longer than this, the largest are stored on
    disk until the rest fits.
    """
    preview_bytes: int = 2_000
    """Bytes of a stored result that stay in view at least: its beginning and end."""
    micro_gap_minutes: float = 60.0
    """Idle time after which the provider's cache is surely cold, so that clearing old results costs
    nothing extra.
    """
    schedule: CompactionSchedule = "threshold"
    """`threshold` changes nothing before the window demands it (or the cache is cold); `price`
    edits from half the auto threshold on, as soon as that saves money over the expected rest of the
    session: cheaper, but the model sees less of what the window could still hold.
    """
    talk_from: float = 0.5
    """With the schedule `price`: share of the auto threshold from which the notes may replace older
    dialogue because it pays; 1 waits until the window demands it.
    """
    micro_keep: int = 5
    """Newest results that microcompact keeps; at least 1."""
    micro_cached: bool = False
    """Cached microcompact, for Anthropic and the main agent only: the provider clears old results
    by its own context editing, so that history and cached prefix stay as they are. The request then
    carries a beta edit; send it with `Session.betas`.
    """
    micro_cached_results: int = 20
    """Old results, beside the newest `micro_keep`, that have to pile up before cached microcompact
    names them for clearing. Claude Code's own number comes from its server; this one is ours.
    """
    keep_minimum_tokens: int = 10_000
    """Session memory compact keeps at least this much of the newest conversation …"""
    keep_minimum_texts: int = 5
    """… and at least so many messages with text …"""
    keep_maximum_tokens: int = 40_000
    """… but stops here."""
    restore_files: int = 5
    """Newest-read files that are restored after a full compaction."""
    restore_file_tokens: int = 5_000
    """Most tokens of one restored file."""
    restore_files_tokens: int = 50_000
    """Most tokens of all restored files."""
    restore_skill_tokens: int = 5_000
    """Most tokens of one restored skill."""
    restore_skills_tokens: int = 25_000
    """Most tokens of all restored skills."""
    inline_user_tokens: int = 20_000
    """The user's messages that inline compaction keeps, newest first."""
    too_long_retries: int = 3
    """Retries with a shortened request when a compaction request is itself too long."""
    too_long_share: float = 0.2
    """Share of the oldest rounds dropped by such a retry when the excess is not known."""
    failures: int = 3
    """Consecutive failures after which compaction is not tried again in this session."""
    refills: int = 3
    """Consecutive times the window may be full again at once before compaction stops with an
    explanation; a request that would be refused is still made smaller, without a model.
    """


# The settings of context assembly.


class ContextSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which instruction files are read, and how much of them.

    Source of each default: Claude Code, Codex.
    """

    family: Family = "file-native"
    """The default family: `file-native` or `rollout`."""
    exclude: tuple[str, ...] = ()
    """Globs on absolute paths of instruction files that are not read.

    The managed file cannot be excluded.
    """
    outside: bool = False
    """True follows links and imports of a project's files to places outside the project."""
    managed: str = ""
    """The managed instruction file; empty uses the platform's own path."""
    user_folder: str = "~/.claude"
    """Folder of the user's own CLAUDE.md and rules."""
    agents_folder: str = "~/.codex"
    """Folder of the user's own AGENTS.md."""
    agents_names: tuple[str, ...] = ("AGENTS.override.md", "AGENTS.md")
    """File names of the AGENTS.md family in order of preference; the first that exists in a folder
    is read.
    """
    agents_bytes: int = 32_768
    """Byte budget of the project's AGENTS.md files together; the user's own may have as
    many again.
    """
    root_markers: tuple[str, ...] = (".git",)
    """Names that mark a project's root folder."""
    file_bytes: int = 4_194_304
    """Largest CLAUDE.md, rule or import in bytes; a larger one is left out whole."""
    import_depth: int = 4
    """Longest chain of imports."""
    instruction_files: int = 1_000
    """Upper bound of instruction files read, against endless imports."""
    status_characters: int = 2_000
    """Characters of `git status` that are shown."""


# The settings of consolidation between sessions.


class DreamSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When memories are consolidated, and how much at once.

    Source of the defaults not marked as our choice: Claude Code.
    """

    enabled: bool = True
    """False never consolidates automatically."""
    hours: float = 24.0
    """Minimum hours since the last consolidation."""
    scan_minutes: float = 10.0
    """Minutes between two scans for sessions: once enough time has passed, every turn would scan
    again.
    """
    sessions: int = 5
    """Minimum number of other sessions of the project changed since the last consolidation."""
    material: int = 120_000
    """Upper bound in characters of the memories, logs, searches and instruction files that a model
    is shown: about 30,000 tokens. Our choice.
    """
    loss: float = 0.2
    """Share of the folder's words that a model may remove in one dream; beyond it none of its work
    is kept. Our choice.
    """
    retired: int = 10
    """Memories that a model may retire in one dream, never more than a fifth of them. Our
    choice.
    """
    questions: int = 10
    """Upper bound of questions that one dream puts into the inbox. Our choice."""


# Where feature flags come from.


LONGEST_REFRESH_SECONDS = 86_400.0
"""A day. Ours: a lookup that is rarer than that serves no purpose."""


class FlagsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of flags. A project's own file cannot set it: whoever sets the flags may change
    settings while memorist runs.
    """

    file: str = ""
    """A TOML or JSON file of flags, absolute or from `~/`; empty for none."""
    refresh_seconds: Annotated[float, msgspec.Meta(ge=1, le=LONGEST_REFRESH_SECONDS)] = 60.0
    """Time between two lookups, 1 to 86,400. Ours: a flag is for days, not for seconds."""


# The settings of Magic Docs.


class MagicDocsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which Magic Docs are kept up to date, and how often."""

    enabled: bool = True
    """False changes none of them automatically; `memorist docs update` still does."""
    every_turns: int = 1
    """Turns from one update to the next.
    """
    documents: int = 20
    """Upper bound of documents that one session updates.

    Each costs a request at the end of a turn. Our choice.
    """
    max_bytes: int = 65_536
    """Largest document in bytes, before and after an update: all of it goes into the request.

    Our choice; about 16,000 tokens.
    """
    drain_seconds: float = 60.0
    """Longest wait for an update when a session is closed (the bound of every such wait)."""


# The settings of recall.


class RecallSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is shown, and how much of it.

    Source of each default: Claude Code.
    """

    enabled: bool = True
    """False shows neither the index nor single memories."""
    selector: Literal["ranker", "model"] = "ranker"
    """`ranker` selects by words and embeddings, at once; `model` asks the model in the background
    (RC-2).
    """
    embeddings: bool = True
    """Use embeddings where the extra `embed` is installed."""
    before_tool: bool = True
    """Show before a tool call what is known of it: memories that name the file, and what worked
    instead of a call that failed in a past session.
    """
    holdout: Annotated[float, Meta(ge=0, le=0.5)] = 0.0
    """Share of sessions, chosen by their id, that run without memory, so that `memorist status
    --effect` can measure whether it helps: they are shown neither the index nor memories, past
    sessions or rollout memory. What is said in them is still remembered, and pinned texts stay.
    """
    limit: int = 5
    """Memories per message."""
    file_lines: int = 200
    """Lines shown of one memory."""
    file_bytes: int = 4_096
    """Bytes shown of one memory."""
    turn_bytes: int = 20_480
    """Bytes shown per user message."""
    session_bytes: int = 61_440
    """Bytes shown per session until a compaction."""
    seconds: float = 20.0
    """Longest time that a model may take to select."""


# The settings of rollout memory.


class RolloutsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which sessions become memory, and how much work that may be.

    Whether it runs automatically is `long_term`.

    Source of each default: Codex, requirements RO-1 to RO-9.
    """

    form: Literal["full", "lean"] = "full"
    """`full` keeps MEMORY.md, memory_summary.md and skills; `lean` one summary under
    `lean_bytes`.
    """
    model: str = ""
    """Model of stage one; empty uses the model of background work (`model`)."""
    consolidation_model: str = ""
    """Model of stage two; empty uses that of stage one."""
    max_age_days: Annotated[int, Meta(ge=0)] = 10
    """Older sessions are not extracted automatically."""
    min_idle_hours: Annotated[int, Meta(ge=0)] = 6
    """Hours since a session's newest message before it counts as finished."""
    sources: tuple[str, ...] = (
        "", "cli", "vscode", "sdk-cli", "memorist",
        "claude-desktop*", "claude-jetbrains*", "claude-vscode*", "remote*",
    )  # fmt: skip
    """Session sources that are extracted, with `*` for any ending: terminals, editors, the desktop
    and the phone; subagents and internal sessions never are.
    """
    scan: Annotated[int, Meta(ge=1)] = 5_000
    """Newest sessions examined in one scan."""
    running: Annotated[int, Meta(ge=1)] = 2
    """Sessions extracted at the same time, over all processes."""
    lease_seconds: Annotated[int, Meta(ge=60)] = 3_600
    """Lifetime of a claim without a heartbeat."""
    retries: Annotated[int, Meta(ge=1)] = 3
    """Attempts at a session before it waits for a newer version of it or for the user."""
    retry_seconds: Annotated[int, Meta(ge=0)] = 3_600
    """Delay after a failed attempt."""
    cooldown_hours: Annotated[int, Meta(ge=0)] = 6
    """Delay after a successful consolidation."""
    consolidated: Annotated[int, Meta(ge=1)] = 256
    """Upper bound of consolidated sessions."""
    unused_days: Annotated[int, Meta(ge=1)] = 30
    """A session neither used nor changed for that long is no longer consolidated, and its extract
    is eventually removed.
    """
    summary_tokens: Annotated[int, Meta(ge=0)] = 2_500
    """Tokens of the summary that are shown, cut by whole entries."""
    lean_bytes: Annotated[int, Meta(ge=0)] = 10_000
    """Bytes of the summary in the lean form."""
    pollutes: bool = False
    """True excludes sessions that took in content from the web or from MCP servers."""


# The settings of session memory.


class SessionMemorySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When notes are updated and how large they may be. All sizes are tokens. Source of each
    default: Claude Code.
    """

    enabled: bool = True
    """False keeps no notes."""
    start_tokens: int = 10_000
    """Context size at which notes begin."""
    growth_tokens: int = 5_000
    """Growth of the context since the last update that every further update needs."""
    tool_calls: int = 3
    """Tool calls since the last update that, with the growth, call for an update in the middle of a
    turn.
    """
    section_tokens: int = 2_000
    """A section above this is named in a reminder, and cut when the notes replace a conversation.
    """
    total_tokens: int = 12_000
    """Notes above this get the stronger reminder."""
    structural_tokens: int = 3_000
    """Size of notes made without a model, all sections together; chosen so that they cost less than
    a page of conversation.
    """
    wait_seconds: float = 15.0
    """Longest time a compaction waits for a running update."""
    stale_seconds: float = 60.0
    """An update that began longer ago is not waited for."""


SessionMemorySettingsSource = Callable[[], SessionMemorySettings]
"""Returns the settings in force; called at every decision, since a feature flag may have changed
them. Returns at once (SM-1).
"""


# The settings of skills.


class SkillsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where skills are searched, and how much of them is shown.

    Source of each default: Codex, unless stated otherwise.
    """

    enabled: bool = True
    """False finds, lists and injects none."""
    roots: tuple[str, ...] = ()
    """Further folders to search, as the user's own."""
    excluded: tuple[str, ...] = ()
    """Names of skills, or paths of a SKILL.md or its folder, that are left out."""
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.02
    """Part of the context window that the catalogue may take, frame included: 0 to 1."""
    characters: int = 8_000
    """Characters of the catalogue where the window is not known."""
    description_characters: int = 1_024
    """Characters shown of one description."""
    body_tokens: int = 5_000
    """Tokens injected of one body; the rest is referred to by path. The open specification's advice
    for a body, and what is restored after a compaction.
    """
    depth: int = 6
    """Folder levels searched below a root."""
    folders: int = 2_000
    """Folders searched below one root."""
    entries: int = 20_000
    """Names examined below one root."""
    file_bytes: int = 262_144
    """Largest SKILL.md that is read; our choice, a body of the advised size has 20,000."""


# The caps on background work.


class SpendSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all background work of one home may use in a day (of UTC), and in one session. The caps
    of a single fork are in `forks`.

    Requests count retries; tokens are input and output, and a tenth of what was read from the
    cache; the cost counts where prices are known; seconds are the time that forks ran. A cap of 0
    allows nothing.
    """

    enabled: bool = True
    """False lifts the caps below, not those of a fork, and not the respect for a provider's limits.
    """
    day_requests: int = 500
    """Most requests of background work in a day: a working day at one a minute. A worker without a
    bound sent 1,911 in five hours.
    """
    day_tokens: int = 5_000_000
    """Most tokens in a day: about 350 updates of notes at a context of 100,000 tokens."""
    day_cost_usd: float = 10.0
    """Most US dollars in a day: users of other systems complain of 17 in three hours."""
    day_seconds: float = 14_400.0
    """Most seconds of running forks in a day: 500 requests of half a minute."""
    session_requests: int = 200
    """Most requests in a session: less than half a day's, so that one runaway session leaves
    something to the others.
    """
    session_tokens: int = 2_000_000
    """Most tokens in a session: about 140 updates of notes at a context of 100,000 tokens."""
    session_cost_usd: float = 5.0
    """Most US dollars in a session: half a day's."""
    session_seconds: float = 7_200.0
    """Most seconds of running forks in a session: half a day's."""
    remaining_percent: int = 25
    """Percent of a provider's limit: with less left, background work waits until the limit is
    reset, and leaves the rest to the host.
    """
    hold_seconds: float = 60.0
    """Wait after a refusal (429, 529) for which the provider gives no time: limits are counted by
    the minute.
    """
    fruitless_runs: Annotated[int, Meta(ge=0)] = 6
    """After this many unusable answers in a row, late ones of a model on this machine or failed
    dreams, a kind of work does not ask this model again on that day and does without; 0 never
    stops. Our choice: a model that is up to the work fails now and then, one that is not fails each
    time.
    """


# The settings of team memory.


class TeamSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a team's memories are stored, and how they are synchronised.

    Source of the figures: Claude Code. A project's file sets none of them.
    """

    enabled: bool = False
    """True synchronises `team/` of each project that has a remote (`memorist team init`, or
    `remote`) while a session is open.
    """
    remote: str = ""
    """Remote of projects without one of their own: `https://HOST` for a server of ours, or
    `git:URL` (`git:origin`: the project's own).
    """
    branch: str = "memorist-team"
    """Branch of a Git remote."""
    folder: str = "team"
    """Folder on that branch; empty for the whole branch."""
    token_file: str = ""
    """File with the server's token, readable by you alone.

    The variable MEMORIST_TEAM_TOKEN takes precedence.
    """
    ca_file: str = ""
    """PEM file with the authorities that may have signed the server's certificate, in place of the
    system's; for a self-made certificate.
    """
    pause_seconds: float = 2.0
    """Delay between the last change and sending."""
    every_seconds: float = 300.0
    """Interval of polling for others' changes while a session is open. Our choice."""
    flush_seconds: float = 2.0
    """Longest wait at the end of a session for what is still to be sent."""
    timeout_seconds: float = 30.0
    """Time limit of one request or one run of Git."""
    retries: int = 3
    """Retries of a request if the server is overloaded or unreachable."""
    entry_bytes: int = 250_000
    """Largest memory in bytes; larger ones are neither sent nor taken."""
    body_bytes: int = 200_000
    """Bytes of the memories in one request; a larger one goes alone."""


# What is reported to OpenTelemetry.


class TelemetrySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Spans are made where the host has set a tracer provider, and nowhere else. Ours."""

    enabled: bool = True
    """Make spans of forks, compactions, recalls, dreams and team syncs, where the process has an
    OpenTelemetry tracer provider.
    """
    requests: bool = True
    """Make a span for each request of a fork too. Off where an instrumentation of the model's SDK
    makes those, so that no token is counted twice.
    """
    content: bool = False
    """Put texts into them too (last words of a fork, reasons, names of memories), without secrets.
    Off, spans hold only numbers and fixed words.
    """


MAX_NUMBER = 2**53
"""Up to here every whole number is one in JSON and as a float too; a larger one is a mistake, and
no clock, count or database could hold it.
"""
ENVIRONMENT_PREFIX = "MEMORIST_"
"""`MEMORIST_MODEL` sets `model`; `MEMORIST_SESSION_MEMORY__START_TOKENS` sets
`session_memory.start_tokens`.
"""

ALL_SETTINGS_HINT = "`memorist config show` lists the settings and their values"

RESERVED_VARIABLES = parse_word_list(
    """
         MEMORIST_API_KEY MEMORIST_LOCAL_MODEL MEMORIST_MCP_TOKEN MEMORIST_OFF
    MEMORIST_PROXY_TOKEN     MEMORIST_TEAM_TOKEN
    """
)
"""Variables with the prefix that are read elsewhere: keys, and the path of a model file on this
machine.
"""

PROJECT_SECTIONS = frozenset({"session_memory", "compaction"})
"""Sections that a project's own file may set. Others are ignored there and reported: a cloned
repository must not choose which server receives the conversation, or where files are written.
"""


LongTermMemory = Literal["auto_memory", "rollouts", "both", "none"]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, one section per subsystem."""

    home: str = "~/.memorist"
    """Folder of all data."""
    model: str = "structural"
    """The model for background work: `anthropic:NAME`, `openai:NAME`, `openai-chat:NAME@BASE_URL`,
    `local`, or `structural` for none.
    """
    state: str = "sqlite"
    """Where past sessions and jobs on them are recorded: `sqlite` (in the home folder) or
    `postgresql://host/name` (for several machines).
    """
    shared_sessions: str = ""
    """`postgresql://host/name` of a database by which workers on several machines share the
    sessions that they serve (docs/many-users.md); empty for sessions of this machine alone.
    """
    long_term: LongTermMemory = "both"
    """What is remembered across sessions automatically: `auto_memory` (topic files of each
    project), `rollouts` (past sessions, in two stages), `both`, or `none`. Commands work in any
    case.
    """
    raw_transcripts: bool = False
    """Store transcripts, tool results and windows with the secrets that are in them, instead of
    marks; what is fetched back is then whole (docs/safety.md).
    """
    session_memory: SessionMemorySettings = SessionMemorySettings()
    models: ModelSettings = ModelSettings()
    forks: ForkLimits = ForkLimits()
    compaction: CompactionSettings = CompactionSettings()
    auto_memory: AutoMemorySettings = AutoMemorySettings()
    recall: RecallSettings = RecallSettings()
    context: ContextSettings = ContextSettings()
    skills: SkillsSettings = SkillsSettings()
    rollouts: RolloutsSettings = RolloutsSettings()
    spend: SpendSettings = SpendSettings()
    dream: DreamSettings = DreamSettings()
    team: TeamSettings = TeamSettings()
    magic_docs: MagicDocsSettings = MagicDocsSettings()
    hooks: HooksSettings = HooksSettings()
    flags: FlagsSettings = FlagsSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    proxy: ProxySettings = ProxySettings()

    @property
    def uses_auto_memory(self) -> bool:
        """Whether auto memory is kept and shown."""
        return self.auto_memory.enabled and self.long_term in ("auto_memory", "both")

    @property
    def uses_rollouts(self) -> bool:
        """Whether past sessions are turned into memory automatically, and a session is shown the
        result.
        """
        return self.long_term in ("rollouts", "both")


class SettingsLayer(Struct, frozen=True):
    """Values from one source, as a tree of plain objects. `name` is shown by `config show
    --source`.
    """

    name: str
    values: dict[str, Any]
    project: bool = False


class ResolvedSettings(Struct, frozen=True):
    """The effective settings, the source of each value that is not a default (`section.key` to
    name), and what was ignored.
    """

    settings: Settings
    sources: dict[str, str]
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Old spellings that were read, one sentence each."""


def read_environment_layer(environment: Mapping[str, str]) -> SettingsLayer:
    """Read settings from environment variables; two underscores separate section and key.

    Raises SettingsError for a variable with the prefix that names no setting.
    """
    values: dict[str, Any] = {}
    for name in sorted(environment):
        if not name.startswith(ENVIRONMENT_PREFIX) or name in RESERVED_VARIABLES:
            continue
        path = name[len(ENVIRONMENT_PREFIX) :].lower().split("__")
        kind = find_setting_type(Settings, path)
        if not environment[name] and (path == ["home"] or kind not in (None, str)):
            continue  # files of containers have them for what is not set
        if kind is None and path != ["compaction", "by_price"]:
            raise SettingsError(
                f"the environment variable {name}: "
                f"{describe_unknown_setting(Settings, '.'.join(path))}; {ALL_SETTINGS_HINT}"
            )
        inner = values
        for part in path[:-1]:
            inner = inner.setdefault(part, {})
        inner[path[-1]] = environment[name]
    return SettingsLayer("environment", values)


def resolve_settings(layers: Sequence[SettingsLayer]) -> ResolvedSettings:
    """Merge the layers, later ones over earlier ones, and validate the result. Raises
    SettingsError.
    """
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    ignored: list[str] = []
    notes: list[str] = []
    for layer in layers:
        values = layer.values
        if layer.project:
            ignored += [
                f"{key} ({layer.name}: a project's file may not set this)"
                for key in sorted(set(values) - PROJECT_SECTIONS)
            ]
            values = {key: value for key, value in values.items() if key in PROJECT_SECTIONS}
        values, remarks = _modernize(layer.name, values)
        notes += remarks
        build_settings(layer.name, values)
        _merge_values(merged, values, layer.name, sources, ())
    return ResolvedSettings(
        convert_value(merged, Settings, strict=False), sources, tuple(ignored), tuple(notes)
    )


RENAMED_SETTINGS = {
    ("skills", "off"): "excluded",
    ("context", "files"): "instruction_files",
    ("context", "hops"): "import_depth",
}
"""New names of settings, by section and old name; the old ones are read, with a note."""

_TRUE_TEXTS = frozenset({"1", "true"})


def _modernize(name: str, values: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The values with old spellings replaced, and a note on each."""
    now, notes = dict(values), list[str]()
    for (key, old), new in RENAMED_SETTINGS.items():
        if isinstance(section := now.get(key), dict) and old in section:
            rest = {name: value for name, value in section.items() if name != old}
            now[key] = {new: section[old], **rest}
            notes.append(f"{name}: {key}.{old} is now {key}.{new}")
    if isinstance(section := now.get("compaction"), dict):
        now["compaction"], remarks = _modernize_compaction(name, dict(section))
        notes += remarks
    return now, notes


def _modernize_compaction(name: str, now: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    notes = []
    if now.get("family") == "file_native":
        now["family"] = "file-native"
        notes.append(f'{name}: compaction.family = "file_native" is now spelled "file-native"')
    if "by_price" in now:
        by_price = str(now.pop("by_price")).lower() in _TRUE_TEXTS
        schedule = "price" if by_price else "threshold"
        now.setdefault("schedule", schedule)
        notes.append(f'{name}: compaction.by_price is now compaction.schedule = "{schedule}"')
    return now, notes


def build_settings(name: str, values: dict[str, Any]) -> Settings:
    """The settings with these values and the defaults of all others; `name` is their source.

    Raises SettingsError.
    """
    try:
        found = convert_value(values, Settings, strict=False)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        # The second: a variable of the environment whose bytes are no UTF-8, where a number is
        # asked for.
        raise SettingsError(
            f"{name}: {explain_invalid_setting(Settings, str(error))}; {ALL_SETTINGS_HINT}"
        ) from error
    given = {key: value for key, value in msgspec.to_builtins(found).items() if key in values}
    wrong = next(_find_out_of_range(given, ()), None)
    if wrong is not None:
        raise SettingsError(f"{name}: {wrong}; every number is from 0 to 2 to the power of 53")
    return found


def _find_out_of_range(value: object, path: tuple[str, ...]) -> Iterator[str]:
    """Find numbers that no setting can have: all are counts, sizes, times, shares or prices."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _find_out_of_range(inner, (*path, str(key)))
    elif isinstance(value, int | float) and not 0 <= value <= MAX_NUMBER:  # also no number at all
        yield f"{'.'.join(path)} is {value}"


def _merge_values(
    into: dict[str, Any],
    values: Mapping[str, Any],
    name: str,
    sources: dict[str, str],
    path: tuple[str, ...],
) -> None:
    for key, value in values.items():
        here = (*path, key)
        if isinstance(value, dict) and isinstance(into.setdefault(key, {}), dict):
            _merge_values(into[key], value, name, sources, here)
        else:
            into[key] = value
            sources[".".join(here)] = name


def flatten_settings(settings: Settings) -> dict[str, Any]:
    """Every setting as `section.key` to its value, in the order of the tree."""
    values: dict[str, Any] = {}

    def visit(tree: Mapping[str, Any], path: tuple[str, ...]) -> None:
        for key, value in tree.items():
            if isinstance(value, dict) and value and not path:
                visit(value, (*path, key))
            else:
                values[".".join((*path, key))] = value

    visit(msgspec.to_builtins(settings), ())
    return values
