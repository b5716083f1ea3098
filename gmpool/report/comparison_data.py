"""A comparison as plain numbers for a program: CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from gmpool.report.comparison import Comparison


def records(comparison: Comparison) -> list[dict[str, Any]]:
    """One record per line and set, those without rows as well."""
    c = comparison
    made = []
    for standing in c.standings:
        for dataset in c.datasets:
            s = c.scores[standing.label, dataset]
            made.append(
                {
                    "plan": c.plan.name,
                    "line": standing.label,
                    "method": standing.method,
                    "dataset": dataset,
                    "part": c.plan.part,
                    "metric": c.metrics.get(dataset),
                    "mean": s.mean,
                    "std": s.std,
                    "std_over": s.over if s.std is not None else None,
                    "runs": s.runs,
                    "asked": s.asked,
                    "incomplete": s.runs < s.asked,
                    "left_out": s.left_out,
                    "best_or_comparable": s.verdict.comparable,
                    "best_or_comparable_corrected": s.verdict.comparable_corrected,
                    "tested": s.tested,
                    "p": s.verdict.p,
                    "p_corrected": s.verdict.p_corrected,
                    "paper_mean": s.paper.mean if s.paper else None,
                    "paper_std": s.paper.std if s.paper else None,
                    "difference": s.difference,
                    "parameters": s.parameters,
                    "seconds": round(s.seconds, 3),
                }
            )
    return made


def as_csv(comparison: Comparison) -> str:
    found = records(comparison)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(found[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return out.getvalue()


def as_json(comparison: Comparison) -> str:
    """The records and what is known over all sets."""
    c = comparison
    lines = [
        {
            "line": s.label,
            "method": s.method,
            "best_or_comparable": s.best,
            "best_or_comparable_corrected": s.best_corrected,
            "paper_best_or_comparable": s.paper,
            "average_rank": s.rank,
            "parameters": s.parameters,
            "seconds": round(s.seconds, 3),
        }
        for s in c.standings
    ]
    whole = {
        "plan": c.plan.name,
        "title": c.plan.title,
        "ranked_on": c.ranked_on,
        "friedman_p": c.friedman,
        "critical_difference": c.critical_difference,
        "lines": lines,
        "cells": records(c),
    }
    return json.dumps(whole, indent=1)
