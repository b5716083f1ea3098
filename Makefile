# `make run` and `make test` set up all they need in .venv, and are quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install run test test-slow lint bench campaign clean

install: $(STAMP)

# torch first and pinned: a range would fetch the newest build with gigabytes for GPUs.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[chem,demo,dev,ray,retro]"
	touch $@

# GMT and mean pooling on MUTAG, ten folds, beside the paper's numbers. One thread: batches are so
# small that a second one gains little, and loses much on a machine that is busy otherwise.
run: $(STAMP)
	$(BIN)/gmpool train MUTAG --method gmt --method mean --folds 10 --seeds 1 --device cpu --workers auto --store runs --out report/mutag.html

# All but what is marked slow: compiling C++, the largest set, processes that start processes.
test: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

# Each side by side with what one would use otherwise.
bench: $(STAMP)
	for name in loader ops readout epoch; do $(BIN)/gmpool bench $$name; done

# Kills, full disks, mutated inputs. By number (KILLS=1000 INPUTS=10000) or by the clock (MINUTES=120);
# another SEED tries others. RECORD=--record adds the counts to results/campaign.
SEED ?= 1
KILLS ?= 250
INPUTS ?= 2500
campaign: $(STAMP)
	$(BIN)/python -m tests.campaign --seed $(SEED) --kills $(KILLS) --inputs $(INPUTS) $(if $(MINUTES),--minutes $(MINUTES)) $(RECORD)

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
