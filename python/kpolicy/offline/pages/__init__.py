"""Pages that stand alone: an answer of a verb as one HTML file with charts, for `--html FILE`.

A page is a function of the document that the verb prints with `--output json`, and of the cluster
where a map shows its nodes: `explain_page(document, cluster, about) -> str`. To add one for another
verb:

1. Write `VERB_page.py` with such a function. It picks values out of the document, puts them into
   charts (`node_map`, `heat_map`, `bar_chart`, `move_chart`, `time_series`, `data_table`), and
   returns `Page(...).html()` of `page_frame`. Charts take plain values; how they look, their
   colours and their formats are in `browser/` alone.
2. Give the verb the flag `HTML` of `kpolicy.cli.verb`, and write the page in
   `kpolicy.cli.page_files`.
3. Add the page to `tests/browser/sample_pages.py`: the test in Chromium then opens it, clicks
   through it, and checks what holds for every page.

`plan_page`, `days_page` and `sweep_page` take what `plan`, `simulate --scenario` and `sweep` print;
`why_page` and `why_all_page` take what `why` prints.

`vendor/` is built by `make pages-library`.
"""
