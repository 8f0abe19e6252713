"""What a host allows, as the rollout family is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.context.context_pieces import ContextSection
from memorist.context.context_tags import require_context_tag_definition, unwrap_tag
from memorist.context.environment import CommandExecutionEnvironment, CommandNetworkAccess
from memorist.context.first_context_assembly import FirstContext, assemble_first_context
from memorist.context.host_permissions import (
    APPROVAL_POLICIES,
    DEFAULT_PERMISSIONS,
    SANDBOX_MODES,
    HostPermissions,
    build_permissions_sections,
    render_permissions,
)
from memorist.runtime import Runtime
from memorist.settings import ContextSettings, Family, Settings
from memorist.store.disk_files import DiskFiles
from memorist.testing.frozen_clock import FrozenClock
from support.first_request import build_responses_body

pytestmark = pytest.mark.covers("CX-1")

WHOLE = HostPermissions(
    approval="on-request",
    sandbox="workspace-write",
    network=CommandNetworkAccess(enabled=True, allowed=("example.org",), denied=("example.net",)),
    writable=("/srv/cache", "/srv/out"),
    agents=("reviewer",),
    environments=(CommandExecutionEnvironment(folder="/srv/other", name="other"),),
)


def look(
    tmp_path: Path,
    allowed: HostPermissions,
    family: Family = "rollout",
    given: tuple[ContextSection, ...] = (),
) -> FirstContext:
    settings = ContextSettings(
        managed=str(tmp_path / "none"),
        user_folder=str(tmp_path / "none"),
        agents_folder=str(tmp_path / "none"),
    )
    outside = Runtime(files=DiskFiles(), clock=FrozenClock(), settings=Settings(context=settings))
    return assemble_first_context(
        tmp_path, family, outside, host_sections=given, permissions=allowed
    )


def test_what_a_host_allows_is_told_in_its_place(tmp_path: Path) -> None:
    """Before the user's side a section in words, and in the environment the values; in the request
    as in the pieces.
    """
    found = look(tmp_path, WHOLE)

    assert [each.tag for each in found.pieces] == [
        "permissions instructions",
        "environment_context",
    ]
    words, environment = (each.text for each in found.pieces)
    assert "example.org" in words
    assert "/srv/cache, /srv/out" in words
    for part in (
        "<approval_policy>on-request<",
        "<sandbox_mode>workspace-write<",
        "<agent>reviewer<",
        "<denied>example.net<",
        'id="other"',
    ):
        assert part in environment
    assert [item["role"] for item in build_responses_body(found.pieces)["input"]] == [
        "developer",
        "user",
    ]


def test_every_policy_has_words_of_its_own() -> None:
    """Four for approval and three for the sandbox, all different; each names itself, so that a
    model can be asked about it.
    """
    approvals = [render_permissions(HostPermissions(approval=each)) for each in APPROVAL_POLICIES]
    sandboxes = [render_permissions(HostPermissions(sandbox=each)) for each in SANDBOX_MODES]

    assert len({*approvals, *sandboxes}) == len(APPROVAL_POLICIES) + len(SANDBOX_MODES)
    assert all(
        name in text
        for name, text in zip(
            (*APPROVAL_POLICIES, *SANDBOX_MODES), (*approvals, *sandboxes), strict=True
        )
    )
    assert all("\n" not in text and "{{" not in text for text in (*approvals, *sandboxes))


def test_a_host_that_says_nothing_adds_nothing(tmp_path: Path) -> None:
    """No section, and no value in the environment."""
    (piece,) = look(tmp_path, HostPermissions()).pieces

    assert piece.tag == "environment_context"
    assert "approval" not in piece.text
    assert (
        build_permissions_sections(DEFAULT_PERMISSIONS, "rollout")[0].why == DEFAULT_PERMISSIONS.why
    )


def test_a_host_may_bring_the_section_itself(tmp_path: Path) -> None:
    """Then ours stays away, and the values remain."""
    own = ContextSection(tag="permissions instructions", text="Ask Ann.")
    found = look(tmp_path, HostPermissions(approval="never"), given=(own,))

    assert [
        (unwrap_tag(each.text, require_context_tag_definition(each.tag, "rollout")) or "").strip()
        for each in found.pieces
        if each.role == "developer"
    ] == ["Ask Ann."]
    assert "<approval_policy>never<" in found.pieces[-1].text


@pytest.mark.covers("CX-2")
def test_the_other_family_takes_the_folders_alone(tmp_path: Path) -> None:
    """It has no place for approval and sandbox."""
    found = look(tmp_path, WHOLE, "file-native")

    (environment,) = [each.text for each in found.pieces if each.tag == "env"]
    assert "/srv/other" in environment
    assert "on-request" not in "".join(each.text for each in found.pieces)


@pytest.mark.covers("SF-3")
@given(st.text(), st.text(), st.lists(st.text(), max_size=2))
def test_no_value_leaves_its_line_or_its_tag(
    approval: str, sandbox: str, folders: list[str]
) -> None:
    """Whatever a host calls its policies: one line each, and nothing in them opens or closes a tag."""
    text = render_permissions(
        HostPermissions(approval=approval, sandbox=sandbox, writable=tuple(folders))
    )

    assert len(text.splitlines()) <= 3
    assert "</permissions instructions>" not in text
    assert "<system-reminder>" not in render_permissions(
        HostPermissions(approval=f"<system-reminder>{approval}")
    )
