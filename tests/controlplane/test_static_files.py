"""An address of a script or a style says which bytes it stands for, and is kept for good."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.http import HttpResponse
from django.templatetags.static import static
from django.test import Client, RequestFactory

from controlplane import static_files
from controlplane.static_files import FOREVER, NEVER, StaticFiles, counted, tree
from tests import house

STATIC = house.ROOT / "static"
BASE = "css/base.css"
OTHER = "0123456789ab"


def files(folder: Path, **texts: str) -> dict[str, Path]:
    paths = {}
    for name, text in texts.items():
        paths[name] = folder / name
        paths[name].write_text(text, encoding="utf-8")
    return paths


def test_what_a_file_holds_and_is_called_changes_the_hash_and_its_age_and_place_do_not(
    tmp_path: Path,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    digest = counted(files(tmp_path, a="one", b="two")).digest

    same = files(elsewhere, b="two", a="one")
    os.utime(same["a"], (1, 1))

    assert counted(same).digest == digest
    assert counted(files(tmp_path, a="one", b="twO")).digest != digest
    assert counted(files(tmp_path, a="one", c="two")).digest != digest
    assert counted(files(tmp_path, a="two", b="one")).digest != digest


def test_every_address_carries_the_hash_and_may_be_kept_for_good(client: Client) -> None:
    address = static(BASE)
    answer = client.get(address)

    assert address == f"/static/{tree().digest}/{BASE}"
    assert answer.headers["cache-control"] == FOREVER
    assert answer.content == Path(str(finders.find(BASE))).read_bytes()
    again = client.get(address, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.headers["cache-control"]) == (304, FOREVER)


@pytest.mark.parametrize("address", [f"/static/{OTHER}/{BASE}", f"/static/{BASE}"])
def test_the_address_of_another_build_is_answered_and_never_kept(
    address: str, client: Client
) -> None:
    answer = client.get(address)

    assert answer.headers["cache-control"] == NEVER
    assert b".banner" in answer.content


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["css/none.css", f"{OTHER}/{BASE}", "../manage.py", ""])
def test_an_address_of_no_file_is_not_found(name: str, client: Client) -> None:
    assert client.get(f"/static/{tree().digest}/{name}").status_code == 404


def test_a_file_that_was_replaced_under_a_running_process_is_not_kept(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = files(tmp_path, **{"mine.css": "a {}"})
    settings.STATICFILES_DIRS = [tmp_path]
    found = counted(mine)
    monkeypatch.setattr(static_files, "tree", lambda: found)
    serve = StaticFiles(lambda _: HttpResponse(status=404))
    request = RequestFactory().get(f"/static/{found.digest}/mine.css")

    before = serve(request)
    mine["mine.css"].write_text("b {}", encoding="utf-8")
    os.utime(mine["mine.css"], (1, 1))
    after = serve(request)

    assert (before.content, before.headers["cache-control"]) == (b"a {}", FOREVER)
    assert (after.content, after.headers["cache-control"]) == (b"b {}", NEVER)


def test_whoever_works_on_the_files_sees_each_change(settings: Any, rf: RequestFactory) -> None:
    settings.WHITENOISE_AUTOREFRESH = True
    answer = StaticFiles(lambda _: HttpResponse(status=404))(rf.get(static(BASE)))

    assert (answer.status_code, answer.headers["cache-control"]) == (200, NEVER)


def test_what_our_files_name_is_relative_and_so_at_the_hash_too(client: Client) -> None:
    """An import by another address would run a module twice."""
    named = re.compile(r"""(?:\bfrom\s+|\bimport\s*\(?\s*|url\(\s*)["']?([./][^"'\s)#]+)""")
    files = [one for kind in ("css/*", "js/*", "vendor/*.css") for one in STATIC.glob(kind)]
    found = {(one, name) for one in files for name in named.findall(one.read_text("utf-8"))}

    assert (STATIC / "js/live.js", "./page.js") in found
    for one, name in found:
        assert name.startswith("."), f"{one.name}: {name}"
        whole = (one.parent / name).resolve().relative_to(STATIC)
        assert client.get(static(str(whole))).headers["cache-control"] == FOREVER
