"""The reference of the language: what each fact, function, macro and built-in is, with an example.

The tables of texts are beside the tables that the compiler reads; `entries` joins the two. Tests
fail where a row of the compiler has no text, and run each example.
"""
