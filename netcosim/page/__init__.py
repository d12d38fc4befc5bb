"""HTML pages: sections of text, tables and figures in one self-contained file."""
