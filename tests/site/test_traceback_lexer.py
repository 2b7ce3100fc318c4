from __future__ import annotations

CONF = 'extensions = ["catalogs"{more}]\n'
PAGE = """Home
====

.. code-block:: ipythontb

   ---------------------------------------------------------------------------
   UnpicklingError                           Traceback (most recent call last)
   Cell In[1], line 1
   ----> 1 load(path)

   UnpicklingError: two options:
   (1) the default of the `weights_only` argument
"""
WARNING = "highlighting_failure"


def test_a_message_with_backticks_is_highlighted_without_a_warning(tmp_path, make_site):
    plain = make_site(tmp_path / "plain", {"index.rst": PAGE}, CONF.format(more=""))
    assert WARNING in plain.warning.getvalue()  # else this extension can go
    app = make_site(tmp_path, {"index.rst": PAGE}, CONF.format(more=', "traceback_lexer"'))
    assert WARNING not in app.warning.getvalue()
    assert "weights_only" in (app.outdir / "index.html").read_text("utf-8")
