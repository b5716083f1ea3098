"""Predictions to look at: a page with a drawing of each product and of what it can be made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jinja2 import Environment, StrictUndefined

from gmpool.plain_text import one_line
from gmpool.report.molecule_drawing import molecule_svg
from gmpool.tasks.retrosynthesis.answers import Answer

MOST = 100
"""Products on a page."""


def prediction_html(shown: Sequence[Answer], title: str, notes: Iterable[str] = ()) -> str:
    """Nothing of the page is loaded from elsewhere."""
    said = [one_line(note) for note in notes]
    if len(shown) > MOST:
        said.append(f"the first {MOST} of {len(shown):,} products are shown")
    products = [_product(each) for each in shown[:MOST]]
    return _TEMPLATES.from_string(_PAGE).render(
        title=one_line(title), notes=said, products=products
    )


def _product(shown: Answer) -> dict[str, Any]:
    return {
        "molecule": _molecule(shown.product),
        "place": "" if shown.line is None else f"line {shown.line:,}",
        "problem": None if shown.problem is None else one_line(shown.problem),
        "predictions": [
            {
                "rank": rank,
                "share": f"{100 * each.probability:.1f} %",
                "score": f"{each.score:.3f}",
                "template": one_line(each.template),
                "reactants": [_molecule(smiles) for smiles in each.reactants],
            }
            for rank, each in enumerate(shown.predictions, start=1)
        ],
    }


def _molecule(smiles: str) -> dict[str, str | None]:
    return {"smiles": one_line(smiles), "picture": molecule_svg(smiles)}


_TEMPLATES = Environment(
    autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{ title }}</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;color:#222;margin:2rem auto;padding:0 1rem;max-width:76rem}
h1{font-size:1.5rem} h2{font-size:1rem;margin:0 0 .3rem} .note{color:#555;font-size:.9rem}
section{display:grid;grid-template-columns:minmax(13rem,17rem) 1fr;gap:1.5rem;align-items:start;
border-top:1px solid #ccc;padding:1.2rem 0}
.product{position:sticky;top:1rem}
ol{list-style:none;margin:0;padding:0;display:grid;gap:.8rem}
li.way{border:1px solid #ddd;border-radius:.4rem;padding:.6rem .8rem}
.facts{display:flex;gap:1.2rem;align-items:baseline;color:#555;font-size:.9rem}
.facts b{color:#222;font-size:1.05rem}
.set{display:flex;flex-wrap:wrap;align-items:center;gap:.3rem}
figure{margin:0;width:16rem} figcaption{text-align:center}
img,.none{display:block;width:100%;aspect-ratio:13/9;object-fit:contain}
.none{display:grid;place-items:center;color:#666}
.plus{font-size:1.6rem;color:#666}
code{font-size:.8rem;overflow-wrap:anywhere} details{font-size:.85rem;color:#555}
@media (max-width:40rem){section{grid-template-columns:1fr}.product{position:static}}
</style>
{% macro drawn(molecule) %}
<figure>
{% if molecule.picture %}
<img alt="" src="data:image/svg+xml;base64,{{ molecule.picture }}">
{% else %}
<div class="none">cannot be drawn</div>
{% endif %}
<figcaption><code>{{ molecule.smiles }}</code></figcaption>
</figure>
{% endmacro %}
<h1>{{ title }}</h1>
<ul class="note">
{% for note in notes %}
<li>{{ note }}</li>
{% endfor %}
</ul>
<main>
{% for each in products %}
<section>
<div class="product">
<h2>Product{% if each.place %} <span class="note">{{ each.place }}</span>{% endif %}</h2>
{{ drawn(each.molecule) }}
</div>
{% if each.problem %}
<p>{{ each.problem }}</p>
{% else %}
<ol>
{% for way in each.predictions %}
<li class="way">
<div class="facts">
<b>{{ way.rank }}</b><span>{{ way.share }}</span><span>score {{ way.score }}</span>
</div>
<div class="set">
{% for molecule in way.reactants %}
{% if not loop.first %}<span class="plus">+</span>{% endif %}
{{ drawn(molecule) }}
{% endfor %}
</div>
<details><summary>template</summary><code>{{ way.template }}</code></details>
</li>
{% endfor %}
</ol>
{% endif %}
</section>
{% endfor %}
</main>
</html>
"""
