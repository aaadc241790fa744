"""page.py - the page of a report: one HTML file that needs no other."""
import html

STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: #fff; color: #1a1a1a;
  font: 1rem/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; margin: 0.5rem 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: #555; padding-bottom: 0.3rem; }
th, td { padding: 0.3rem 0.6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid #ddd; }
thead th { vertical-align: bottom; border-bottom: 2px solid #888; white-space: normal; }
th:first-child, td.word { text-align: left; }
.figures { display: grid; gap: 1rem 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); }
figure { margin: 0; min-width: 0; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { font-weight: 600; }
figcaption small { font-weight: 400; color: #555; }
footer { margin-top: 2rem; color: #555; font-size: 0.85rem; }
"""


def thousands(value):
    return f"{value:,.0f}".replace(",", "\u2009")


def bytes_text(value):
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"


def seconds_text(value):
    for factor, unit in ((1.0, "s"), (1e-3, "ms")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value / 1e-6:.3g} \u00b5s"


# Heading, field of Run.numbers, how it is written.
COLUMNS = [
    ("run", "name", str),
    ("mode", "mode", str),
    ("ranks", "ranks", thousands),
    ("workers", "workers", thousands),
    ("steps", "steps", thousands),
    ("images", "images", thousands),
    ("seconds", "seconds", lambda value: f"{value:.2f}"),
    ("test accuracy", "test_accuracy", lambda value: f"{100.0 * value:.2f} %"),
    ("images/s", "images_per_second", thousands),
    ("mean staleness", "mean_staleness", lambda value: f"{value:.2f}"),
    ("gradients used", "used", thousands),
    ("dropped", "dropped", thousands),
    ("bytes a step", "bytes_per_step", bytes_text),
    ("step p50", "step_seconds_p50", seconds_text),
    ("step p99", "step_seconds_p99", seconds_text),
]


def text_of(row, field, write):
    return "\u2013" if row[field] is None else write(row[field])


# Of these, what a terminal has room for, under shorter headings.
NARROW = {"name": "run", "mode": "mode", "workers": "workers", "steps": "steps",
          "images": "images", "seconds": "seconds", "test_accuracy": "accuracy",
          "images_per_second": "images/s", "mean_staleness": "stale", "dropped": "dropped",
          "bytes_per_step": "bytes"}


def plain_table(rows):
    """For a terminal."""
    wanted = dict(NARROW)
    if all(row["name"] == row["mode"] for row in rows):
        del wanted["mode"]
    columns = [column for column in COLUMNS if column[1] in wanted]
    cells = [[wanted[field] for _, field, _ in columns]]
    cells += [[text_of(row, field, write).replace("\u2009", " ").replace("\u2013", "-")
               for _, field, write in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    words = len(wanted) - 9
    return "\n".join("  ".join(
        cell.ljust(width) if i < words else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in cells)


def comparison(rows):
    head = "".join(f'<th scope="col">{html.escape(heading)}</th>'
                   for heading, _, _ in COLUMNS)
    body = ""
    for row in rows:
        body += f'<tr><th scope="row">{html.escape(row["name"])}'
        body += "" if row["finished"] else " (not finished)"
        body += "</th>"
        for _, field, write in COLUMNS[1:]:
            kind = ' class="word"' if field == "mode" else ""
            body += f"<td{kind}>{html.escape(text_of(row, field, write))}</td>"
        body += "</tr>\n"
    return ('<div class="scroll" role="region" aria-label="Runs" tabindex="0">'
            '<table id="comparison"><caption>A dash: not known, or there is no such thing '
            f"in this mode.</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>")


def settings(runs, differences):
    if not differences:
        return ""
    head = "".join(f'<th scope="col">{html.escape(run.name)}</th>' for run in runs)
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>' + "".join(
            f"<td>{html.escape(str(value))}</td>" for value in values) + "</tr>\n"
        for name, values in differences)
    return ('<h2>Settings that differ</h2>\n<div class="scroll" role="region" '
            'aria-label="Settings" tabindex="0"><table id="settings"><thead>'
            f'<tr><th scope="col">setting</th>{head}</tr></thead>\n<tbody>{body}</tbody>'
            "</table></div>")


def drawing(figure):
    note = f" <small>{html.escape(figure.note)}</small>" if figure.note else ""
    words = html.escape(f"{figure.title}. {figure.words}", quote=True)
    return (f'<figure id="{figure.key}" role="img" aria-label="{words}">\n'
            f"<figcaption>{html.escape(figure.title)}{note}</figcaption>\n"
            f"{figure.svg}</figure>")


def write_page(runs, figures, differences, title):
    """The text of the page."""
    head = runs[0].head
    model = (f"{head.get('model', 'a model')}, {thousands(head.get('parameters', 0))} "
             f"parameters, {thousands(head.get('train_images', 0))} training images")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{html.escape(title)}</h1>
<p>{html.escape(model)}.</p>
<h2>Runs</h2>
{comparison([run.numbers() for run in runs])}
{settings(runs, differences)}
<h2>Figures</h2>
<div class="figures">
{chr(10).join(drawing(figure) for figure in figures)}
</div>
</main>
<footer>Made by rondo-report from the metrics of rondo-train.</footer>
</body>
</html>
"""
