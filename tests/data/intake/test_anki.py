import hashlib
import http.server
import io
import logging
import threading
import zipfile

import pytest

from glossa.data.intake import anki
from glossa.errors import GlossaError


def archive(text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("fra.txt", text)
    return buffer.getvalue()


GOOD = archive("Go.\tVa !\n")


@pytest.fixture
def site():
    """A local site; `site.refuses` is the status with which it refuses programs that say what they are."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            answers = self.server.answers.get(self.path, [])
            body = answers.pop(0) if len(answers) > 1 else (answers or [None])[0]
            agent = self.headers.get("User-Agent", "")
            assert agent.startswith("glossa-mt/") and "Mozilla" not in agent
            status = self.server.refuses or (200 if body else 404)
            self.send_response(status)
            self.end_headers()
            if status == 200:
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answers, server.asked, server.refuses = {}, [], None
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_downloads_once_and_stores_the_checksum(site, tmp_path):
    site.answers["/fra-eng.zip"] = [GOOD]
    for _ in range(2):
        path = anki.download_anki("fr", tmp_path, [f"{site.url}/fra-eng.zip"])
    assert path == tmp_path / "fra-eng.zip" and path.read_bytes() == GOOD
    assert site.asked == ["/fra-eng.zip"]
    digest = hashlib.sha256(GOOD).hexdigest()
    assert (tmp_path / "fra-eng.zip.sha256").read_text() == f"{digest}  fra-eng.zip\n"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_changed_since_is_downloaded_again(site, tmp_path, caplog):
    site.answers["/a"] = [GOOD]
    path = anki.download_anki("fr", tmp_path, [f"{site.url}/a"])
    path.write_bytes(archive("tampered\n"))
    assert anki.download_anki("fr", tmp_path, [f"{site.url}/a"]).read_bytes() == GOOD
    assert "does not match its checksum" in caplog.text and len(site.asked) == 2


def test_a_truncated_archive_is_downloaded_once_more(site, tmp_path):
    site.answers["/a"] = [GOOD[:-30], GOOD]
    assert anki.download_anki("fr", tmp_path, [f"{site.url}/a"]).read_bytes() == GOOD
    assert site.asked == ["/a", "/a"]


def test_the_next_url_is_tried_with_a_warning_about_the_old_edition(site, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(anki, "PUBLISHER", site.url + "/anki/{code}-eng.zip")
    monkeypatch.setattr(anki, "MIRROR_2019", site.url + "/mirror.zip")
    site.answers["/mirror.zip"] = [GOOD]
    with caplog.at_level(logging.WARNING):
        assert anki.download_anki("fr", tmp_path).read_bytes() == GOOD
    assert site.asked == ["/anki/fra-eng.zip", "/mirror.zip"] and "2019 edition" in caplog.text
    with pytest.raises(GlossaError, match=r"/anki/deu-eng\.zip"):
        anki.download_anki("de", tmp_path)


def test_failure_names_each_url_and_leaves_no_files(site, tmp_path):
    site.answers["/bad"] = [GOOD[:-30]]
    with pytest.raises(
        GlossaError,
        match=r"/missing: .*404.*; .*/bad: the archive arrived damaged.*Check the connection, or fetch .*--data_path",
    ):
        anki.download_anki("fr", tmp_path, [f"{site.url}/missing", f"{site.url}/bad"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [403, 406, 429])
def test_a_site_that_refuses_programs(site, tmp_path, status, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)  # between attempts, of the Hub's library
    site.answers["/deu-eng.zip"], site.refuses = [GOOD], status
    message = (
        rf"{status}.*The site refuses programs; fetch deu-eng.zip in a browser from "
        r"https://www.manythings.org/anki/ and give it: --dataset anki --data_path deu-eng.zip\."
    )
    with pytest.raises(GlossaError, match=message):
        anki.download_anki("de", tmp_path, [f"{site.url}/deu-eng.zip"])


def test_languages():
    with pytest.raises(GlossaError, match=r"language 'xx'; allowed are .*de.*fr"):
        anki.download_anki("xx")
    assert anki.other_language("en", "de") == anki.other_language("de", "en") == "de"
    with pytest.raises(GlossaError, match=r"source_language is 'de' and target_language is 'fr'"):
        anki.other_language("de", "fr")
