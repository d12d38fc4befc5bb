"""The page's one style sheet: readable on a phone, in light and in dark."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --page: #ffffff;
  --line: #d0d7de; --stripe: #f6f8fa; --link: #0a58a8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #9aa4af; --page: #14181d;
  --line: #343c46; --stripe: #1b2128; --link: #7cb7f0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.2rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.4rem 0 0.2rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 0.6rem; border-top: 1px solid var(--line);
  padding-top: 1.2rem; }
p { margin: 0.5rem 0; max-width: 44rem; }
.lead, figcaption, footer { color: var(--soft); }
a { color: var(--link); }
nav ul { list-style: none; padding: 0; margin: 1rem 0; display: flex; flex-wrap: wrap;
  gap: 0.3rem 1rem; font-size: 0.95rem; }
.scroll { overflow-x: auto; margin: 0.8rem 0; }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.7rem; text-align: left; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; vertical-align: bottom; }
th .unit { display: block; font-weight: 400; color: var(--soft); font-size: 0.85em; }
td.number, th.number { text-align: right; }
tbody tr:nth-child(even) { background: var(--stripe); }
figure { margin: 1rem 0; }
/* Figures are drawn on white; in the dark they keep their paper. */
figure img { display: block; width: 100%; max-width: 52rem; height: auto; background: #fff;
  border-radius: 6px; }
figcaption { font-size: 0.92rem; margin-top: 0.35rem; max-width: 44rem; }
pre { background: var(--stripe); border: 1px solid var(--line); border-radius: 6px; padding: 0.8rem;
  overflow-x: auto; font-size: 0.85rem; line-height: 1.4; }
details summary { cursor: pointer; margin: 0.6rem 0; }
@media print { nav { display: none; } h2 { break-after: avoid; } figure { break-inside: avoid; } }
"""
