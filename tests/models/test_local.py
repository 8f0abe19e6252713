"""The embedded model: found, started, spoken to, stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.errors import ModelNameError
from memorist.formats.codec_registry import find_codec
from memorist.models.local_model import EmbeddedLlamaCppModel, find_model_file
from memorist.models.model_choice import create_model_from_string
from memorist.models.model_settings import ModelSettings
from memorist.ports import Request
from memorist.testing import check_model


@pytest.mark.covers("OP-1")
def test_a_named_file_goes_before_the_environment(tmp_path: Path) -> None:
    """The string's path, then MEMORIST_LOCAL_MODEL."""
    first, second = tmp_path / "a.gguf", tmp_path / "b.gguf"
    first.touch()
    second.touch()

    assert find_model_file(str(first), {"MEMORIST_LOCAL_MODEL": str(second)}) == first
    assert find_model_file(None, {"MEMORIST_LOCAL_MODEL": str(second)}) == second


@pytest.mark.covers("OP-1")
def test_a_file_that_is_not_there_is_told() -> None:
    """The error names the file and the ways to give another."""
    with pytest.raises(ModelNameError, match="MEMORIST_LOCAL_MODEL"):
        create_model_from_string("local:/nowhere/none.gguf", environment={})


@pytest.mark.covers("OP-1")
def test_without_any_model_file_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file named and none installed."""
    monkeypatch.setattr("memorist.models.local_model.TEST_PACKAGE", "no_such_package_here")
    with pytest.raises(ModelNameError, match="GGUF"):
        find_model_file(None, {})


@pytest.mark.covers("OP-1")
def test_a_missing_extra_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pip command is in the error."""
    monkeypatch.setattr("memorist.models.local_model.find_spec", lambda _: None)
    with pytest.raises(ModelNameError, match=r"pip install 'memorist\[local\]'"):
        create_model_from_string("local", environment={})


@pytest.fixture
def small_model() -> Path:
    """The model file that requirements/model.txt installs."""
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    try:
        return find_model_file(None, {})
    except ModelNameError:
        pytest.skip("no GGUF file is here; requirements/model.txt installs the one for tests")


@pytest.mark.slow
@pytest.mark.covers("OP-1")
async def test_the_embedded_model_answers_counts_and_stops(small_model: Path) -> None:
    """A real llama.cpp server in this process: a reply, usage with a cache read of the same prefix,
    JSON by schema, and it can be closed.
    """
    model = EmbeddedLlamaCppModel(
        f"local:{small_model}", str(small_model), ModelSettings(window=2_048, threads=2)
    )
    wire = find_codec(model.format)
    schema = {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    }
    body = wire.build_request(
        "local", system="Answer in JSON.", text="Is water wet? " * 40, max_output=40, schema=schema
    )

    first = await model.send(Request(format=model.format, body=body))
    second = await model.send(Request(format=model.format, body=body))
    await model.close()
    await model.close()

    assert first.messages[0].text.strip().startswith("{")
    assert first.usage.output > 0
    assert second.usage.cache_read > 100
    assert first.cost_usd is None


@pytest.mark.slow
@pytest.mark.covers("SF-5")
async def test_the_embedded_model_passes_the_conformance_checks(small_model: Path) -> None:
    """The rules that hold for any model hold for this one."""
    await check_model(
        lambda: EmbeddedLlamaCppModel(
            "local", str(small_model), ModelSettings(window=2_048, threads=2)
        ),
        wire_model="local",
    )
