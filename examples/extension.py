"""An extension of one's own: a reminder of the user's style rules beside every tenth question, and
a count of what each session cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from memorist import Memorist, SessionContext, SessionExtension
from memorist.core.messages import Message, Origin, TextBlock
from memorist.extensions import HistoryChange, SessionReply, SessionView

RULES = "<reminder>Answer in short sentences, in British English.</reminder>"
EVERY = 10


class StyleReminder(SessionExtension):
    """Shows the rules with the first question, with every tenth, and when they were compacted
    away.
    """

    def __init__(self, context: SessionContext) -> None:
        self.session = context.id
        self.questions = 0
        self.output_tokens = 0
        self.is_due = True

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        """Count the questions."""
        del replayed
        if message.origin is Origin.USER and not message.tool_results:
            self.questions += 1
            self.is_due = self.is_due or self.questions % EVERY == 0

    async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
        """Insert the rules where they are due."""
        del new_messages
        if self.is_due and view.accepts_messages:
            view.insert(
                Message(
                    id=f"style-{self.session}-{self.questions}",
                    role="user",
                    blocks=(TextBlock(RULES),),
                    origin=Origin.INJECTED,
                )
            )
            self.is_due = False

    def on_reply(self, reply: SessionReply) -> None:
        """Add up the answers."""
        self.output_tokens += reply.usage.output

    def on_history_replaced(self, reason: HistoryChange) -> None:
        """Show the rules again: they may be gone."""
        del reason
        self.is_due = True

    def on_resume(self, view: SessionView) -> None:
        """Look whether an earlier process showed the rules."""
        self.is_due = not view.injected_texts("style-")

    async def aclose(self) -> None:
        """Print the counts."""
        print(f"{self.session}: {self.questions} questions, {self.output_tokens} tokens of answers")


async def main(home: Path | None = None) -> str:
    async with Memorist(home=home, model="structural") as engine:
        engine.extensions.append(StyleReminder)
        session = await engine.open("my-session", format="openai_chat")
        messages: list[dict[str, object]] = [{"role": "user", "content": "What is a colour?"}]
        sent = await session.prepare({"model": "gpt-4.1", "messages": messages})
        answer = {"role": "assistant", "content": "What the eye sees of a wavelength."}
        await session.observe(
            {
                "choices": [{"message": answer, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 40, "completion_tokens": 9},
            }
        )
        await session.end_turn()
        return str(sent["messages"][-1]["content"])


if __name__ == "__main__":
    print(asyncio.run(main()))
