"""HTML pages: sections of text, tables and figures in one self-contained file."""

from experiments.report.page import Section, render_page, write_page

__all__ = ["Section", "render_page", "write_page"]
