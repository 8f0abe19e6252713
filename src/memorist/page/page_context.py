"""The memory of one project, how the page addresses it, and the links between the parts of a long
list.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.home_memories import ProjectMemoryOpener
from memorist.auto_memory.memory_name_lookup import find_memory_folder_and_path
from memorist.store.memory_uses import MemoryUseTotal, sum_memory_uses
from memorist.views.page_texts import translate
from memorist.views.view_blocks import FormField, LinkListBlock, PageAction

ROWS_PER_PAGE = 100
"""Rows of one page of a long list. Our choice."""


def build_view_address(view: str, /, **query: object) -> str:
    """An address of this page."""
    given = {name: value for name, value in query.items() if value not in {"", None}}
    return f"/{view}?{urlencode(given)}" if given else f"/{view}"


def build_pagination_links(
    view: str, total: int, page: int, **query: object
) -> tuple[LinkListBlock, ...]:
    """Links to the pages before and after; none where there is one page."""
    last = max(1, -(-total // ROWS_PER_PAGE))
    links = [
        (word, build_view_address(view, **query, page=number), False)
        for word, number in ((translate("Newer"), page - 1), (translate("Older"), page + 1))
        if 1 <= number <= last
    ]
    here = (
        translate("Page {page:,} of {last:,}", page=page, last=last),
        build_view_address(view, **query, page=page),
        True,
    )
    return (LinkListBlock(label=translate("Pages"), links=[here, *links]),) if last > 1 else ()


class PageContext:
    """The memory of one project, and how the page speaks of it."""

    def __init__(
        self,
        home: ProjectMemoryOpener,
        memory: AutoMemory,
        project: str,
        now: float,
        prefix: str = "",
    ) -> None:
        self.home, self.memory, self.project, self.now = home, memory, project, now
        self.prefix = prefix

    def list_memory_contexts(self) -> tuple[PageContext, ...]:
        """This memory, and the one of what holds in every project where there is one."""
        user = self.memory.everywhere
        return (self,) if user is None else (self, self._at(user))

    def find_context_and_path(self, name: str) -> tuple[PageContext, str]:
        """The folder that has what the page calls `name`, and its path there."""
        memory, path = find_memory_folder_and_path(self.memory, name)
        return (self if memory is self.memory else self._at(memory)), path

    def _at(self, memory: AutoMemory) -> PageContext:
        return PageContext(self.home, memory, self.project, self.now, EVERYWHERE_PREFIX)

    def build_memory_address(self, path: str, **query: object) -> str:
        """The address of one memory of this folder."""
        return self.build_project_view_address("memory", path=self.prefix + path, **query)

    def build_project_view_address(self, view: str, /, **query: object) -> str:
        """An address of a view of this project."""
        return build_view_address(view, project=self.project, **query)

    def build_button(
        self, label: str, action: str, *, key: str = "", danger: bool = False, **fields: str
    ) -> PageAction:
        """A button that changes this memory."""
        return PageAction(
            label=label,
            path=f"/do/{action}",
            fields={"project": self.project, **fields},
            key=key,
            danger=danger,
        )

    def build_form_fields(self) -> list[FormField]:
        """What every form of this project sends along."""
        return [FormField(name="project", kind="hidden", value=self.project)]

    def read_memory_uses(self) -> dict[str, MemoryUseTotal]:
        """How often each memory was shown and used."""
        return sum_memory_uses(self.home.database(), str(self.memory.layout.folder))


def build_project_links(view: str, projects: Sequence[str], chosen: str) -> LinkListBlock:
    """The projects that have a memory, as a choice."""
    return LinkListBlock(
        label=translate("Projects"),
        links=[
            (
                each.rstrip("/").rpartition("/")[2] or each,
                build_view_address(view, project=each),
                each == chosen,
            )
            for each in projects
        ],
    )
