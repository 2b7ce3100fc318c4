"""The executed pages on disk: a jupyter-cache with one writer, which returns whole entries only."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.cache.db import NbCacheRecord
from sqlalchemy.exc import SQLAlchemyError

if TYPE_CHECKING:
    from pathlib import Path

    from nbformat import NotebookNode

__all__ = ["PageCache"]


class PageCache:
    """A jupyter-cache, which myst-nb reads; its key is code and tags of a page's cells."""

    def __init__(self, folder: Path) -> None:
        """Open the cache, or make it; one that was left half made is made again."""
        try:
            self._open(folder)
        except SQLAlchemyError:
            shutil.rmtree(folder)
            self._open(folder)

    def _open(self, folder: Path) -> None:
        self.cache = get_cache(str(folder))
        self.cache.list_cache_records()  # the file exists before readers race to create it

    def key(self, notebook: NotebookNode) -> str:
        """Return what two pages with the same code share."""
        return str(self.cache.create_hashed_notebook(notebook)[1])

    def find(self, notebook: NotebookNode) -> dict[str, Any] | None:
        """Return what was stored about a page's execution; None if it must be executed."""
        try:
            record = self.cache.match_cache_notebook(notebook)
        except KeyError:
            return None
        try:
            self.cache.merge_match_into_notebook(notebook)  # as myst-nb will do
        except Exception:  # noqa: BLE001  # half written, whatever the reader trips over
            self._forget(record.hashkey)
            return None
        return dict(record.data)

    def store(self, notebook: NotebookNode, path: Path, data: dict[str, Any]) -> None:
        """Keep an executed page whole or not at all."""
        try:
            self.cache.cache_notebook_bundle(
                CacheBundleIn(notebook, str(path), data=data), check_validity=False, overwrite=True
            )
        except BaseException:  # the record is written before the file
            self._forget(self.key(notebook))
            raise

    def _forget(self, hashkey: str) -> None:
        shutil.rmtree(self.cache.path / "executed" / hashkey, ignore_errors=True)
        try:
            record = NbCacheRecord.record_from_hashkey(hashkey, self.cache.db)
            NbCacheRecord.remove_record(record.pk, self.cache.db)
        except (KeyError, SQLAlchemyError):
            pass  # no record; or the disk is full, and `find` will notice the missing file
